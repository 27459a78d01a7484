"""Exact feasibility of a sequence: list items with a wide running number, by sets of that number per cut.

The number (a time of day) is never enumerated. A state at a cut is (local residual, used values of an
``all_different``, what the objective has gained); for each the *live* numbers, from which the component can
be completed, are a union of intervals::

    live(state) = ∪ over hops to states s': {number : some number that follows it is live in s'}

Without an objective, live sets are made on demand and stop once they hold every number. With one, or where
nearly all values of the ``all_different`` have to be taken (a day of mandatory activities):

1. forward: reachable states with the least interval that holds their numbers; a state is dropped where the
   values that can still be taken in time are too few, or cannot make up for what a first, greedy pass gained;
2. backward: live sets of the states that are left, from those ends that gained enough.

Between cuts nothing is kept: a slot inside an item is opened through the ways from there to the next cut.
"""

from __future__ import annotations

from typing import NamedTuple

from factorspec_sdk.automata.logic import parts_of
from factorspec_sdk.automata.nodes import Condition, ValueNode
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph.best import Optimum
from factorspec_sdk.graph.clamps import FAR, Clamp, Spans, after, before, joined
from factorspec_sdk.graph.components import ComponentState, OverBudget, Tier
from factorspec_sdk.graph.cuts import NoSequence, Terms
from factorspec_sdk.graph.layers import Layers
from factorspec_sdk.graph.promise import Promise
from factorspec_sdk.graph.segments import Hop, Segments, Step

#: domains with more values than this are wide
WIDE = 256
#: hops that may be taken for one question
HOPS = 300_000
#: states that the greedy pass keeps at each cut
BEAM = 6
#: remembered answers of slots
MAX_REMEMBERED = 20_000
ALL: Spans = ((-FAR, FAR),)
#: (local residual, used values, gain)
Key = tuple[Condition, int, int]


class State(NamedTuple):
    """Before a layer: the key so far, the register's number, and what is left of the segment's terms."""

    local: Condition
    used: int
    gain: int
    number: int
    terms: Terms


class SequenceSearch:
    """Feasibility of one component that is a sequence. Memory is shared by all sessions of a spec."""

    tier: Tier = "sets"

    def __init__(self, layers: Layers, value: ValueNode | None = None, *, wide: int = WIDE) -> None:
        self.layers = layers
        self.slots = layers.slots
        self.sizes = [len(domain) for domain in layers.domains]
        self.exact = True
        self._segments = Segments(layers, value, wide)
        self._size = len(layers)
        self._by_need = value is not None or self._segments.cuts.nearly_all
        self._need = 0
        self._live: list[dict[Key, Spans]] = [{} for _ in range(self._size)]
        self._steps_at: list[dict[tuple[Condition, Terms], list[Step]]] = [{} for _ in self.slots]
        self._settled: list[dict[tuple[Condition, Terms, int], tuple[Hop, Terms]]] = [{} for _ in self.slots]
        self._values: list[dict[State, IndexSet]] = [{} for _ in self.slots]
        self._forward: list[dict[Key, list[tuple[Clamp, int, Key]]]] = []
        self._hops_taken = 0
        self.start = State(layers.store.true, 0, 0, 0, self._segments.cuts.terms[0])
        self._full = self._whole_range()
        self._explore()

    @property
    def steps(self) -> int:
        """Work so far."""
        return self._segments.num_read + self._hops_taken

    def _whole_range(self) -> tuple[int, int]:
        numbers = [
            self._segments.cuts.number_of(at, index)
            for at, codes in enumerate(self._segments.cuts.codes)
            if codes is not None
            for index in (0, len(codes) - 1)
        ]
        return min(0, *numbers), max(0, *numbers)

    def _explore(self) -> None:
        """Make all hops, whatever the numbers and used values, so that no later question meets a new form.

        Those of the tail are left for later: what they read was read in the segment before.
        """
        cuts = self._segments.cuts
        found: dict[int, dict[Condition, None]] = {cut: {} for cut in cuts.cuts}
        found[0][self.start.local] = None
        for cut in cuts.cuts[:-1]:
            for local in list(found[cut]):
                if cut == cuts.tail and local in found[cuts.cuts[-3]]:
                    continue
                jumps, others = self._segments.at_cut(cut, local)
                for hop in jumps + others:
                    found[self._target(cut, hop)][hop.local] = None
        self._reachable = [(cut, local) for cut in cuts.cuts[:-1] if cut != cuts.tail for local in found[cut]]

    def _target(self, layer: int, hop: Hop) -> int:
        return self._segments.cuts.following[layer] if hop.target is None else hop.target

    # -- questions ------------------------------------------------------------------------------------

    def is_satisfiable(self) -> bool:
        """True if the component has a solution. Raises OverBudget."""
        limit = self._hops_taken + HOPS
        if self._by_need:
            return self.optimum(0).best is not None
        return bool(self._spans(0, (self.start.local, 0, 0), limit))

    def values(self, layer: int, state: ComponentState) -> IndexSet:
        """Feasible values of the layer's slot."""
        found = self._values[layer].get(state)
        if found is None:
            complete = self.exact
            wide = self._segments.cuts.codes[layer] is not None
            spans = self._wide_values(layer, state) if wide else self._discrete_values(layer, state)
            found = IndexSet.union_of(spans)
            if self.exact == complete:
                if len(self._values[layer]) > MAX_REMEMBERED:
                    self._values[layer].clear()
                self._values[layer][state] = found
        return found

    def step(self, layer: int, state: ComponentState, index: int) -> tuple[int, State]:
        """Layer and state after a feasible value."""
        if self._segments.cuts.codes[layer] is not None:
            return layer + 1, self._after_wide(layer, state, index)
        key = state.local, state.terms, index
        settled = self._settled[layer].get(key)
        if settled is None:
            step = next(step for step in self._steps(layer, state) if step.index == index)
            hop = self._segments.settled(layer, step)
            assert hop is not None, "step() takes feasible values only"
            settled = self._settled[layer][key] = hop, step.terms
        hop, terms = settled
        target = layer + 1 if hop.target is None else hop.target
        return target, self._arrived(target, hop, state, terms)

    def likely(self, layer: int, state: ComponentState) -> None:
        """Completions are searched for."""

    # -- values ---------------------------------------------------------------------------------------

    def _discrete_values(self, layer: int, state: State) -> list[tuple[int, int]]:
        limit = self._hops_taken + HOPS
        found = set[int]()
        for hop in self._segments.hops(layer, state.local, state.terms):
            if hop.bits & state.used or hop.first in found:
                continue
            numbers = after(hop.move, state.number, state.number)
            if numbers is None:
                continue
            target = self._target(layer, hop)
            live = self._known_spans(target, self._there(target, hop, state[:3]), limit)
            if any(low <= numbers[1] and numbers[0] <= high for low, high in live):
                assert hop.first is not None
                found.add(hop.first)
        return [(index, index) for index in found]

    def _wide_values(self, layer: int, state: State) -> list[tuple[int, int]]:
        limit = self._hops_taken + HOPS
        base = self._segments.cuts.number_of(layer, 0)
        found = []
        for wide in self._segments.wide_ways(layer, state.local):
            numbers = after(wide.move, state.number, state.number)
            if numbers is None:
                continue
            low, high = numbers
            there = self._following(layer, state, wide.local, low if wide.kept else 0)
            for first, last in self._completable(layer + 1, there, limit):
                if not wide.kept:
                    first, last = (low, high) if first <= 0 <= last else (1, 0)
                found.append((max(first, low) - base, min(last, high) - base))
        return found

    def _after_wide(self, layer: int, state: State, index: int) -> State:
        number = self._segments.cuts.number_of(layer, index)
        for wide in self._segments.wide_ways(layer, state.local):
            numbers = after(wide.move, state.number, state.number)
            if numbers is not None and numbers[0] <= number <= numbers[1]:
                return self._following(layer, state, wide.local, number if wide.kept else 0)
        raise AssertionError("step() takes feasible values only")

    def _following(self, layer: int, state: State, local: Condition, number: int) -> State:
        terms = self._segments.cuts.terms.get(layer + 1)
        if terms is None:
            terms = tuple((node.moved(-1), factor) for node, factor in state.terms)
        return State(local, state.used & self._segments.cuts.later[layer + 1], state.gain, number, terms)

    def _arrived(self, target: int, hop: Hop, state: State, terms: Terms) -> State:
        """The state after a step; ``terms``: what is left of the segment's, where it goes on."""
        numbers = after(hop.move, state.number, state.number)
        assert numbers is not None
        if target in self._segments.cuts.terms:
            terms = self._segments.cuts.terms[target]
        used = (state.used | hop.bits) & self._segments.cuts.later[target]
        return State(hop.local, used, state.gain + hop.gain, numbers[0], terms)

    def _steps(self, layer: int, state: State) -> list[Step]:
        key = state.local, state.terms
        found = self._steps_at[layer].get(key)
        if found is None:
            found = self._segments.steps(layer, parts_of(state.local), state.terms)
            self._steps_at[layer][key] = found
        return found

    # -- live sets ------------------------------------------------------------------------------------

    def _completable(self, layer: int, state: State, limit: int) -> Spans:
        """The numbers from which the rest can be completed; those that a budget leaves open are left out."""
        key = state[:3]
        if layer == self._size or layer in self._segments.cuts.terms:
            return self._known_spans(layer, key, limit)
        found: list[tuple[int, int]] = []
        for hop in self._segments.hops(layer, state.local, state.terms):
            if not hop.bits & state.used:
                target = self._target(layer, hop)
                there = self._there(target, hop, key)
                found += before(hop.move, self._known_spans(target, there, limit))
        return joined(found)

    def _known_spans(self, cut: int, key: Key, limit: int) -> Spans:
        """Live numbers at a cut, nothing where the budget runs out."""
        self._hops_taken += 1
        try:
            return self._spans(cut, key, limit)
        except OverBudget:
            self.exact = False
            return ()

    def _there(self, target: int, hop: Hop, key: Key) -> Key:
        return hop.local, (key[1] | hop.bits) & self._segments.cuts.later[target], key[2] + hop.gain

    def _spans(self, cut: int, key: Key, limit: int) -> Spans:
        """Live numbers at a cut. Recursion is as deep as there are cuts. Raises OverBudget."""
        if cut == self._size:
            return ALL if not self._by_need or key[2] >= self._need else ()
        found = self._live[cut].get(key)
        if found is not None:
            return found
        if self._by_need:
            return ()  # the backward pass has made all that are not empty
        spans: list[tuple[int, int]] = []
        for hop in self._segments.hops(cut, key[0], self._segments.cuts.terms[cut]):
            if hop.bits & key[1]:
                continue
            self._hops_taken += 1
            if self._hops_taken > limit:
                raise OverBudget
            target = self._target(cut, hop)
            spans += before(hop.move, self._spans(target, self._there(target, hop, key), limit))
            if len(spans) > 1:
                spans = list(joined(spans))
            if spans and spans[0][0] <= self._full[0] and spans[0][1] >= self._full[1]:
                break
        self._live[cut][key] = tuple(spans)
        return self._live[cut][key]

    # -- objective ------------------------------------------------------------------------------------

    def optimum(self, gap: int) -> Optimum:
        """The most that solutions gain; leaves only those within ``gap`` of it. Raises OverBudget."""
        promise = Promise(self._segments, self._reachable)
        floor = self._greedy(promise)
        gains = self._reach(promise, None if floor is None else floor - gap)
        for gain in sorted(gains, reverse=True):
            self._backward(gain - gap)
            if gain == floor or self._gained(gain):
                return Optimum(gain, gain)
        return Optimum(None, None)

    def _gained(self, gain: int) -> bool:
        """True if solutions gain as much; the forward pass may promise more, its intervals have no holes."""
        need, self._need = self._need, gain
        if need != gain:
            self._backward(gain)
        found = _holds(self._live[0].get((self.start.local, 0, 0), ()), 0)
        if need != gain:
            self._backward(need)
        return found

    def _greedy(self, promise: Promise) -> int | None:
        """What a few states per cut, those that gained most and are earliest, come to."""
        best: int | None = None
        waiting: dict[int, dict[Key, tuple[int, int]]] = {0: {(self.start.local, 0, 0): (0, 0)}}
        for cut in self._segments.cuts.cuts[:-1]:
            ranked = sorted(waiting.pop(cut, {}).items(), key=lambda one: (-one[0][2], one[1][0]))
            for key, (low, high) in ranked[:BEAM]:
                for hop in self._segments.hops(cut, key[0], self._segments.cuts.terms[cut]):
                    numbers = None if hop.bits & key[1] else after(hop.move, low, high)
                    if numbers is None:
                        continue
                    target = self._target(cut, hop)
                    there = self._there(target, hop, key)
                    if target == self._size:
                        best = there[2] if best is None else max(best, there[2])
                        continue
                    known = waiting.setdefault(target, {}).get(there)
                    if known is None or numbers[0] < known[0]:
                        waiting[target][there] = numbers
        return best

    def _reach(self, promise: Promise, floor: int | None) -> set[int]:
        """Forward: makes the edges between states that can reach ``floor``; what complete ones gained."""
        gains: set[int] = set()
        at: dict[int, dict[Key, tuple[int, int]]] = {0: {(self.start.local, 0, 0): (0, 0)}}
        self._forward = [{} for _ in range(self._size)]
        limit = self._hops_taken + HOPS
        for cut in self._segments.cuts.cuts[:-1]:
            for key, numbers in at.pop(cut, {}).items():
                need = None if floor is None else floor - key[2]
                if not promise.enough(cut, key[1], numbers[0], need):
                    continue
                edges: list[tuple[Clamp, int, Key]] = []
                jumps, others = self._segments.at_cut(cut, key[0])
                for hop in jumps:
                    target = self._target(cut, hop)
                    self._spread(target, [hop], key, numbers, at.setdefault(target, {}), edges)
                target = self._segments.cuts.following[cut]
                self._spread(target, others, key, numbers, at.setdefault(target, {}), edges)
                self._forward[cut][key] = edges
                self._hops_taken += len(others)
                if self._hops_taken > limit:
                    raise OverBudget
            gains |= {key[2] for key in at.get(self._size, ())}
        return gains

    def _spread(
        self,
        target: int,
        hops: list[Hop],
        key: Key,
        numbers: tuple[int, int],
        into: dict[Key, tuple[int, int]],
        edges: list[tuple[Clamp, int, Key]],
    ) -> None:
        """Carry a state's numbers over hops to one target. The innermost loop of a compile."""
        (_, used, gain), (low, high), later = key, numbers, self._segments.cuts.later[target]
        for move, taken, gained, _, left, _ in hops:
            if taken & used:
                continue
            first, last, least, most, lowest, highest = move
            if first < low:
                first = low
            if last > high:
                last = high
            if first > last:
                continue
            there = (left, (used | taken) & later, gain + gained)
            edges.append((move, target, there))
            first, last = first + least, last + most
            if first < lowest:
                first = lowest
            if last > highest:
                last = highest
            known = into.get(there)
            if known is not None:
                first, last = min(first, known[0]), max(last, known[1])
            into[there] = (first, last)

    def _backward(self, need: int) -> None:
        """Live numbers of the states that the forward pass reached, for solutions that gain ``need``."""
        self._need = need
        self._live = [{} for _ in range(self._size)]
        self._values = [{} for _ in self.slots]
        for cut in reversed(self._segments.cuts.cuts[:-1]):
            live = self._live[cut]
            for key, edges in self._forward[cut].items():
                spans: list[tuple[int, int]] = []
                for move, target, there in edges:
                    if target < self._size:
                        numbers = self._live[target].get(there)
                        if numbers is not None:
                            spans += before(move, numbers)
                    elif there[2] >= need:
                        spans.append((move[0], move[1]))
                if spans:
                    live[key] = joined(spans)


def _holds(spans: Spans, number: int) -> bool:
    return any(low <= number <= high for low, high in spans)


__all__ = ["WIDE", "NoSequence", "SequenceSearch"]
