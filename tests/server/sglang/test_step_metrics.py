"""What steps and the constraint service are counted by, as Prometheus reads it."""

from __future__ import annotations

import logging
import time
from dataclasses import replace

import prometheus_client
import pytest

from factorspec_server.constraint_service import ServiceStats
from factorspec_server.sglang import step_metrics
from factorspec_server.sglang.step_metrics import ServiceMetrics, StepMetrics

STATS = ServiceStats(
    workers_alive=2,
    workers_replaced=0,
    nurseries=1,
    records_open=5,
    records_rebuilt=0,
    asks_waiting=3,
    compiles_waiting=1,
    waits={},
    waited_s=0.0,
)


def read(name: str, **labels: str) -> float | None:
    return prometheus_client.REGISTRY.get_sample_value(f"factorspec_{name}", labels)


def test_steps_are_counted_by_width_and_by_what_they_waited() -> None:
    metrics = StepMetrics()
    for width, wait_s in ((8, 0.0), (64, 0.0004), (64, 20.0)):
        metrics.step(width=width, wait_s=wait_s, mask_s=0.001, is_ahead=width == 8)
    assert read("step_width_bucket", le="8.0") == 1
    assert read("step_width_count") == 3
    assert read("steps_ahead_total") == 1
    assert read("step_wait_seconds_bucket", le="0.0002") == 1
    assert read("step_wait_seconds_bucket", le="0.0005") == 2
    assert read("step_wait_seconds_bucket", le="+Inf") == 3
    assert read("mask_seconds_sum") == pytest.approx(0.003)


def test_a_service_is_read_each_second_whatever_happens(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(step_metrics, "_EVERY_S", 0.01)
    told = [STATS, None, replace(STATS, records_open=0, workers_replaced=2, records_rebuilt=4)]

    def stats() -> ServiceStats:
        found = told.pop(0) if len(told) > 1 else told[0]
        if found is None:
            raise OSError("not now")
        return found

    metrics = ServiceMetrics(stats)
    metrics.read()
    assert (read("service_workers"), read("service_records")) == (2, 5)
    assert (read("service_asks_waiting"), read("service_compiles_waiting")) == (3, 1)
    assert read("service_workers_replaced_total") == 0
    with caplog.at_level(logging.ERROR):
        metrics.start()
        deadline = time.monotonic() + 30
        while read("service_records") and time.monotonic() < deadline:
            time.sleep(0.01)
    assert read("service_records") == 0
    assert read("service_workers_replaced_total") == 2
    assert read("service_records_rebuilt_total") == 4
    assert "cannot be read" in caplog.text
