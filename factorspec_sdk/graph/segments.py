"""All ways through the segments of a sequence, as clamps of the running number.

A way through a segment takes a value of each discrete slot; what it does to the register is one ``Clamp``.
Ways depend on the local residual at the cut only, and are shared by all segments of the same signature.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from factorspec_sdk.automata.logic import conjunction, parts_of
from factorspec_sdk.automata.nodes import ABSENT_INDEX, Condition, Known, Mark, ValueNode
from factorspec_sdk.graph.clamps import FORGET, SAME, Clamp, then
from factorspec_sdk.graph.cuts import Cuts, NoSequence, Terms
from factorspec_sdk.graph.factors import bits
from factorspec_sdk.graph.layers import Layers
from factorspec_sdk.graph.wide_steps import WideStep, WideSteps, WideWay

#: values and conditions that may be read while ways are made
MAX_READ = 200_000
#: ways through one segment from one residual
MAX_WAYS = 2_000


@dataclass(frozen=True, slots=True)
class Step:
    """What one value of a discrete slot, or one interval of a wide one, leads to.

    index: of the value, None for an interval. bits: which of the values that must differ it takes.
    gain: of the objective. parts: what is left, the next layer's slot as slot 0. terms: what is left of the
    segment's terms of the objective. jump: the value of a branch that skips slots.
    """

    index: int | None
    move: Clamp
    bits: int
    gain: int
    parts: tuple[Condition, ...]
    terms: Terms
    jump: int | None


@dataclass(frozen=True, slots=True)
class Way:
    """Steps up to the next cut, or to a jump, as one. ``layers``: how many were read.

    first: the value of the first slot, None where that is wide.
    """

    first: int | None
    move: Clamp
    bits: int
    gain: int
    local: Condition
    terms: Terms
    layers: int
    jump: int | None


class Hop(NamedTuple):
    """A way from a layer to ``target``, a cut or the end; None is the next cut.

    first: value of the layer's slot, None where that is wide.
    """

    move: Clamp
    bits: int
    gain: int
    target: int | None
    local: Condition
    first: int | None


class Segments:
    """The ways of one component. cuts: where its segments begin."""

    def __init__(self, layers: Layers, value: ValueNode | None, wide: int) -> None:
        self.layers = layers
        self.cuts = Cuts(layers, value, wide)
        self.size = len(layers)
        self.store = layers.store
        self.num_read = 0
        self._wide = WideSteps(self.cuts)
        self._entering = [tuple(parts_of(layers.entering(at))) for at in range(self.size)]
        self._shared: dict[tuple[int, Condition], tuple[list[Way], list[Hop]]] = {}
        self._at_cut: list[dict[Condition, tuple[list[Hop], list[Hop]]]] = [{} for _ in range(self.size)]
        self._hops: list[dict[tuple[Condition, Terms], list[Hop]]] = [{} for _ in range(self.size)]
        self._rests = self._numbered_rests()
        self._behind: dict[tuple[int, Condition, Terms], tuple[list[Way], list[Hop]]] = {}
        self._wide_ways: dict[tuple[int, Condition], list[WideWay]] = {}
        self._steps: dict[tuple[int, frozenset[Condition], Terms], list[Step]] = {}

    # -- ways -----------------------------------------------------------------------------------------

    def hops(self, layer: int, local: Condition, terms: Terms) -> list[Hop]:
        """All ways from what is left at a layer to the next cuts, jumps first. O(ways) once."""
        if layer in self.cuts.signatures:
            jumps, others = self.at_cut(layer, local)
            return jumps + others
        found = self._hops[layer].get((local, terms))
        if found is None:
            key = self._rests[layer], local, terms
            behind = self._behind.get(key)
            if behind is None:
                ways = list(self._walk(layer, local, terms))
                behind = self._behind[key] = ways, _plain(ways)
            found = self._hops[layer][local, terms] = self._jumps(layer, behind[0]) + behind[1]
        return found

    def _numbered_rests(self) -> list[int]:
        """A number for each layer: equal where ways to the ends of segments depend on the same things."""
        kinds, following = self.cuts.kinds, self.cuts.following
        known: dict[tuple[int, ...], int] = {}
        return [known.setdefault(tuple(kinds[at : following[at]]), len(known)) for at in range(self.size)]

    def at_cut(self, cut: int, local: Condition) -> tuple[list[Hop], list[Hop]]:
        """(those that jump over cuts, those to the next cut) from what is left at a cut.

        The latter are one list for all segments of the same signature.
        """
        found = self._at_cut[cut].get(local)
        if found is None:
            key = (self.cuts.signatures[cut], local)
            shared = self._shared.get(key)
            if shared is None:
                ways = list(self._walk(cut, local, self.cuts.terms[cut]))
                shared = self._shared[key] = ways, _plain(ways)
            found = self._at_cut[cut][local] = self._jumps(cut, shared[0]), shared[1]
        return found

    def _jumps(self, layer: int, ways: list[Way]) -> list[Hop]:
        resolved = (self._resolved(layer, way) for way in ways if way.jump is not None)
        return [hop for hop in resolved if hop is not None]

    def settled(self, layer: int, step: Step) -> Hop | None:
        """Where a single step at ``layer`` leads: the next layer, or a cut that it jumps to."""
        way = Way(
            step.index, step.move, step.bits, step.gain, self.joined(step.parts), step.terms, 1, step.jump
        )
        return self._resolved(layer, way)

    def joined(self, parts: Sequence[Condition]) -> Condition:
        """What is left as one condition, as states hold it."""
        return self.layers.settled(conjunction(self.store, parts))

    def _walk(self, start: int, local: Condition, terms: Terms) -> Iterator[Way]:
        """Depth-first through the segment."""
        end = self.cuts.following[start]
        stack = [(start, Step(None, SAME, 0, 0, tuple(parts_of(local)), terms, None))]
        made = 0
        while stack:
            at, here = stack.pop()
            for step in self.steps(at, here.parts, here.terms):
                move = then(here.move, step.move)
                if move is None or step.bits & here.bits:
                    continue
                taken, gain = here.bits | step.bits, here.gain + step.gain
                first = here.index if at > start else step.index
                if step.jump is not None or at + 1 == end:
                    left = self.joined(step.parts)
                    yield Way(first, move, taken, gain, left, step.terms, at + 1 - start, step.jump)
                    made += 1
                else:
                    stack.append((at + 1, Step(first, move, taken, gain, step.parts, step.terms, None)))
            if made > MAX_WAYS:
                raise NoSequence

    def _resolved(self, start: int, way: Way) -> Hop | None:
        """A way with its jump carried out: skipped slots are absent."""
        at = start + way.layers
        if way.jump is None:
            return Hop(way.move, way.bits, way.gain, at, way.local, way.first)
        target = self.layers.move(at - 1, way.jump).target
        local, false = way.local, self.store.false
        for skipped in range(at, target):
            if local is not self.store.true or self._entering[skipped]:
                local = self.layers.joined(skipped, local).advance(ABSENT_INDEX, Mark.ABSENT)
        sifted = self._wide.sift([local] if local is false else parts_of(local))
        move = None if sifted is None else then(way.move, self._wide.passed(*sifted))
        if sifted is None or move is None:
            return None
        gain = way.gain + sum(factor * _absent(node) for node, factor in way.terms)
        cuts = self.cuts.cuts
        for cut in cuts[bisect_left(cuts, at) : bisect_left(cuts, target)]:
            gain += sum(factor * _absent(node) for node, factor in self.cuts.terms[cut])
        return Hop(move, way.bits, gain, target, self.joined(sifted[0]), way.first)

    # -- steps ----------------------------------------------------------------------------------------

    def steps(self, layer: int, parts: Sequence[Condition], terms: Terms) -> list[Step]:
        """The steps at a layer from what is left there; a number that nothing reads later is forgotten."""
        key = self.cuts.kinds[layer], frozenset(parts), terms
        found = self._steps.get(key)
        if found is None:
            found = self._steps[key] = self._made(layer, parts, terms)
        return found

    def _made(self, layer: int, parts: Sequence[Condition], terms: Terms) -> list[Step]:
        if self.cuts.codes[layer] is None:
            return self._discrete(layer, [*parts, *self._entering[layer]], terms)
        moved = tuple((node.moved(-1), factor) for node, factor in terms)
        found = []
        for wide in self.wide_steps(layer, parts):
            move = wide.move if wide.kept else then(wide.move, FORGET)
            if move is not None:
                found.append(Step(None, move, 0, 0, wide.parts, moved, None))
        return found

    def _count(self, steps: int) -> None:
        self.num_read += steps
        if self.num_read > MAX_READ:
            raise NoSequence

    def _discrete(self, layer: int, entered: list[Condition], terms: Terms) -> list[Step]:
        domain = self.layers.domains[layer]
        if len(domain) > MAX_READ:
            raise NoSequence
        mask = (1 << len(domain)) - 1
        for part in entered:
            if part.slots & 1:
                own = part.mask_or_none(0, domain)
                if own is not None:
                    mask &= own
        self._count(mask.bit_count() + 1)
        steps = (self._taken(layer, index, entered, terms) for index in bits(mask))
        return [step for step in steps if step is not None]

    def _taken(self, layer: int, index: int, entered: list[Condition], terms: Terms) -> Step | None:
        code = self.layers.code(layer, index)
        parts = []
        for part in entered:
            after = part.advance(index, code)
            if after is self.store.false:
                return None
            if after is not self.store.true and after is not self.store.unknown:
                parts.append(after)
        sifted = self._wide.sift(parts)
        if sifted is None:
            return None
        gain, rest = 0, []
        for node, factor in terms:
            value = node.assign(0, index, code).moved(-1)
            if isinstance(value, Known):
                gain += factor * _number(value)
            else:
                rest.append((value, factor))
        numbers = self.cuts.numbers[layer]
        bit = 0 if numbers is None or numbers[index] < 0 else 1 << numbers[index]
        jump = index if self.cuts.jumps[layer] and self.cuts.jumps[layer][index] else None
        return Step(index, self._wide.passed(*sifted), bit, gain, tuple(sifted[0]), tuple(rest), jump)

    def wide_ways(self, layer: int, local: Condition) -> list[WideWay]:
        """``wide_steps`` from a state. The numbers do not count, so that few are made."""
        key = self.cuts.kinds[layer], local
        found = self._wide_ways.get(key)
        if found is None:
            steps = self.wide_steps(layer, parts_of(local))
            found = [WideWay(step.move, self.joined(step.parts), step.kept) for step in steps]
            self._wide_ways[key] = found
        return found

    def wide_steps(self, layer: int, parts: Sequence[Condition]) -> list[WideStep]:
        """What the values of a wide slot do to the register, one clamp per interval of allowed ones."""
        entered = [*parts, *self._entering[layer]]
        self._count(len(entered) + 1)
        return self._wide.of(layer, entered)


def _plain(ways: Sequence[Way]) -> list[Hop]:
    """Those that go to the next cut."""
    return [Hop(way.move, way.bits, way.gain, None, way.local, way.first) for way in ways if way.jump is None]


def _absent(node: ValueNode) -> int:
    """A term's value where its slots do not occur."""
    for slot in bits(node.slots):
        node = node.assign(slot, ABSENT_INDEX, Mark.ABSENT)
    assert isinstance(node, Known)
    return _number(node)


def _number(value: Known) -> int:
    if value.number is None:
        raise NoSequence
    return value.number
