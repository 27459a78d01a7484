"""The engines of one run of the masks benchmark, and what they did."""

from __future__ import annotations

import atexit
import cProfile
import gc
import pstats
from collections.abc import Sequence
from pathlib import Path
from time import process_time

from tokenizers import Tokenizer

from factorspec_sdk.tokens import Canonical, Vocabulary
from tests.benchmarks.masks_bars import Verdict, verdicts
from tests.benchmarks.masks_engine import Engine, Factorspec, empty_row, write
from tests.benchmarks.masks_libraries import libraries
from tests.benchmarks.masks_runs import Facts, Measured, agree, prepared
from tests.benchmarks.masks_workload import Options, Prepared, Workload

_SHOWN = (
    "row_p50_us", "row_p99_us", "advance_us", "compile_ms", "records_per_cpu_s", "first_record_ms",
    "again_record_ms", "memory_mb",
)  # fmt: skip
_AGAIN = 20


class Bench:
    """Engines over one vocabulary; ``runs``: what was measured so far."""

    def __init__(self, canonical: Canonical, engines: Sequence[Engine]) -> None:
        self.canonical = canonical
        self._engines = engines
        self.runs: list[Facts] = []

    @classmethod
    def load(cls, tokenizer: Path, width: int | None, end: str, names: Sequence[str]) -> Bench:
        """The engines of these names over a tokenizer file."""
        vocabulary = vocabulary_of(tokenizer, width, end)
        found: list[Engine] = [Factorspec(vocabulary)]
        if any(name != "factorspec" for name in names):
            found += libraries(vocabulary, str(tokenizer))
        gc.collect()
        gc.freeze()
        atexit.register(gc.unfreeze)  # libraries look for their leaks at exit
        return cls(Canonical(vocabulary), [each for each in found if each.name in names])

    def run(self, workload: Workload, options: Options, num_records: int, rounds: int) -> str | None:
        """Measure a workload on every engine; the reason if it cannot be made."""
        tasks = self._tasks(workload, options, num_records)
        if isinstance(tasks, str):
            return tasks
        vocabulary = self.canonical.vocabulary
        for engine in self._engines:
            agree(engine, tasks, vocabulary)
        measured = [Measured(engine, tasks, vocabulary) for engine in self._engines]
        for _ in range(rounds):  # in turn, so that a slow moment of the machine meets all of them
            for each in measured:
                each.round()
        for each in measured:
            each.compile_cold(rounds)
            facts = each.facts(workload.name, workload.relations)
            self.runs.append(facts)
            print(_line(facts), flush=True)
        return None

    def profile(self, workload: Workload, options: Options, num_records: int) -> None:
        """Print where FactorSpec's time goes: compiling, records of fresh specs, the first record again."""
        tasks = self._tasks(workload, options, num_records)
        if isinstance(tasks, str):
            print(f"{workload.name}: skipped: {tasks}")
            return
        engine, row = Factorspec(self.canonical.vocabulary), empty_row(self.canonical.vocabulary)
        agree(engine, tasks, self.canonical.vocabulary)
        engine.prepare()
        compiling, first, again = (cProfile.Profile(process_time) for _ in range(3))
        with compiling:
            specs = [engine.compile(each.task) for each in tasks]
        with first:
            for spec, each in zip(specs, tasks, strict=True):
                for tokens in each.records:
                    write(spec.walk(), tokens, row)
        with again:
            for spec, each in zip(specs, tasks, strict=True):
                for _ in range(_AGAIN):
                    write(spec.walk(), each.records[0], row)
        for what, profile in (("compile", compiling), ("records", first), ("again", again)):
            print(f"\n== {workload.name}: {what}")
            pstats.Stats(profile).sort_stats("tottime").print_stats(22)

    def verdicts(self, slowness: float) -> list[Verdict]:
        """The runs against the bars; ``slowness``: of this machine beside the reference."""
        return verdicts(self.runs, slowness)

    def _tasks(self, workload: Workload, options: Options, num_records: int) -> list[Prepared] | str:
        tasks = workload.read(options)
        if isinstance(tasks, str):
            return tasks
        return [prepared(task, self.canonical, num_records) for task in tasks]


def vocabulary_of(tokenizer: Path, width: int | None, end: str) -> Vocabulary:
    """The vocabulary of a tokenizer file."""
    if not tokenizer.is_file():
        raise SystemExit(f"no tokenizer file {str(tokenizer)!r}: pass --tokenizer FILE")
    read = Tokenizer.from_file(str(tokenizer))
    end_id = read.token_to_id(end)
    if end_id is None:
        raise SystemExit(f"the tokenizer has no token {end!r}")
    return Vocabulary.from_tokenizer(read, width, [end_id], name=tokenizer.parent.name)


def _line(facts: Facts) -> str:
    shown = ", ".join(f"{name} {facts[name]}" for name in _SHOWN)
    notes = facts["notes"]
    return f"{facts['workload']} {facts['engine']}: {shown}{f', {notes}' if notes else ''}"
