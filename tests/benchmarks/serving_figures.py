"""What is told of a cell: medians over its repeats."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, median
from typing import Any

from tests.benchmarks.serving_cells import Row, span_s
from tests.benchmarks.serving_client import Answer


def medians(rows: Sequence[Row]) -> dict[str, Any]:
    """Medians over repeats; with specs that the server knew, where there are such."""
    known = [row for row in rows if not row.num_new_specs] or rows
    each = [_figures(row) for row in known]
    found: dict[str, Any] = {name: rounded(median(one[name] for one in each)) for name in each[0]}
    answers = [answer for row in rows for answer in (*row.wave, *row.loop)]
    errors = [answer.error for answer in answers if answer.error]
    first = [_figures(row)["decode_ms"] for row in rows if row.num_new_specs]
    return {
        **found,
        "repeats": [rounded(_figures(row)["decode_ms"]) for row in rows],
        "new_specs_decode_ms": rounded(median(first)) if first else None,
        "gold": f"{sum(answer.is_gold for answer in answers)}/{len(answers)}",
        "errors": len(errors),
        "error": errors[0] if errors else "",
    }


def _figures(row: Row) -> dict[str, float]:
    """Of one repeat.

    ``decode_ms``: from a record's first token to its last, in a wave, and before it what a solver took;
    other prompts may be read meanwhile. ``after_read_ms``: from the moment when the whole wave is read.
    ``loop_decode_ms``: as ``decode_ms``, in the loop. ``records_s`` and ``tokens_s``: of the closed loop; of
    the wave where there is none.
    """
    wave = [answer for answer in row.wave if not answer.error]
    loop = [answer for answer in row.loop if not answer.error]
    if not wave:
        return dict.fromkeys(_NAMES, 0.0)
    both, running = wave + loop, loop or wave
    read_s = max(answer.first_s for answer in wave)
    gaps = sorted(gap for answer in both for gap in answer.gaps_s)
    whole = sorted(answer.last_s - answer.sent_s for answer in both)
    tokens, steps = sum(answer.tokens for answer in both), sum(answer.steps for answer in both)
    span = span_s(row.loop) if loop else span_s(row.wave)
    values = (
        1e3 * mean(map(_decode_s, wave)),
        1e3 * mean(max(0.0, answer.last_s - read_s) for answer in wave),
        1e3 * mean(map(_decode_s, running)),
        1e3 * mean(answer.solved_s for answer in both),
        len(running) / span if span > 0 else 0.0,
        sum(answer.tokens for answer in running) / span if span > 0 else 0.0,
        (tokens - len(both)) / steps if steps else 1.0,
        tokens / len(both),
        1e3 * _at(gaps, 0.5),
        1e3 * _at(gaps, 0.99),
        1e3 * median(answer.first_s - answer.sent_s for answer in both),
        1e3 * _at(whole, 0.5),
        1e3 * _at(whole, 0.99),
        1e3 * row.cpu_s / tokens,
        row.cpu_s / row.wall_s if row.wall_s > 0 else 0.0,
    )
    return dict(zip(_NAMES, values, strict=True))


_NAMES = (
    "decode_ms",
    "after_read_ms",
    "loop_decode_ms",
    "solve_ms",
    "records_s",
    "tokens_s",
    "tokens_step",
    "tokens_record",
    "itl_p50_ms",
    "itl_p99_ms",
    "ttft_p50_ms",
    "e2e_p50_ms",
    "e2e_p99_ms",
    "cpu_s_1k",
    "cores",
)


def _decode_s(answer: Answer) -> float:
    return answer.last_s - answer.first_s + answer.solved_s


def _at(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def rounded(value: float) -> float:
    """Two places below 100, else one."""
    return round(value, 2 if value < 100 else 1)
