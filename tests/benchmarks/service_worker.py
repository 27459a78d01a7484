"""What a step costs the main thread of one constraint worker, without other processes and threads.

    python -m tests.benchmarks.service_worker --data DIR --bfcl DIR [--kind notes|tool_calls|trips_loose]

Groups of records, a worker for each, are written along their gold records, a step after another; between two
steps the worker looks ahead, and nobody disturbs it. Figures are processor time in microseconds: of a step
until its plans are out, and from then until its rows are; the least of some repeats, which leaves out much of
what other processes do to caches.
"""

from __future__ import annotations

import argparse
import gc
import json
import socket
from collections.abc import Sequence
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

from factorspec_sdk.decoding import Plan
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Allowed, Canonical, Vocabulary
from factorspec_server.constraint_service.memory import Layout, Memory
from factorspec_server.constraint_service.plan_words import HEAD, decode
from factorspec_server.constraint_service.step_words import Asking
from factorspec_server.constraint_service.warm_up import warm_up
from factorspec_server.constraint_service.worker import Worker, WorkerSetup
from factorspec_server.settings import Budgets
from tests.benchmarks.drafts_gold import Folders, Gold, workloads
from tests.benchmarks.drafts_walk import stood
from tests.benchmarks.service_host import notes

_MOST = 64
Times = list[tuple[float, float]]


class TimedWorker(Worker):
    """Notes when its bells ring."""

    def __init__(self, canonical: Canonical, records: int) -> None:
        vocabulary = canonical.vocabulary
        layout = Layout(workers=1, records=records, rows=8, row_words=vocabulary.row_words, most_tokens=_MOST)
        self.memory, _ = Memory.create(layout)
        self.sockets = [*socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET), *socket.socketpair()]
        self.rung: list[float] = []
        super().__init__(WorkerSetup(0, canonical, self.memory, self.sockets[1], self.sockets[3], Budgets()))

    def _ring(self, which: int, step: int) -> None:
        self.rung.append(thread_time())
        super()._ring(which, step)

    def open(self, slot: int, gold: Gold) -> None:
        """A record in a slot."""
        said = {"slot": slot, "serial": slot + 1, "token_limit": None, "on_budget": "narrow", "salt": None}
        self._opened({**said, "tokens": (), "prompt": ()}, json.dumps(gold.document).encode())

    def step(self, asking: Asking) -> tuple[float, float]:
        """Seconds until the plans of a step, and then its rows, are out."""
        self.rung.clear()
        began = thread_time()
        for words in asking.packets:
            self._step_over(words)
        return self.rung[0] - began, self.rung[-1] - self.rung[0]

    def plan(self, slot: int) -> Plan:
        """What was answered last, without what may be chosen."""
        words, at = self.memory.words, self.memory.plan_at(slot)
        block = words[at + 2 : at + HEAD + words[at + HEAD - 1]]
        found = decode(block, lambda _node, count, _row: Allowed(frozenset(), None, count))
        assert isinstance(found, Plan), found
        return found


def run(canonical: Canonical, golds: Sequence[Gold]) -> Times:
    """Write these records with one worker."""
    worker = TimedWorker(canonical, len(golds))
    for slot, gold in enumerate(golds):
        worker.open(slot, gold)
    written, sent = [0] * len(golds), [0] * len(golds)
    times: Times = []
    gc.collect()
    gc.freeze()
    left = [*range(len(golds))]
    while left:
        number = len(times) + 1
        asking = Asking(number)
        for slot in left:
            tokens = golds[slot].record[sent[slot] : written[slot]]
            asking.add(slot, slot + 1, number, _MOST, sent[slot], tokens)
            sent[slot] = written[slot]
        times.append(worker.step(asking))
        for slot in left:
            rest = golds[slot].record[written[slot] :]
            written[slot] += min(len(rest), stood(worker.plan(slot), rest) + 1)
        left = [slot for slot in left if written[slot] < len(golds[slot].record)]
    for each in worker.sockets:
        each.close()
    return times


def _shown(times: Sequence[tuple[float, float]]) -> dict[str, Any]:
    if not times:
        return {}
    plans, rows = np.array(times).T * 1e6
    found: dict[str, Any] = {"steps": len(times)}
    for name, values in (("plans", plans), ("rows", rows), ("both", plans + rows)):
        found[name] = {f"p{q}": round(float(np.percentile(values, q))) for q in (50, 90, 99, 100)}
    return found


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with trip.jsonl of NATURAL PLAN")
    parser.add_argument("--bfcl", type=Path, help="folder with data of bfcl-eval")
    parser.add_argument("--tokenizer", type=Path, help="a tokenizer.json (default: a small made-up one)")
    parser.add_argument("--width", type=int, help="columns of the logits (default: the tokenizer's ids)")
    parser.add_argument("--kind", default="notes", help="notes, trips_loose, tool_calls")
    parser.add_argument("--records", type=int, default=16, help="of a worker")
    parser.add_argument("--groups", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    path = asked.tokenizer
    vocabulary = vocabulary_like("qwen") if path is None else Vocabulary.from_file(path, asked.width)
    count = asked.records * asked.groups
    golds: Sequence[Gold] | str = notes(vocabulary, count)
    if asked.kind != "notes":
        workload = next(each for each in workloads() if each.name == asked.kind)
        golds = workload.read(Folders(asked.data, asked.bfcl, vocabulary), count)
    if isinstance(golds, str):
        raise SystemExit(golds)
    canonical = Canonical(vocabulary)
    warm_up(canonical)
    first: Times = []
    later: Times = []
    for start in range(0, len(golds), asked.records):
        group = golds[start : start + asked.records]
        repeats = [run(canonical, group) for _ in range(asked.repeats)]
        least = [tuple(map(min, zip(*same, strict=True))) for same in zip(*repeats, strict=True)]
        first += least[:1]
        later += least[1:]
    figures = {
        "kind": asked.kind,
        "first": _shown(first),
        "later": _shown(later),
        "all": _shown(first + later),
    }
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
