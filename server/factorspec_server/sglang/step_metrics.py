"""Measures of steps and of the constraint service on SGLang's Prometheus endpoint (``--enable-metrics``).

Names and labels, beside those of records (``record_metrics.py``)::

    factorspec_step_width                       most inputs of a request in a verify step
    factorspec_steps_ahead_total                steps launched before the tokens of the last one were known
    factorspec_step_wait_seconds                how long a step waited for the constraint service
    factorspec_mask_seconds                     how long writing a step's mask rows took, on the host
    factorspec_service_workers                  workers alive
    factorspec_service_records                  records open
    factorspec_service_asks_waiting             records whose plans nobody has read yet
    factorspec_service_compiles_waiting         records that are being opened
    factorspec_service_workers_replaced_total   workers that died or did not answer
    factorspec_service_records_rebuilt_total    records that were opened elsewhere since
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from factorspec_server.constraint_service.stats import WAIT_BOUNDS_S
from factorspec_server.http.kept import SERVICE_TEXTS

if TYPE_CHECKING:
    from factorspec_server.constraint_service import ServiceStats

_MASK_BOUNDS_S = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
_WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_EVERY_S = 1.0

_logger = logging.getLogger(__name__)


class StepMetrics:
    """What the steps of one scheduler took; make it once, after SGLang has set up its directory."""

    def __init__(self) -> None:
        from prometheus_client import Counter, Histogram

        self._width = Histogram(
            "factorspec_step_width", "Most inputs of a request in a verify step.", buckets=_WIDTHS
        )
        self._ahead = Counter(
            "factorspec_steps_ahead", "Steps launched before the tokens of the last one were known."
        )
        self._wait = Histogram(
            "factorspec_step_wait_seconds",
            "Seconds that a step waited for the constraint service.",
            buckets=WAIT_BOUNDS_S,
        )
        self._mask = Histogram(
            "factorspec_mask_seconds", "Seconds to write a step's mask rows.", buckets=_MASK_BOUNDS_S
        )

    def step(self, *, width: int, wait_s: float, mask_s: float, is_ahead: bool = False) -> None:
        """Count a verify step. Some microseconds."""
        if is_ahead:
            self._ahead.inc()
        self._width.observe(width)
        self._wait.observe(wait_s)
        self._mask.observe(mask_s)


class ServiceMetrics:
    """Tells what a service counts, read each second by a thread of its own."""

    def __init__(self, stats: Callable[[], ServiceStats]) -> None:
        from prometheus_client import Counter, Gauge

        def gauge(name: str) -> Any:
            return Gauge(f"factorspec_service_{name}", SERVICE_TEXTS[name], multiprocess_mode="mostrecent")

        self._stats = stats
        self._gauges = {
            "workers_alive": gauge("workers"),
            "records_open": gauge("records"),
            "asks_waiting": gauge("asks_waiting"),
            "compiles_waiting": gauge("compiles_waiting"),
        }
        self._counters = {
            name: Counter(f"factorspec_service_{name}", SERVICE_TEXTS[name])
            for name in ("workers_replaced", "records_rebuilt")
        }
        self._told = dict.fromkeys(self._counters, 0)

    def start(self) -> None:
        """Read from now on, until the process ends."""
        threading.Thread(target=self._run, name="factorspec-service-metrics", daemon=True).start()

    def read(self) -> None:
        """Read once."""
        stats = self._stats()
        for name, gauge in self._gauges.items():
            gauge.set(getattr(stats, name))
        for name, counter in self._counters.items():
            count = getattr(stats, name)
            counter.inc(count - self._told[name])
            self._told[name] = count

    def _run(self) -> None:
        waiting = threading.Event()
        while not waiting.wait(_EVERY_S):
            try:
                self.read()
            except Exception:  # the thread must outlive a service that is being started anew
                _logger.exception("the constraint service's counts cannot be read")
