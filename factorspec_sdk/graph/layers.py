"""How a component is read: one layer per slot, and the moves between layers.

A component's state before layer i is a tuple of residual conditions. Conditions over few, close slots
("local": about one item, or two neighbours) are kept together as one conjunction, the first element;
each other condition ("wide": an all_different, a sum over a list) has an element of its own while it
is begun and not finished::

    layer    0            1            2            3
    slot     s0           s1           s2           s3
    local    (TRUE)       l(s0)        l(s0,s1)     ..         conditions enter at their first slot
    wide A   |------------|------------|                       begun at 0, finished at 2
    wide B                |------------------------|           begun at 1, finished at 3
    state    (TRUE,)      (l, A)       (l, A, B)    (l, B)

Keeping local conditions together makes a step two memo look-ups: their joint residuals are few and
shared by all states of the wide ones. Local conditions name slots by their distance from the layer,
so that equal items of a list share residuals too. A move reads one slot's value and, where that value
lets slots drop out (a list ends, an optional object is null), reads the skipped slots as absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from factorspec_sdk.automata.logic import conjunction
from factorspec_sdk.automata.nodes import ABSENT_INDEX, Condition, Mark, NodeStore
from factorspec_sdk.fields.domains import BranchDomain, Domain, Scalar
from factorspec_sdk.graph.factors import Group, bits
from factorspec_sdk.graph.unroll import Unrolled

LayerState = tuple[Condition, ...]
#: a condition is local if it reads at most so many slots ..
LOCAL_SLOTS = 8
#: .. within so many layers
LOCAL_SPAN = 16


@dataclass(frozen=True, slots=True)
class Track:
    """What one wide condition does in one move.

    source: position in the old state, or -1 to begin with ``begin``.
    reads: it reads the slot of the layer. skips: slots it reads as absent. keeps: it is in the new state.
    """

    source: int
    begin: Condition
    reads: bool
    skips: tuple[int, ...]
    keeps: bool


@dataclass(frozen=True, slots=True)
class Move:
    """From one layer to ``target``: skipped layers, and tracks of the wide conditions concerned."""

    target: int
    skipped: tuple[int, ...]
    tracks: tuple[Track, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """A wide condition, its first and last layer, and the layers that it reads."""

    condition: Condition
    first: int
    last: int
    scope: frozenset[int]


class Layers:
    """The layers of one component. Moves are made on demand and kept."""

    def __init__(self, group: Group, unrolled: Unrolled, store: NodeStore) -> None:
        self.store = store
        self.slots = group.slots
        self.domains: list[Domain] = [unrolled.slots[slot].domain for slot in group.slots]
        self._codes = [_codes(domain) for domain in self.domains]
        self._controllers = unrolled.controllers
        self._branches = [isinstance(domain, BranchDomain) for domain in self.domains]
        size = len(self.slots)
        entering: list[list[Condition]] = [[] for _ in range(size)]
        self._wide: list[Span] = []
        self._all = _spans(group)
        for span in self._all:
            near = self._relative(span)
            if near is not None:
                entering[span.first].append(near)
            else:
                self._wide.append(span)
        self._entering = [conjunction(store, conditions) for conditions in entering]
        shared: dict[Condition, dict[Condition, Condition]] = {}
        self._joined = [shared.setdefault(condition, {}) for condition in self._entering]
        self._active = [
            [number for number, span in enumerate(self._wide) if span.first < layer <= span.last]
            for layer in range(size + 1)
        ]
        #: until a branch of a union ends, slots of the others stand open although they cannot occur any more
        self._has_unions = any(isinstance(d, BranchDomain) and d.size == 1 for d in self.domains)
        #: no local condition begins from this layer on, no wide one after it
        self._all_begun = max((span.first + (span not in self._wide) for span in self._all), default=0)
        self._moves: dict[tuple[int, int], Move] = {}
        self._readers = [self._wide_readers(layer) for layer in range(size)]
        self.start: LayerState = (store.true,)

    def __len__(self) -> int:
        return len(self.slots)

    def _relative(self, span: Span) -> Condition | None:
        """The condition with its first slot as slot 0 and the next layer's as slot 1, if it is local."""
        near = (
            len(span.scope) <= LOCAL_SLOTS and span.last - span.first < LOCAL_SPAN and span.condition.movable
        )
        first = self.slots[span.first]
        dense = self.slots[span.last] - first == span.last - span.first  # no foreign slots between
        return span.condition.relative() if near and dense else None

    def _wide_readers(self, layer: int) -> tuple[list[int], list[Condition]]:
        positions = [
            at + 1 for at, number in enumerate(self._active[layer]) if layer in self._wide[number].scope
        ]
        return positions, [span.condition for span in self._wide if span.first == layer]

    def joined(self, layer: int, local: Condition) -> Condition:
        """The local conjunction together with the conditions that enter at ``layer``."""
        found = self._joined[layer].get(local)
        if found is None:
            entering = self._entering[layer]
            both = local if entering is self.store.true else conjunction(self.store, (local, entering))
            found = self._joined[layer][local] = both
        return found

    def wide_readers(self, layer: int, state: LayerState) -> list[Condition]:
        """The wide conditions that read the layer's slot."""
        positions, begun = self._readers[layer]
        return [*[state[at] for at in positions], *begun]

    def is_slack(self, layer: int, state: LayerState) -> bool:
        """True if the conditions still open can be completed whatever values their masks allow.

        That is where all of them are slack, no two read one slot, and none begins later.
        """
        if state[0] is not self.store.true or layer < self._all_begun:
            return False
        seen = 0
        for condition in (*state[1:], *self._readers[layer][1]):
            if condition.slots & seen or not condition.slack:
                return False
            seen |= condition.slots
        return True

    def is_completable(self, layer: int, state: LayerState) -> bool:
        """True if the conditions still open can be completed, where that is told without a search."""
        if self.is_slack(layer, state):
            return True
        if state[0] is not self.store.true or layer < self._all_begun or self._has_unions:
            return False
        still = [c for c in (*state[1:], *self._readers[layer][1]) if c.slots]
        return len(still) == 1 and still[0].completable

    def is_private(self, layer: int) -> bool:
        """True if only local conditions read the layer's slot and no slot depends on it."""
        positions, begun = self._readers[layer]
        return not positions and not begun and not self._branches[layer]

    def is_branch(self, layer: int) -> bool:
        """True if the layer's slot decides whether others occur."""
        return self._branches[layer]

    def code(self, layer: int, index: int) -> Scalar:
        """The code of a value of the layer's slot."""
        return self._codes[layer][index]

    def all_entering(self) -> list[list[Condition]]:
        """For each layer the conditions, local and wide, whose first slot is the layer's; slots by number."""
        found: list[list[Condition]] = [[] for _ in self.slots]
        for span in self._all:
            found[span.first].append(span.condition)
        return found

    def wide_conditions(self) -> list[Condition]:
        """The conditions that are not local."""
        return [span.condition for span in self._wide]

    def entering(self, layer: int) -> Condition:
        """The local conditions whose first slot is the layer's."""
        return self._entering[layer]

    def settled(self, local: Condition) -> Condition:
        """A local conjunction as it stands in states: unknown is as good as true."""
        return self.store.true if local is self.store.unknown else local

    def move(self, layer: int, index: int) -> Move:
        """The move that reads ``index`` at ``layer``. Cached: one per layer, or per value for branches."""
        key = (layer, index if self._branches[layer] else -1)
        found = self._moves.get(key)
        if found is None:
            found = self._moves[key] = self._make_move(layer, index)
        return found

    def _make_move(self, layer: int, index: int) -> Move:
        target = self._target(layer, index)
        active = self._active[layer]
        begun = [number for number, span in enumerate(self._wide) if layer <= span.first < target]
        tracks = []
        for number in [*active, *begun]:
            span = self._wide[number]
            skips = tuple(self.slots[at] for at in range(layer + 1, target) if at in span.scope)
            source = active.index(number) + 1 if number in active else -1
            tracks.append(Track(source, span.condition, layer in span.scope, skips, span.last >= target))
        return Move(target, tuple(range(layer + 1, target)), tuple(tracks))

    def _target(self, layer: int, index: int) -> int:
        """The next layer whose slot occurs: parts that drop out are contiguous in writing order.

        What drops out depends on this slot's value and on those that made this slot occur.
        """
        target, gone = layer + 1, set[int]()
        taken = {self.slots[layer]: index}
        above = self._controllers[self.slots[layer]]
        while above is not None:
            taken[above[0]] = above[1]
            above = self._controllers[above[0]]
        while target < len(self.slots):
            presence = self._controllers[self.slots[target]]
            if presence is None:
                break
            if presence[0] not in gone and taken.get(presence[0], presence[1]) == presence[1]:
                break
            gone.add(self.slots[target])
            target += 1
        return target

    def step(self, layer: int, state: LayerState, index: int) -> tuple[int, LayerState] | None:
        """(next layer, its state), or None if a condition is broken. O(wide conditions open)."""
        move = self._moves.get((layer, index if self._branches[layer] else -1)) or self.move(layer, index)
        code, false = self._codes[layer][index], self.store.false
        joined = self._joined[layer].get(state[0])
        local = (joined if joined is not None else self.joined(layer, state[0])).advance(index, code)
        for at in move.skipped:
            local = self.joined(at, local).advance(ABSENT_INDEX, Mark.ABSENT)
        if local is false:
            return None
        wide = self._wide_after(move, state, layer, index)
        return None if wide is None else (move.target, (self.settled(local), *wide))

    def wide_step(self, layer: int, state: LayerState, index: int) -> Sequence[Condition] | None:
        """The wide conditions after ``index`` at a layer that is no branch, or None if one is broken."""
        move = self._moves.get((layer, -1)) or self.move(layer, index)
        return self._wide_after(move, state, layer, index) if move.tracks else ()

    def _wide_after(
        self, move: Move, state: LayerState, layer: int, index: int
    ) -> Sequence[Condition] | None:
        slot, code, false = self.slots[layer], self._codes[layer][index], self.store.false
        out: list[Condition] = []
        for track in move.tracks:
            node = state[track.source] if track.source >= 0 else track.begin
            if track.reads:
                node = node.assign(slot, index, code)
            if track.skips:
                node = node.without(track.skips)
            if node is false:
                return None
            if track.keeps:
                out.append(node)
        return out


def _spans(group: Group) -> list[Span]:
    """The component's conditions in order of their first layers, equal ones once."""
    layer_of = {slot: at for at, slot in enumerate(group.slots)}
    spans = []
    for condition in dict.fromkeys(factor.condition for factor in group.factors):
        scope = [layer_of[slot] for slot in bits(condition.slots)]
        spans.append(Span(condition, scope[0], scope[-1], frozenset(scope)))
    return sorted(spans, key=lambda span: (span.first, span.last))


def _codes(domain: Domain) -> Sequence[Scalar]:
    """Codes by index; computed when asked for where the domain is large."""
    codes = domain.stride
    if codes is not None:
        return range(codes.lo, codes.hi + 1, codes.step)
    if len(domain) <= 4096:
        return [domain.code(index) for index in range(len(domain))]
    return _LazyCodes(domain)


class _LazyCodes(Sequence[Scalar]):
    def __init__(self, domain: Domain) -> None:
        self._domain = domain

    def __len__(self) -> int:
        return len(self._domain)

    @overload
    def __getitem__(self, index: int) -> Scalar: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Scalar]: ...
    def __getitem__(self, index: int | slice) -> Scalar | Sequence[Scalar]:
        if isinstance(index, slice):
            return [self._domain.code(i) for i in range(*index.indices(len(self)))]
        return self._domain.code(index)
