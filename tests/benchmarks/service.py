"""What the constraint service costs an engine's step thread, and its workers.

    python -m tests.benchmarks.service --data DIR [--tokenizer tokenizer.json] [--in-flight 128] [--workers 8]
                                       [--bfcl DIR] [--kind tool_calls] [--wave 4]

Records of loose trips are written along their gold records, all at once, a step after the other, as an engine
does: ask as soon as tokens stand, read plans, run the model (a pause, in which workers write rows and look
ahead), copy the rows of the decisions. Gold tokens stand in for what a model draws. ``guessed`` is the share
of plans that had guesses, ``refused`` counts gold records that their spec does not admit.

With --wave the second half of the records is written while so many threads of this process open one spec
after the other that no worker has seen: the same documents under new titles. ``wait_growth`` is how many
times as long as without the wave the step thread waits then.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, sleep, thread_time
from typing import TypedDict

import numpy as np

from factorspec_sdk.decoding import Plan
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Vocabulary
from factorspec_server.constraint_service import (
    ConstraintService,
    DraftingSpec,
    RemoteRecord,
    ServiceOptions,
    VocabularySource,
    Wanted,
)
from factorspec_server.drafting import PolicyName
from factorspec_server.engines.precedence import go_first, go_last
from tests.benchmarks.drafts_gold import Folders, Gold, workloads
from tests.benchmarks.drafts_walk import stood

_TICKS = os.sysconf("SC_CLK_TCK")
#: as in SGLang's scheduler
_GIVE_WAY_S = 0.0001


Percentiles = dict[str, dict[str, float]]


@dataclass
class Times:
    """Seconds of each step, by what was done: ``wait`` of the whole step by the clock, the rest of one record
    by the step thread's processor time.
    """

    ask: list[float] = field(default_factory=list)
    wait: list[float] = field(default_factory=list)
    read: list[float] = field(default_factory=list)
    rows: list[float] = field(default_factory=list)
    commit: list[float] = field(default_factory=list)
    records: int = 0
    guessed: int = 0
    refused: int = 0

    def shown(self) -> Percentiles:
        """In microseconds."""
        return {
            name: {f"p{q}": round(1e6 * float(np.percentile(values, q)), 1) for q in (50, 90, 99)}
            for name, values in vars(self).items()
            if isinstance(values, list)
        }


@dataclass
class Flight:
    """A record and how it goes on. is_refused: its spec does not admit the gold record, so it ends there."""

    gold: Gold
    record: RemoteRecord
    is_refused: bool = False

    @property
    def is_running(self) -> bool:
        """Something is left to write."""
        return not self.is_refused and self.record.num_tokens < len(self.gold.record)


def run(
    service: ConstraintService,
    opened: Sequence[Flight],
    in_flight: int,
    *,
    pause_s: float,
    host_s: float,
    guess_s: float | None,
) -> Times:
    """Write the records, ``in_flight`` at a time; a finished one makes room for the next."""
    times, words = Times(), service.row_words
    rows = np.zeros((in_flight, words), dtype=np.int32)
    waiting = list(opened)[::-1]
    running: list[Flight] = []
    while waiting or running:
        while waiting and len(running) < in_flight:
            running.append(waiting.pop())
        plans = _plans(service, running, times, guess_s)
        sleep(pause_s)
        _copy_rows(plans, rows, times)
        _commit(service, running, plans, times)
        _work(host_s)
        running = [each for each in running if each.is_running]
    times.refused = sum(each.is_refused for each in opened)
    return times


def _work(seconds: float) -> None:
    """What else an engine's step thread does between two steps, in processor time."""
    until = thread_time() + seconds
    while thread_time() < until:
        pass


def _open(service: ConstraintService, gold: Gold) -> Flight:
    record = service.open(gold.document)
    record.set_prompt(gold.prompt)
    return Flight(gold, record)


def _plans(
    service: ConstraintService, running: Sequence[Flight], times: Times, guess_s: float | None
) -> list[Plan]:
    wanted = [Wanted(each.record, 64) for each in running]
    waited, began = service.waited_s, thread_time()
    plans = service.plans(wanted, guess_s=guess_s)
    times.wait.append(service.waited_s - waited)
    times.read.append((thread_time() - began) / len(running))
    times.records += len(running)
    failed = [plan for plan in plans if isinstance(plan, Exception)]
    if failed:
        raise failed[0]
    found = [plan for plan in plans if isinstance(plan, Plan)]
    times.guessed += sum(False in plan.certain for plan in found)
    return found


def _copy_rows(
    plans: Sequence[Plan], rows: np.ndarray[tuple[int, int], np.dtype[np.int32]], times: Times
) -> None:
    began, count = thread_time(), 0
    for row, plan in zip(rows, plans, strict=False):
        for choice in plan.choices:
            choice.allowed.write_row(row)
            count += 1
    times.rows.append((thread_time() - began) / max(1, count))


def _commit(
    service: ConstraintService, running: Sequence[Flight], plans: Sequence[Plan], times: Times
) -> None:
    brought = []
    for each, plan in zip(running, plans, strict=True):
        record, at = each.gold.record, each.record.num_tokens
        brought.append(record[at : at + stood(plan, record[at:]) + 1])
    began = thread_time()
    for each, tokens in zip(running, brought, strict=True):
        each.is_refused = each.record.commit(tokens) < len(tokens)
    times.commit.append((thread_time() - began) / len(running))
    left = [each for each in running if each.is_running]
    began = thread_time()
    if left:
        service.ask([Wanted(each.record, 64) for each in left])
        times.ask.append((thread_time() - began) / len(left))


class Figures(TypedDict):
    """What is shown of a run."""

    steps: int
    record_steps: int
    guessed: float
    refused: int
    us: Percentiles
    worker_cpu_us_a_record_and_step: float
    new_specs_s: float
    seconds: float


class Wave:
    """Opens specs that nobody has seen, from several threads, one after the other each.

    Attributes:
        opened: how many.
    """

    def __init__(self, service: ConstraintService, golds: Sequence[Gold], threads: int) -> None:
        self._service, self._golds, self._threads = service, golds, threads
        self._is_over = threading.Event()
        self.opened = 0

    @contextmanager
    def rolling(self) -> Iterator[None]:
        """While it rolls."""
        with ThreadPoolExecutor(max(1, self._threads), initializer=go_last) as pool:
            done = [pool.submit(self._open, thread) for thread in range(self._threads)]
            try:
                yield
            finally:
                self._is_over.set()
            for each in done:
                each.result()

    def _open(self, thread: int) -> None:
        number = thread
        while not self._is_over.is_set():
            document = self._golds[number % len(self._golds)].document
            self._service.open({**document, "title": f"number {number}"}).close()
            self.opened += 1
            number += self._threads


def _cpu_s(pids: Sequence[int]) -> float:
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(each[11]) + int(each[12]) for each in fields) / _TICKS


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with trip.jsonl of NATURAL PLAN")
    parser.add_argument("--bfcl", type=Path, help="folder with data of bfcl-eval")
    parser.add_argument("--tokenizer", type=Path, help="a tokenizer.json (default: a small made-up one)")
    parser.add_argument("--width", type=int, help="columns of the logits (default: the tokenizer's ids)")
    parser.add_argument("--in-flight", type=int, default=128)
    parser.add_argument("--records", type=int, default=256)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--policy", default="certain")
    parser.add_argument("--pause-ms", type=float, default=6.0, help="the model's time in a step")
    parser.add_argument("--host-ms", type=float, default=2.0, help="the engine's, from ask to plans")
    parser.add_argument("--guess-ms", type=float, help="guesses are waited for so long (default: all are)")
    parser.add_argument("--kind", default="trips_loose")
    parser.add_argument("--wave", type=int, default=0, metavar="THREADS")
    return parser


def measured(
    service: ConstraintService, golds: Sequence[Gold], asked: argparse.Namespace, threads: int
) -> Figures:
    """The figures of some records, written while so many threads open new specs."""
    pids, wave = service.worker_pids, Wave(service, golds, threads)
    with ThreadPoolExecutor(16) as pool:
        opened = list(pool.map(lambda gold: _open(service, gold), golds))
    before, began = _cpu_s(pids), perf_counter()
    with wave.rolling():
        times = run(
            service,
            opened,
            asked.in_flight,
            pause_s=asked.pause_ms / 1e3,
            host_s=asked.host_ms / 1e3,
            guess_s=None if asked.guess_ms is None else asked.guess_ms / 1e3,
        )
        seconds, cpu_s = perf_counter() - began, _cpu_s(pids) - before
    for each in opened:
        each.record.close()
    return {
        "steps": len(times.wait),
        "record_steps": times.records,
        "guessed": round(times.guessed / times.records, 3),
        "refused": times.refused,
        "us": times.shown(),
        "worker_cpu_us_a_record_and_step": round(1e6 * cpu_s / times.records, 1),
        "new_specs_s": round(wave.opened / seconds, 1),
        "seconds": round(seconds, 2),
    }


def main() -> None:
    """Print the figures as JSON."""
    asked = _parser().parse_args()
    vocabulary = (
        vocabulary_like("qwen")
        if asked.tokenizer is None
        else Vocabulary.from_file(asked.tokenizer, asked.width)
    )
    workload = next(each for each in workloads() if each.name == asked.kind)
    golds = workload.read(Folders(asked.data, asked.bfcl, vocabulary), asked.records)
    if isinstance(golds, str):
        raise SystemExit(golds)
    source = VocabularySource.of_tokenizer(vocabulary.tokenizer, vocabulary.logit_width)
    service = ConstraintService(source, ServiceOptions(workers=asked.workers, records=2 * len(golds) + 64))
    policy: PolicyName = asked.policy
    sys.setswitchinterval(_GIVE_WAY_S)
    go_first()
    try:
        service.draft(DraftingSpec(name=policy, breadth=1))
        service.open(golds[0].document).close()
        shown: dict[str, object] = {
            "in_flight": asked.in_flight,
            "workers": asked.workers,
            "policy": policy,
            "logit_width": vocabulary.logit_width,
        }
        if asked.wave:
            half = len(golds) // 2
            quiet = measured(service, golds[:half], asked, 0)
            rolling = measured(service, golds[half:], asked, asked.wave)
            waits = {
                name: round(value / max(1.0, quiet["us"]["wait"][name]), 2)
                for name, value in rolling["us"]["wait"].items()
            }
            shown |= {"quiet": quiet, "wave": rolling, "wait_growth": waits}
        else:
            shown |= measured(service, golds, asked, 0)
        print(json.dumps(shown, indent=1))
    finally:
        service.close()


if __name__ == "__main__":
    main()
