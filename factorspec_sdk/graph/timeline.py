"""Exact feasibility of a component that is one ``no_overlap`` over starts, written in any order.

Where every item takes place for sure, its length and place are known and only its start is open, other
relations speaking of single starts at most, the possible starts come from the sequences of all items
(``timetable.py``): the slots already written are jobs with one possible start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from factorspec_sdk.automata.items import Item
from factorspec_sdk.automata.linear import Compare
from factorspec_sdk.automata.no_overlap import Agenda, Block, NoOverlap
from factorspec_sdk.automata.nodes import Condition, Known, SlotValue
from factorspec_sdk.automata.travel import Place, place_of
from factorspec_sdk.fields.domains import Domain, IntRange, StepDomain
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph.components import ComponentState, Tier
from factorspec_sdk.graph.layers import Layers
from factorspec_sdk.graph.timetable import Job, Span, Timetable, TooManyStates

#: sets of done jobs that one question may look at: about a second
MAX_STATES = 100_000
MAX_JOBS = 400
#: starts that are not evenly spaced are listed up to so many
MAX_LISTED = 4_096
#: values of a start: possible starts are masks with a bit for each
MAX_MASKED = 1 << 24
#: questions whose answers are remembered
MAX_REMEMBERED = 20_000


class NoTimeline(Exception):
    """The component does not have the form that this module handles, or has too many sequences."""


@dataclass(frozen=True, slots=True)
class _Stay:
    """Where a job begins and ends, and the layer that decides its start; None where it is settled."""

    layer: int | None
    first: Place
    last: Place


class Timeline:
    """Feasibility of one component. A state is the tuple of the starts written so far."""

    tier: Tier = "search"
    exact = True

    def __init__(self, layers: Layers) -> None:
        """Raises NoTimeline."""
        self.layers = layers
        self.slots = layers.slots
        self.sizes = [len(domain) for domain in layers.domains]
        self.steps = 0
        self.start: ComponentState = ()
        relation = _only_no_overlap(layers)
        if len(relation.blocks) + len(relation.items) > MAX_JOBS or not all(map(_is_fixed, relation.items)):
            raise NoTimeline
        self._agenda: Agenda = relation.agenda
        self._jobs: list[Job] = []
        self._stays: list[_Stay] = []
        self._codes = [_codes(layers, layer) for layer in range(len(self.slots))]
        for block in relation.blocks:
            self._add(_Stay(None, block.first, block.last), ((block.start, block.start),), block)
        windows = _windows(layers, relation)
        for item in relation.items:
            self._add_item(item, windows)
        self._job_of = {stay.layer: at for at, stay in enumerate(self._stays) if stay.layer is not None}
        if set(self._job_of) != set(range(len(self.slots))):
            raise NoTimeline
        self._tables: dict[ComponentState, Timetable] = {}
        self._values: dict[ComponentState, IndexSet] = {}
        self._witnesses: dict[ComponentState, list[int]] = {}

    def _add(self, stay: _Stay, starts: tuple[Span, ...], block: Block) -> None:
        length = block.end - block.start
        if self._agenda.travel is not None and not length and block.number >= 0 and not self._agenda.pairs:
            raise NoTimeline  # at one moment, writing order would matter
        self._stays.append(stay)
        self._jobs.append(Job(starts, length))

    def _add_item(self, item: Item, windows: Mapping[int, tuple[Span, ...]]) -> None:
        assert isinstance(item.start, SlotValue) and isinstance(item.detail, Known)
        assert isinstance(item.length, Known) and item.length.number is not None
        length = item.length.number
        if not length and self._agenda.travel is not None:
            raise NoTimeline  # at one moment, writing order would matter
        layer, where = self.slots.index(item.start.slot), place_of(item.detail.code)
        if not windows[layer]:
            raise NoTimeline  # some condition alone leaves no value: search names the conflict
        self._add(_Stay(layer, where, where), windows[layer], Block(0, length, -1, where, where))

    # -- the component's seam -------------------------------------------------------------------------

    def is_satisfiable(self) -> bool:
        """True if there is a solution. Raises NoTimeline."""
        try:
            return self._table(()).is_feasible
        except TooManyStates:
            raise NoTimeline from None

    def values(self, layer: int, state: ComponentState) -> IndexSet:
        """Feasible starts of the layer's slot."""
        found = self._values.get(state)
        if found is None:
            job = self._job_of[layer]
            table = self._table(state)
            within = table.starts(job)
            self.steps += table.num_edges
            own = [(max(a, lo), min(z, hi)) for lo, hi in within for a, z in self._jobs[job].starts]
            found = self._indices(layer, [span for span in own if span[0] <= span[1]])
            _make_room(self._values)
            self._values[state] = found
        return found

    def step(self, layer: int, state: ComponentState, index: int) -> tuple[int, ComponentState]:
        """Layer and state after a feasible start."""
        code = self.layers.code(layer, index)
        after = (*state, code)
        witness = self._witnesses.get(state)
        if witness is not None and witness[self._job_of[layer]] == code:
            _make_room(self._witnesses)
            self._witnesses[after] = witness
        return layer + 1, after

    def likely(self, layer: int, state: ComponentState) -> int:
        """The start that the sequence at hand has."""
        found = self._witnesses.get(state)
        if found is None:
            found = self._table(state).witness()
            _make_room(self._witnesses)
            self._witnesses[state] = found
        index = self.layers.domains[layer].index_of_code(found[self._job_of[layer]])
        assert index is not None
        return index

    # -- tables ---------------------------------------------------------------------------------------

    def _table(self, state: ComponentState) -> Timetable:
        """The sequences that begin with what is written. Kept for one state at a time."""
        found = self._tables.get(state)
        if found is None:
            jobs = list(self._jobs)
            for layer, code in enumerate(state):
                job = self._job_of[layer]
                jobs[job] = Job(((code, code),), jobs[job].length)
            found = Timetable(jobs, self._direct, self._least, MAX_STATES)
            self.steps += found.num_edges
            self._tables = {state: found}
        return found

    def _direct(self, one: int, two: int) -> int | None:
        return self._agenda.direct(self._stays[one].last, self._stays[two].first)

    def _least(self, one: int, two: int) -> int | None:
        return self._agenda.least(self._stays[one].last, self._stays[two].first)

    def _indices(self, layer: int, spans: list[Span]) -> IndexSet:
        """Indices of the codes within some intervals of possible starts."""
        codes = self._codes[layer]
        if isinstance(codes, IntRange):
            return IndexSet.union_of(
                (-((codes.lo - lo) // codes.step), (hi - codes.lo) // codes.step) for lo, hi in spans
            )
        inside = sorted(spans)
        return IndexSet.of(i for i, code in enumerate(codes) if any(lo <= code <= hi for lo, hi in inside))


def _make_room(memory: dict[ComponentState, Any]) -> None:
    if len(memory) >= MAX_REMEMBERED:
        memory.clear()


def _conditions(layers: Layers) -> list[Condition]:
    return [condition for entering in layers.all_entering() for condition in entering]


def _only_no_overlap(layers: Layers) -> NoOverlap:
    """The one condition that reads several slots."""
    joint = [condition for condition in _conditions(layers) if condition.slots & (condition.slots - 1)]
    if len(joint) != 1 or not isinstance(joint[0], NoOverlap) or joint[0].agenda.in_order:
        raise NoTimeline
    return joint[0]


def _is_fixed(item: Item) -> bool:
    """True if only the item's start is open, and it takes place for sure."""
    length = item.length.number if isinstance(item.length, Known) else None
    only_start = isinstance(item.start, SlotValue) and isinstance(item.detail, Known)
    return only_start and item.certain and length is not None and length >= 0


def _codes(layers: Layers, layer: int) -> IntRange | list[int]:
    domain = layers.domains[layer]
    if isinstance(domain, IntRange):
        return domain
    if isinstance(domain, StepDomain):
        return domain.codes
    codes = [domain.code(index) for index in range(min(len(domain), MAX_LISTED + 1))]
    numbers = [code for code in codes if isinstance(code, int) and not isinstance(code, bool)]
    if len(numbers) < len(domain):
        raise NoTimeline
    return numbers


def _windows(layers: Layers, relation: NoOverlap) -> dict[int, tuple[Span, ...]]:
    """Per layer the starts that the conditions on its slot alone leave."""
    alone: dict[int, list[Condition]] = {}
    for condition in _conditions(layers):
        if condition is not relation:
            alone.setdefault(condition.slots.bit_length() - 1, []).append(condition)
    return {layer: _window(layers, layer, alone.get(slot, [])) for layer, slot in enumerate(layers.slots)}


def _left_by(condition: Condition, slot: int, domain: Domain) -> int:
    """Bit mask of the values that a condition on ``slot`` alone leaves, exactly."""
    fast = isinstance(condition, Compare) or (
        isinstance(condition, NoOverlap) and all(map(_is_fixed, condition.items))
    )
    found = condition.allowed(slot, domain) if fast else None
    if found is None and len(domain) > MAX_LISTED:
        raise NoTimeline
    return condition.leaves(slot, domain) if found is None else found


def _window(layers: Layers, layer: int, conditions: list[Condition]) -> tuple[Span, ...]:
    """Possible starts as intervals of codes; a stride of more than 1 is listed."""
    codes, domain, slot = _codes(layers, layer), layers.domains[layer], layers.slots[layer]
    if len(domain) > MAX_MASKED:
        raise NoTimeline
    mask = (1 << len(domain)) - 1
    for condition in conditions:
        mask &= _left_by(condition, slot, domain)
    spans = IndexSet.from_mask(mask).spans
    if isinstance(codes, IntRange) and codes.step == 1:
        return tuple((codes.code(lo), codes.code(hi)) for lo, hi in spans)
    if sum(hi - lo + 1 for lo, hi in spans) > MAX_LISTED:
        raise NoTimeline
    code = codes.code if isinstance(codes, IntRange) else codes.__getitem__
    listed = sorted(code(index) for lo, hi in spans for index in range(lo, hi + 1))
    return tuple((start, start) for start in listed)
