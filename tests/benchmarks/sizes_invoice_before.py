"""The totals, then 30 invoice lines that must come to them exactly."""

import factorspec_sdk as fs
from tests.benchmarks.invoices import TotalsFirst, check, given
from tests.benchmarks.size_case import SizeCase


def case() -> SizeCase:
    """The case; the bar is 20 ms."""
    return SizeCase("invoice_before", fs.bind(TotalsFirst, given()), check, 20_000)
