"""Records that are written again, and others of a spec: what guesses from earlier records bring and cost.

Each record of a workload is written several times, one after the other, as agents repeat their calls; each
spec has one memory. ``other records`` are different ones of one spec, which never repeat: what the memory
costs where it finds nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.table import Table

from factorspec_sdk.decoding import Decoder, Earlier
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import parse_document
from factorspec_server.drafting import Tree, TreeOptions
from tests.benchmarks.drafts_gold import Folders, Gold
from tests.benchmarks.drafts_runs import Facts, Within
from tests.benchmarks.drafts_walk import Count, PlanDrafter, Refused, count_choices
from tests.benchmarks.masks_plain import workloads as plain_workloads
from tests.benchmarks.masks_workload import Options, Task

WIDTHS = (16, 64)
#: chains of at most seven guesses are what the SGLang worker runs
TREES = {"7 guesses": TreeOptions(breadth=1, places=7), "branches+text": TreeOptions()}
OTHER = "other records"
#: of each family of schemas
_SPECS = 2

Key = tuple[str, int, int, bool]
"""Drafter, width, which time, with a memory."""


class Again:
    """Walks along records, and counts."""

    def __init__(self, canonical: Canonical) -> None:
        self._canonical = canonical
        self._decoder: tuple[str, Decoder] | None = None
        self._memories: dict[tuple[str, int], Earlier] = {}
        self.counts: dict[Key, Count] = {}
        self.left_out: list[str] = []

    def write(self, gold: Gold, times: int) -> None:
        """Write a record so often. Those of one spec follow each other."""
        try:
            decoder = self._decoder_of(gold)
            if not count_choices(decoder, gold):
                return
        except Refused as refused:
            self.left_out.append(f"{gold.identifier}: {refused}")
            return
        for time in range(times):
            for (name, width), memory in self._memories.items():
                if not time:  # what the spec's runs keep of a record is there for all that are timed
                    _walk(decoder, gold, (name, width), None)
                for earlier in (None, memory):
                    count = _walk(decoder, gold, (name, width), earlier)
                    key = name, width, time, earlier is not None
                    self.counts.setdefault(key, Count(records=0)).add(count)
                memory.remember(gold.record)

    def _decoder_of(self, gold: Gold) -> Decoder:
        text = json.dumps(gold.document)
        if self._decoder is None or self._decoder[0] != text:
            spec = compile_spec(parse_document(gold.document))
            vocabulary = self._canonical.vocabulary
            made = Decoder(spec.program, spec.feasibility, vocabulary, canonical=self._canonical)
            self._decoder = text, made
            self._memories = {(name, width): Earlier() for name in TREES for width in WIDTHS}
        return self._decoder[1]

    def facts(self, workload: str) -> Iterator[Facts]:
        """One line for each drafter, width and time, with the memory and without."""
        for (name, width, time, remembers), count in self.counts.items():
            yield {
                "workload": workload,
                "drafter": name,
                "width": width,
                "time": time + 1,
                "remembers": remembers,
                "records": count.records,
                "tokens": count.tokens,
                "steps": count.steps,
                "tokens_per_step": round(count.tokens / count.steps, 3),
                "drafted_per_step": round(count.drafted / count.steps, 2),
                "plan_us": round(count.plan_s / count.steps * 1e6, 1),
            }


def _walk(decoder: Decoder, gold: Gold, drafter: tuple[str, int], earlier: Earlier | None) -> Count:
    name, width = drafter
    tree = Tree(replace(TREES[name], width=width - 1), decoder.vocabulary, gold.prompt, earlier)
    return PlanDrafter(decoder, Within(tree, width - 1)).count(gold)


def table(runs: Sequence[Facts], workload: str, times: int) -> Table:
    """Tokens a step, and microseconds of a plan, by time."""
    heads = [f"{kind}, time {time + 1}" for time in range(times) for kind in ("without", "with")]
    found = Table("drafter", "width", *heads, title=f"{workload}: tokens a step / µs a plan")
    for name in TREES:
        for width in WIDTHS:
            chosen = [run for run in runs if (run["drafter"], run["width"]) == (name, width)]
            chosen.sort(key=lambda run: (run["time"], run["remembers"]))
            cells = [f"{run['tokens_per_step']:.2f} / {run['plan_us']:.0f}" for run in chosen]
            found.add_row(name, str(width), *cells)
    return found


def other_records(folders: Folders, canonical: Canonical, each: int) -> list[Gold]:
    """Different records of specs without relations, so many of a spec, one after the other."""
    found: list[Gold] = []
    for workload in plain_workloads():
        tasks = workload.read(Options(None, None, _SPECS, canonical))
        for task in () if isinstance(tasks, str) else tasks:
            found += [_gold(task, number, folders) for number in range(each)]
    return found


def _gold(task: Task, number: int, folders: Folders) -> Gold:
    text = json.dumps(task.record(number), ensure_ascii=False)
    return Gold(f"{task.name} {number}", task.document, (), folders.vocabulary.encode(text))
