"""What the constraint service costs an engine's step thread, and its workers.

    python -m tests.benchmarks.service --data DIR [--tokenizer tokenizer.json] [--in-flight 128] [--workers 8]

Records of loose trips are written along their gold records, all at once, a step after the other, as an engine
does: ask as soon as tokens stand, read plans, run the model (a pause, in which workers write rows and look
ahead), copy the rows of the decisions. Gold tokens stand in for what a model draws.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, sleep, thread_time

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
from tests.benchmarks.drafts_gold import Folders, Gold, workloads
from tests.benchmarks.drafts_walk import stood

_TICKS = os.sysconf("SC_CLK_TCK")


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

    def shown(self) -> dict[str, object]:
        """Medians and 99th percentiles, in microseconds."""
        return {
            name: {f"p{q}": round(1e6 * float(np.percentile(values, q)), 1) for q in (50, 99)}
            for name, values in vars(self).items()
            if isinstance(values, list)
        }


@dataclass
class Flight:
    """A record and how it goes on."""

    gold: Gold
    record: RemoteRecord


def run(service: ConstraintService, opened: Sequence[Flight], in_flight: int, pause_s: float) -> Times:
    """Write the records, ``in_flight`` at a time; a finished one makes room for the next."""
    times, words = Times(), service.row_words
    rows = np.zeros((in_flight, words), dtype=np.int32)
    waiting = list(opened)[::-1]
    running: list[Flight] = []
    while waiting or running:
        while waiting and len(running) < in_flight:
            running.append(waiting.pop())
        plans = _plans(service, running, times)
        sleep(pause_s)
        _copy_rows(plans, rows, times)
        _commit(service, running, plans, times)
        running = [each for each in running if each.record.num_tokens < len(each.gold.record)]
    return times


def _open(service: ConstraintService, gold: Gold) -> Flight:
    record = service.open(gold.document)
    record.set_prompt(gold.prompt)
    return Flight(gold, record)


def _plans(service: ConstraintService, running: Sequence[Flight], times: Times) -> list[Plan]:
    wanted = [Wanted(each.record, 64) for each in running]
    waited, began = service.waited_s, thread_time()
    plans = service.plans(wanted)
    times.wait.append(service.waited_s - waited)
    times.read.append((thread_time() - began) / len(running))
    times.records += len(running)
    failed = [plan for plan in plans if isinstance(plan, Exception)]
    if failed:
        raise failed[0]
    return [plan for plan in plans if isinstance(plan, Plan)]


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
        each.record.commit(tokens)
    times.commit.append((thread_time() - began) / len(running))
    left = [each for each in running if each.record.num_tokens < len(each.gold.record)]
    began = thread_time()
    if left:
        service.ask([Wanted(each.record, 64) for each in left])
        times.ask.append((thread_time() - began) / len(left))


def _cpu_s(pids: Sequence[int]) -> float:
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(each[11]) + int(each[12]) for each in fields) / _TICKS


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with trip.jsonl of NATURAL PLAN")
    parser.add_argument("--tokenizer", type=Path, help="a tokenizer.json (default: a small made-up one)")
    parser.add_argument("--width", type=int, help="columns of the logits (default: the tokenizer's ids)")
    parser.add_argument("--in-flight", type=int, default=128)
    parser.add_argument("--records", type=int, default=256)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--policy", default="certain")
    parser.add_argument("--pause-ms", type=float, default=6.0, help="the model's time in a step")
    parser.add_argument("--kind", default="trips_loose")
    asked = parser.parse_args()
    vocabulary = (
        vocabulary_like("qwen")
        if asked.tokenizer is None
        else Vocabulary.from_file(asked.tokenizer, asked.width)
    )
    workload = next(each for each in workloads() if each.name == asked.kind)
    golds = workload.read(Folders(asked.data, None, vocabulary), asked.records)
    if isinstance(golds, str):
        raise SystemExit(golds)
    source = VocabularySource.of_tokenizer(vocabulary.tokenizer, vocabulary.logit_width)
    service = ConstraintService(source, ServiceOptions(workers=asked.workers, records=len(golds) + 1))
    policy: PolicyName = asked.policy
    try:
        service.draft(DraftingSpec(name=policy, breadth=1))
        service.open(golds[0].document).close()
        pids = service.worker_pids
        with ThreadPoolExecutor(16) as pool:
            opened = list(pool.map(lambda gold: _open(service, gold), golds))
        before, began = _cpu_s(pids), perf_counter()
        times = run(service, opened, asked.in_flight, asked.pause_ms / 1e3)
        cpu_s = _cpu_s(pids) - before
        print(
            json.dumps(
                {
                    "in_flight": asked.in_flight,
                    "workers": asked.workers,
                    "policy": policy,
                    "logit_width": vocabulary.logit_width,
                    "steps": len(times.wait),
                    "record_steps": times.records,
                    "us": times.shown(),
                    "worker_cpu_us_a_record_and_step": round(1e6 * cpu_s / times.records, 1),
                    "seconds": round(perf_counter() - began, 2),
                },
                indent=1,
            )
        )
    finally:
        service.close()


if __name__ == "__main__":
    main()
