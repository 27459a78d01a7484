"""Generated specs against brute force, as many as one likes: ``python -m tests.differential --specs 5000``.

Every pair of kinds, and mixed ones; every fourth with an objective. Feasible values at every reachable
decision, unsatisfiable answers, minimal conflicts and optima are compared. One that fails is shrunk.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import combinations_with_replacement, cycle, islice
from typing import Any

from rich.progress import track

from factorspec_sdk.errors import DocumentError
from factorspec_sdk.wire import parse_document
from tests.differential.generate import KINDS, document
from tests.differential.shrink import shrunk
from tests.differential.test_feasibility import compare_with_brute_force
from tests.differential.test_objective import check_certificates

_MAX_RECORDS = 800


@dataclass(frozen=True)
class Task:
    """One spec: its seed, its kinds (None: any), and levels of its objective."""

    seed: int
    kinds: tuple[str, ...] | None
    goals: int

    def document(self) -> dict[str, Any]:
        """The generated document; without its objective where that has no type."""
        made = document(self.seed, self.kinds, _MAX_RECORDS, goals=self.goals)
        try:
            parse_document(made)
        except DocumentError:
            made["x-factorspec"].pop("objective", None)
        return made


def tasks(count: int, first_seed: int) -> Iterator[Task]:
    """Pairs of kinds in turn, and a mixed spec after each pair."""
    pairs = cycle(combinations_with_replacement(KINDS, 2))
    for number in range(count):
        kinds = None if number % 2 else next(pairs)
        yield Task(first_seed + number, kinds, goals=1 + number % 3 if number % 4 == 3 else 0)


def compared(task: Task) -> tuple[Task, int, str]:
    """(task, decisions compared, what failed)."""
    try:
        return task, _compare(task.document()), ""
    except Exception:  # noqa: BLE001  # whatever fails is the result
        return task, 0, traceback.format_exc(limit=3)


def _compare(doc: dict[str, Any]) -> int:
    decisions = compare_with_brute_force(doc)
    if "objective" in doc["x-factorspec"]:
        check_certificates(parse_document(doc))
    return decisions


def _fails(doc: dict[str, Any]) -> bool:
    try:
        _compare(doc)
    except DocumentError:
        return False  # a document that is refused is another matter
    except Exception:  # noqa: BLE001  # the failure looked for
        return True
    return False


def main() -> int:
    """Compare, print, and say by the exit code whether all agreed."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.differential")
    parser.add_argument("--specs", type=int, default=5_000, help="how many")
    parser.add_argument("--seed", type=int, default=1_000_000, help="of the first")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    decisions, failed = 0, list[tuple[Task, str]]()
    with ProcessPoolExecutor(asked.processes) as pool:
        found = pool.map(compared, islice(tasks(asked.specs, asked.seed), asked.specs), chunksize=8)
        for task, number, problem in track(found, "comparing", total=asked.specs):
            decisions += number
            if problem:
                failed.append((task, problem))
    print(f"{asked.specs} specs, {decisions} decisions compared, {len(failed)} failed")
    for task, problem in failed[:3]:
        print(f"\n{task}\n{problem}")
        print(json.dumps(shrunk(task.document(), _fails), ensure_ascii=False))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
