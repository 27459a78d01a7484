"""Walking all drafters along the gold records of a workload, and the figures that come of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import parse_document
from factorspec_server.drafting import Certain, DraftingPolicy, Plan, Session, Tree, TreeOptions
from tests.benchmarks.drafts_gold import Gold, Tokens
from tests.benchmarks.drafts_ngram import RECALLING, SHAPES, NgramDrafter
from tests.benchmarks.drafts_walk import (
    Count,
    Drafter,
    ForcedDrafter,
    PlanDrafter,
    Refused,
    count_choices,
    forced_runs,
)
from tests.benchmarks.masks_engine import Engine
from tests.benchmarks.masks_engine import Refused as Untaken
from tests.benchmarks.masks_libraries import LEFT_OUT

Width = int | None
Figure = str | int | float | bool | None
Facts = dict[str, Figure]

WIDTHS: tuple[Width, ...] = (8, 16, 32, 64, None)
#: FactorSpec's drafters: what each drafts behind the certain run
TREES: dict[str, TreeOptions | None] = {
    "certain": None,
    "chain": TreeOptions(breadth=1, text=False),
    "branches": TreeOptions(text=False),
    "chain+text": TreeOptions(breadth=1),
    "branches+text": TreeOptions(),
}
#: what a chain of right guesses would take
CEILING = "all guessed right"
#: records that lie in front of the prompt for the n-gram drafters that know earlier answers
RECALLED = 8


@dataclass(frozen=True)
class Within:
    """What another policy plans, as much of it as a step has room for, certain runs included."""

    policy: DraftingPolicy
    room: Width

    def plan(self, session: Session) -> Plan:
        """The first tokens: the certain run, then the likeliest guesses."""
        plan, room = self.policy.plan(session), self.room
        if room is None or len(plan.tokens) <= room:
            return plan
        return Plan(
            tokens=plan.tokens[:room],
            parents=plan.parents[:room],
            certain=plan.certain[:room],
            choices=tuple(
                replace(choice, children=tuple(child for child in choice.children if child < room))
                for choice in plan.choices
                if choice.node < room
            ),
            complete=False,
            kinds=plan.kinds[:room],
        )


@dataclass
class Total:
    """Counts over the records of a workload, those with a choice and those without apart.

    records, choices, gain: by whether there is a choice. counts: by drafter, width and that.
    """

    records: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})
    choices: int = 0
    gain: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})
    counts: dict[tuple[str, Width, bool], Count] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    @property
    def bound(self) -> float | None:
        """Tokens a step where each choice takes one step, and the rest one more; None without a choice."""
        steps = self.choices + self.records[True]
        return self.gain[True] / steps if steps else None


class Bench:
    """What all records share."""

    def __init__(self, canonical: Canonical, libraries: Sequence[Engine]) -> None:
        self._canonical = canonical
        self._libraries = libraries

    def add(self, total: Total, gold: Gold, before: Sequence[Tokens]) -> None:
        """Walk all drafters along a record. before: records that were written before it."""
        try:
            decoder = self._decoder(gold)
            choices = count_choices(decoder, gold)
        except Refused as refused:
            total.left_out.append(f"{gold.identifier}: {refused}")
            return
        has_choice = choices > 0
        total.records[has_choice] += 1
        total.choices += choices
        total.gain[has_choice] += len(gold.record) - 1
        for name, width, drafter in self._drafters(decoder, gold, before):
            total.counts.setdefault((name, width, has_choice), Count(records=0)).add(drafter.count(gold))

    def _decoder(self, gold: Gold) -> Decoder:
        spec = compile_spec(parse_document(gold.document))
        vocabulary = self._canonical.vocabulary
        return Decoder(spec.program, spec.feasibility, vocabulary, canonical=self._canonical)

    def _drafters(
        self, decoder: Decoder, gold: Gold, before: Sequence[Tokens]
    ) -> Iterator[tuple[str, Width, Drafter]]:
        for width in WIDTHS:
            for name, options in TREES.items():
                yield name, width, PlanDrafter(decoder, self._policy(options, width, gold))
            yield CEILING, width, ForcedDrafter([len(gold.record) - 1], width)
        for library in self._libraries:
            runs = self._forced(library, gold)
            for width in WIDTHS if runs is not None else ():
                yield library.name, width, ForcedDrafter(runs or (), width)
        recalled = [token for record in before[-RECALLED:] for token in record]
        for width in filter(None, WIDTHS):
            for shape in SHAPES:
                yield shape.name, width, NgramDrafter(shape, width)
            for shape in RECALLING:
                yield f"{shape.name}, recalls", width, NgramDrafter(shape, width, recalled)

    def _policy(self, options: TreeOptions | None, width: Width, gold: Gold) -> DraftingPolicy:
        room = None if width is None else width - 1  # one token of a step is the last known one
        if options is None:
            return Within(Certain(), room)
        tree = Tree(replace(options, width=room), self._canonical.vocabulary, gold.prompt)
        return Within(tree, room)

    def _forced(self, library: Engine, gold: Gold) -> list[int] | None:
        """Forced runs by the nearest schema that the library takes with the record; None if it takes none."""
        for without in LEFT_OUT:
            library.left_out = {gold.identifier: without}
            try:
                return forced_runs(library.compile(gold.task), gold.record)
            except (Refused, Untaken):
                continue
        return None


def facts_of(workload: str, total: Total) -> Iterator[Facts]:
    """One line for each drafter and width, records with a choice and without apart."""
    for (name, width, has_choice), count in total.counts.items():
        yield {
            "workload": workload,
            "drafter": name,
            "width": width,
            "has_choice": has_choice,
            "records": count.records,
            "tokens": count.tokens,
            "steps": count.steps,
            "tokens_per_step": round(count.tokens / count.steps, 3),
            "bound": None if not has_choice or total.bound is None else round(total.bound, 3),
            "drafted_per_step": round(count.drafted / count.steps, 2),
            "plan_us": round(count.plan_s / count.steps * 1e6, 1) if count.plan_s else None,
        }


def best_ngram(
    runs: Iterable[Facts], width: Width, *, has_choice: bool = True, recalls: bool = False
) -> Facts | None:
    """The n-gram shape with the fewest steps at a width, among the lines of one workload."""
    found = [
        run
        for run in runs
        if str(run["drafter"]).startswith("ngram")
        and str(run["drafter"]).endswith("recalls") == recalls
        and run["width"] == width
        and run["has_choice"] == has_choice
    ]
    return min(found, key=lambda run: int(run["steps"] or 0), default=None)
