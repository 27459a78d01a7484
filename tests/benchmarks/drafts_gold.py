"""The workloads of the drafts benchmark: gold records, each with its prompt and its spec."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.tokens import Vocabulary
from tests.benchmarks import bfcl_calls
from tests.benchmarks.masks_workload import Task
from tests.benchmarks.natural_plan_cases import read_cases

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class Gold:
    """A record that a perfect model would write.

    prompt: tokens of the messages' texts. record: canonical tokens.
    """

    identifier: str
    document: dict[str, JsonValue]
    prompt: Tokens
    record: Tokens

    @property
    def task(self) -> Task:
        """The document as the grammar libraries get it."""
        return Task(self.identifier, self.document, lambda number: number)


@dataclass(frozen=True)
class Workload:
    """Gold records of one kind. read: at most so many, spread over the file, or why there are none."""

    name: str
    read: Callable[[Folders, int | None], Sequence[Gold] | str]


@dataclass(frozen=True)
class Folders:
    """Where data lie, and the vocabulary that tokens are of."""

    natural_plan: Path | None
    bfcl: Path | None
    vocabulary: Vocabulary


def workloads() -> list[Workload]:
    """Trips, meetings, calendars, tool calls."""
    return [
        *(
            Workload(name, partial(_natural_plan, task, variant))
            for name, task, variant in (
                ("trips_strict", "trip", "strict"),
                ("trips_loose", "trip", "loose"),
                ("meetings_plain", "meeting", "plain"),
                ("meetings_optimal", "meeting", "optimal"),
                ("calendars", "calendar", "plain"),
            )
        ),
        Workload("tool_calls", _tool_calls),
    ]


def _natural_plan(task: str, variant: str, folders: Folders, limit: int | None) -> Sequence[Gold] | str:
    folder = folders.natural_plan
    if folder is None or not (folder / f"{task}.jsonl").is_file():
        return f"no {task}.jsonl: pass --data DIR"
    lines = (folder / f"{task}.jsonl").read_text(encoding="utf-8").splitlines()
    raws = {raw["id"]: raw for raw in map(json.loads, lines)}
    return [
        _gold(
            folders.vocabulary,
            case.identifier,
            case.document,
            case.messages,
            _RECORDS[task](raws[case.identifier]),
        )
        for case in read_cases(task, variant, folder, limit)
    ]


def _tool_calls(folders: Folders, limit: int | None) -> Sequence[Gold] | str:
    folder = bfcl_calls.data_folder(folders.bfcl)
    if folder is None:
        return bfcl_calls.HINT
    calls = list(bfcl_calls.answered_calls(folder))
    count = len(calls) if limit is None else min(limit, len(calls))
    picked = [calls[i * len(calls) // count] for i in range(count)]
    return [
        _gold(folders.vocabulary, call.identifier, call.schema, call.messages, call.record) for call in picked
    ]


def _gold(
    vocabulary: Vocabulary,
    identifier: str,
    document: dict[str, JsonValue],
    messages: Sequence[dict[str, str]],
    record: Any,
) -> Gold:
    prompt = "\n".join(message["content"] for message in messages)
    text = json.dumps(record, ensure_ascii=False)
    return Gold(identifier, document, vocabulary.encode(prompt), vocabulary.encode(text))


def _trip(raw: Any) -> Any:
    stops, day = [], 1
    for city, days in zip(raw["cities"], raw["durations"], strict=True):
        stops.append({"city": city, "arrive": day, "leave": day + days - 1})
        day += days - 1
    return {"stops": stops}


def _meeting(raw: Any) -> Any:
    place = {name: where for name, where, *_ in raw["constraints"][1:]}
    return {
        "meetings": [
            {"friend": name, "place": place[name], "start": start, "end": end}
            for name, start, end in raw["gold_meetings"]
        ]
    }


def _calendar(raw: Any) -> Any:
    day, start, end = raw["gold_slot"]
    return {"day": day, "start": _clock(start), "end": _clock(end)}


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}:00"


_RECORDS: dict[str, Callable[[Any], Any]] = {"trip": _trip, "meeting": _meeting, "calendar": _calendar}
