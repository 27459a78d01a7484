"""The problems of a benchmark run."""

import json
from dataclasses import dataclass
from pathlib import Path

from examples.trip_planner.natural_plan import read_record
from examples.trip_planner.problem import Problem
from tests.benchmarks.natural_plan_check import Record


@dataclass(frozen=True)
class Case:
    """One line of ``trip.jsonl``: the raw problem for the checker, the read one for the declared models."""

    identifier: str
    raw: Record
    problem: Problem
    gold: tuple[str, ...]
    unique: bool


def read_cases(folder: Path, limit: int | None) -> list[Case]:
    """The problems in ``folder``; with a limit, that many at equal distances, so that all sizes take part."""
    lines = (folder / "trip.jsonl").read_text(encoding="utf-8").splitlines()
    count = len(lines) if limit is None else min(limit, len(lines))
    return [_case(json.loads(lines[i * len(lines) // count])) for i in range(count)]


def _case(record: Record) -> Case:
    return Case(
        identifier=record["id"],
        raw=record["problem"],
        problem=read_record(record["id"], record),
        gold=tuple(record["cities"]),
        unique=record["num_valid"] == 1,
    )
