"""30 invoice lines, then the totals: all of these follow from the lines."""

import factorspec_sdk as fs
from tests.benchmarks.invoices import Invoice, check, given
from tests.benchmarks.size_case import SizeCase


def case() -> SizeCase:
    """The case; the bar is 2 ms."""
    return SizeCase("invoice_after", fs.bind(Invoice, given()), check, 2_000)
