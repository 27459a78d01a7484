"""The day of ``sizes_day_plan`` as a list in the order of time: what comes next, and when."""

from tests.benchmarks.size_case import SizeCase
from tests.benchmarks.sizes_day_plan import check_order, day, order_model


def case() -> SizeCase:
    """Fifty stops, activity and start each; there is no bar."""
    plan = day()
    return SizeCase("day_order", order_model(plan), lambda record: check_order(plan, record))
