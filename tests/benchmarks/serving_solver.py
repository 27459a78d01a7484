"""A solver in front of a server: CP-SAT finds a record that satisfies the relations, on the host.

It is asked with the record's own document, in FactorSpec's encoding; that is made for each request, as by a
server that has not seen it. One thread to a question, a bounded number of processes; what waits waits.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from time import process_time
from typing import Self

from tests.benchmarks.serving_records import Record

#: deterministic time of a question, about seconds
_LIMIT = 60.0
#: most processes: half the cores of the machine that the figures are of
PROCESSES = 8


class Solvers:
    """Processes that solve. Use as a context manager.

    Attributes:
        cpu_s: processor seconds that they took so far.
        num_solved: records found.
    """

    def __init__(self, processes: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._processes = processes
        self._pool: Executor = ProcessPoolExecutor(processes, mp_context=context)
        self.cpu_s = 0.0
        self.num_solved = 0

    def warm_up(self, records: Sequence[Record]) -> None:
        """Have all processes started, and what they import imported."""
        documents = [record.document for record in records[: self._processes]] * 2
        list(self._pool.map(solve, documents))

    async def solve(self, record: Record) -> None:
        """Find a record. Raises ValueError if there is none."""
        import asyncio

        took_s, found = await asyncio.get_running_loop().run_in_executor(self._pool, solve, record.document)
        self.cpu_s += took_s
        if not found:
            raise ValueError("CP-SAT found no record within its limit")
        self.num_solved += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)


def solve(document: str) -> tuple[float, bool]:
    """Processor seconds that it took, and whether there is a record."""
    from factorspec_sdk.automata.nodes import NodeStore
    from factorspec_sdk.graph.cp.solving import Solver
    from factorspec_sdk.graph.factors import connect, lower_relations
    from factorspec_sdk.graph.unroll import unroll
    from factorspec_sdk.wire import parse_document

    began_s = process_time()
    unrolled = unroll(parse_document(json.loads(document)).root)
    factors = lower_relations(unrolled, NodeStore())
    found = all(factor.condition.slots for factor in factors)  # one that is decided already is false
    for group in connect(factors, unrolled):
        domains = {slot: unrolled.slots[slot].domain for slot in group.slots}
        solver = Solver(domains, unrolled.controllers, [factor.condition for factor in group.factors])
        found = solver.solve({}, _LIMIT).solution is not None and found
    return process_time() - began_s, found
