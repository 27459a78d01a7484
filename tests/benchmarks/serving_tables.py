"""Tables of the serving benchmark, as they stand in README.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.benchmarks.serving_costs import filled_us
from tests.benchmarks.serving_results import Results

_ROUND = 100


def tables(results: Results, ours: str) -> Iterator[str]:
    """Lines: when engines ran, decode times, records a second, the bound, and all else that was measured."""
    yield from (f"- `{engine}`: {place}" for engine, place in results.ran.items())
    for name, title in (("decode_ms", "Decode time of a record, ms"), ("records_s", "Records by GPU second")):
        yield f"\n{title}\n"
        yield from _by_engine(results, name)
    yield "\nThe bound\n"
    yield from _bound(results, ours)
    yield "\nAll figures\n"
    yield from _all(results)
    yield ""


def _by_engine(results: Results, name: str) -> Iterator[str]:
    engines = list(dict.fromkeys(key.engine for key in results.cells))
    yield _row(["workload", "in flight", *engines])
    yield _row(["---"] * (2 + len(engines)))
    for workload in results.workloads():
        for in_flight in results.numbers(workload):
            figures = [results.figure(engine, workload, in_flight, name) for engine in engines]
            yield _row([workload, str(in_flight), *map(_shown, figures)])


def _bound(results: Results, ours: str) -> Iterator[str]:
    if not results.costs:
        yield "What a filled input costs was not measured."
        return
    yield f"A filled input costs {filled_us(results.costs):.1f} µs where many run.\n"
    yield _row(["workload", "in flight", "bound ms", "share by decode time", "share by records/s"])
    yield _row(["---"] * 5)
    for workload in results.workloads():
        for in_flight in results.numbers(workload):
            bound = results.bound_ms(workload, in_flight)
            decode = results.figure(ours, workload, in_flight)
            rate = results.figure(ours, workload, in_flight, "records_s")
            if bound is not None and decode and rate:
                shares = (bound / decode, rate * bound / in_flight / 1e3)
                shown = [f"{100 * share:.0f} %" for share in shares]
                yield _row([workload, str(in_flight), _shown(bound), *shown])


#: title and field; a pair is p50 and p99
_COLUMNS = (
    ("records/s", "records_s"),
    ("tokens/s", "tokens_s"),
    ("tokens/step", "tokens_step"),
    ("gap p50 ms", "itl_p50_ms"),
    ("gap p99", "itl_p99_ms"),
    ("whole p50 ms", "e2e_p50_ms"),
    ("whole p99", "e2e_p99_ms"),
    ("step p50/p99 ms", "step_ms"),
    ("between p50/p99 ms", "between_ms"),
    ("CPU s/1,000 tokens", "cpu_s_1k"),
    ("cores", "cores"),
    ("solver ms", "solve_ms"),
    ("GPU MiB", "gpu_memory_mb"),
    ("gold", "gold"),
)


def _all(results: Results) -> Iterator[str]:
    yield _row(
        [
            "workload",
            "in flight",
            "engine",
            *(title for title, _ in _COLUMNS),
            "wait p50/p99 ms",
            "in full steps",
        ]
    )
    yield _row(["---"] * (5 + len(_COLUMNS)))
    for key, cell in results.cells.items():
        figures = [_shown(cell.get(name)) for _, name in _COLUMNS]
        waits = [_shown(cell.get("worker", {}).get(name)) for name in ("wait", "full_wait")]
        yield _row([key.workload, str(key.in_flight), key.engine, *figures, *waits])


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return " / ".join(map(_shown, value))
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= _ROUND else f"{value:.2f}"
    return "" if value is None else str(value)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
