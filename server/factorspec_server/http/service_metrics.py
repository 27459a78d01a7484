"""What the constraint service counts, in Prometheus' form: the names are those on SGLang's endpoint.

::

    factorspec_service_workers                  workers alive
    factorspec_service_records                  records open
    factorspec_service_asks_waiting             records whose plans nobody has read yet
    factorspec_service_compiles_waiting         records that are being opened
    factorspec_service_workers_replaced_total   workers that died or did not answer
    factorspec_service_records_rebuilt_total    records that were opened elsewhere since
    factorspec_step_wait_seconds                how long a step waited for plans
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate
from math import inf

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from factorspec_server.http.kept import SERVICE_TEXTS, KeeperCounts


class ServiceCollector(Collector):
    """Reads the counts when somebody asks for the page."""

    def __init__(self, counts: Callable[[], KeeperCounts]) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        """The metrics now."""
        counts = self._counts()
        for name, value in counts.gauges.items():
            yield GaugeMetricFamily(f"factorspec_service_{name}", SERVICE_TEXTS[name], value)
        for name, value in counts.totals.items():
            yield CounterMetricFamily(f"factorspec_service_{name}", SERVICE_TEXTS[name], value)
        bounds = ["+Inf" if bound == inf else repr(bound) for bound in counts.waits]
        buckets = list(zip(bounds, map(float, accumulate(counts.waits.values())), strict=True))
        yield HistogramMetricFamily(
            "factorspec_step_wait_seconds",
            "Seconds that a step waited for the constraint service.",
            buckets=buckets,
            sum_value=counts.waited_s,
        )
