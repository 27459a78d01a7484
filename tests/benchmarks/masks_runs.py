"""One workload on one engine: rows, tokens, records, compiling and memory measured."""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import process_time_ns, thread_time_ns

from factorspec_sdk.tokens import Canonical, Vocabulary
from tests.benchmarks.masks_engine import (
    Engine,
    Factorspec,
    Refused,
    Spec,
    empty_row,
    verify,
    write,
    write_timed,
)
from tests.benchmarks.masks_libraries import LEFT_OUT
from tests.benchmarks.masks_workload import Prepared, Task, Tokens

Facts = dict[str, str | int | float | bool | list[str] | None]
_COMPILED = 12
_WEIGHED = 4
_HELD = 64
_TRIES = 8


def prepared(task: Task, canonical: Canonical, num_records: int) -> Prepared:
    """The task's records as canonical tokens."""
    texts: list[str] = []
    for number in range(num_records * _TRIES):
        text = json.dumps(task.record(number), ensure_ascii=False)
        if canonical.vocabulary.escape(text) == text:
            texts.append(text)
        if len(texts) == num_records:
            break
    return Prepared(task, [canonical.vocabulary.encode(text) for text in texts])


def agree(engine: Engine, tasks: Sequence[Prepared], vocabulary: Vocabulary) -> None:
    """See to it that the engine takes all records: from libraries keywords are left out until it does.

    Raises:
        Refused: it does not.
    """
    row = empty_row(vocabulary)
    for each in tasks:
        failures = []
        for without in LEFT_OUT if engine.left_out is not None else LEFT_OUT[:1]:
            if engine.left_out is not None:
                engine.left_out[each.task.name] = without
            try:
                spec = engine.compile(each.task)
                for tokens in each.records:
                    verify(spec, tokens, row)
                break
            except Refused as refused:
                failures.append(f"{each.task.name}, without {list(without)}: {refused}")
        else:
            raise Refused(f"{engine.name}: {failures[0]}")


@dataclass
class Times:
    """Times of one task in ns, the best of the rounds so far."""

    first: int = 1 << 62
    all: int = 1 << 62
    again: int = 1 << 62
    compiles: list[int] = field(default_factory=list)


class Measured:
    """The figures of one workload on one engine, round by round."""

    def __init__(self, engine: Engine, tasks: Sequence[Prepared], vocabulary: Vocabulary) -> None:
        self.engine = engine
        self._tasks = tasks
        self._row = empty_row(vocabulary)
        self._times = [Times() for _ in tasks]
        self._rows: list[list[int]] = []
        self._other = 1 << 62
        self._cold: list[int] = []
        self._notes: dict[str, None] = {}

    def round(self) -> None:
        """One more round: records, then rows, then compiling."""
        self.engine.prepare()
        for each, times in zip(self._tasks, self._times, strict=True):
            self._records(each, times)
        self.engine.prepare()
        rows: list[int] = []
        other = sum(self._rows_of(each, rows) for each in self._tasks)
        self._rows.append(rows)
        self._other = min(self._other, other)

    def compile_cold(self, rounds: int) -> None:
        """Compile some tasks, each with everything forgotten before."""
        for each in _spread(self._tasks, _COMPILED):
            took = []
            for _ in range(rounds):
                self.engine.prepare()
                gc.freeze()
                before = process_time_ns()
                self.engine.compile(each.task)
                took.append(process_time_ns() - before)
            self._cold.append(min(took))

    def _records(self, each: Prepared, times: Times) -> None:
        gc.freeze()
        before = process_time_ns()
        spec = self.engine.compile(each.task)
        times.compiles.append(process_time_ns() - before)
        self._notes.update(dict.fromkeys(spec.notes))
        gc.freeze()
        took = [self._write(spec, tokens) for tokens in each.records]
        times.first = min(times.first, took[0])
        times.all = min(times.all, sum(took))
        times.again = min(times.again, *(self._write(spec, each.records[0]) for _ in range(3)))

    def _write(self, spec: Spec, tokens: Tokens) -> int:
        before = process_time_ns()
        write(spec.walk(), tokens, self._row)
        return process_time_ns() - before

    def _rows_of(self, each: Prepared, rows: list[int]) -> int:
        spec = self.engine.compile(each.task)
        gc.freeze()  # as a server does
        return sum(write_timed(spec.walk(), tokens, self._row, rows) for tokens in each.records)

    def facts(self, workload: str, relations: bool) -> Facts:
        """The run."""
        clock = _clock_ns()
        num_records = sum(len(each.records) for each in self._tasks)
        num_tokens = sum(len(tokens) for each in self._tasks for tokens in each.records)
        rows = [max(0, ns - clock) for ns in map(min, zip(*self._rows, strict=True))]
        other = max(0, self._other - clock * len(rows))
        times, specs = self._times, len(self._tasks)
        memory, how = self._memory_mb()
        return {
            "workload": workload,
            "engine": self.engine.name,
            "relations": relations,
            "row_p50_us": _us(_percentile(rows, 50)),
            "row_p99_us": _us(_percentile(rows, 99)),
            "row_max_us": _us(max(rows, default=0)),
            "advance_us": _us(other / num_tokens),
            "compile_ms": _ms(median(self._cold)),
            "compile_shared_ms": _ms(median(min(each.compiles) for each in times)),
            "records_per_cpu_s": round(num_records / sum(each.all for each in times) * 1e9, 1),
            "records_per_cpu_s_with_compile": round(
                num_records / sum(each.all + min(each.compiles) for each in times) * 1e9, 1
            ),
            "record_ms": _ms(sum(each.all for each in times) / num_records),
            "first_record_ms": _ms(sum(each.first for each in times) / specs),
            "again_record_ms": _ms(sum(each.again for each in times) / specs),
            "memory_mb": memory,
            "memory_by": how,
            "specs": specs,
            "records": num_records,
            "tokens": num_tokens,
            "rows": len(rows),
            "notes": list(self._notes),
        }

    def _memory_mb(self) -> tuple[float, str]:
        """What a spec and one session hold, and how that is known."""
        tasks = _spread(self._tasks, _WEIGHED)
        self.engine.prepare()
        held = [self.engine.compile(each.task) for each in tasks]
        told = [size for spec in held if (size := spec.memory_bytes()) is not None]
        if len(told) == len(held):
            return round(sum(told) / len(told) / 1e6, 3), "memory_size_bytes"
        if self.engine.name == Factorspec.name:
            return round(sum(map(self._traced, tasks)) / len(tasks) / 1e6, 3), "tracemalloc"
        del held
        kept = self._many_used()  # these take what earlier ones left free
        before = _resident_bytes()
        weighed = self._many_used()
        grown = _resident_bytes() - before
        return round(grown / len(weighed) / 1e6, 3), f"growth of the process by {len(kept)} more"

    def _many_used(self) -> list[object]:
        """Specs, each with a session that has written a record."""
        repeats = range(-(-_HELD // len(self._tasks)))
        return [self._used(each) for _ in repeats for each in self._tasks]

    def _used(self, each: Prepared) -> object:
        spec = self.engine.compile(each.task)
        walk = spec.walk()
        write(walk, each.records[0], self._row)
        return spec, walk

    def _traced(self, each: Prepared) -> int:
        self._used(each)
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        kept = self._used(each)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        del kept
        return held


def _spread(tasks: Sequence[Prepared], count: int) -> Sequence[Prepared]:
    count = min(count, len(tasks))
    return [tasks[i * len(tasks) // count] for i in range(count)]


def _percentile(values: Sequence[int], percent: int) -> int:
    """The smallest value that at least ``percent`` of all do not exceed; 0 of none."""
    ordered = sorted(values)
    return ordered[max(1, -(-len(ordered) * percent // 100)) - 1] if ordered else 0


def _us(ns: float) -> float:
    return round(ns / 1e3, 2)


def _ms(ns: float) -> float:
    return round(ns / 1e6, 4)


def _clock_ns() -> int:
    """What the thread's clock costs itself, taken off each row."""
    best = 1 << 62
    for _ in range(2_000):
        before = thread_time_ns()
        best = min(best, thread_time_ns() - before)
    return best


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096
