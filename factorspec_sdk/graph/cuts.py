"""Where a component is cut into segments, one per list item, and what is the same in all of them.

Some slots are wide: their numbers are kept open in a register (``automata/registers.py``), one at a time. The
layers are cut where a discrete slot follows a wide one, which is where an item of a list begins::

    layer     more  friend  place | start  end ‖ more  friend  place | start  end ‖ ...
    discrete   x      x       x   |            ‖  x      x       x   |            ‖
    register  (end of the item before) ........ start, end ............ start, end

Layers of the same *kind*, and segments of the same *signature*, read the same conditions at the same
distances.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise

from factorspec_sdk.automata.distinct import Distinct, DistinctPlan
from factorspec_sdk.automata.linear import Linear, Term
from factorspec_sdk.automata.logic import parts_of
from factorspec_sdk.automata.nodes import ValueNode
from factorspec_sdk.fields.domains import Domain, IntRange
from factorspec_sdk.graph.factors import bits
from factorspec_sdk.graph.layers import Layers

Terms = tuple[Term, ...]
#: segments of one component
MAX_CUTS = 300


class NoSequence(Exception):
    """The component does not have the form that ``sequence.py`` handles."""


class Cuts:
    """The cuts of one component.

    cuts: layers at which segments begin, and the end. following: the first cut after each layer.
    codes: the numbers of wide slots, None for discrete ones; they share ``origin`` and ``per_number``, codes.
    differ: the one condition that is not local. later: per layer, which of its values can still be taken.
    terms: the objective's, by cut, slots counted from it. numbers: of each layer's values among those that
    must differ (None: it need not). jumps: for each value of a branch whether it skips slots. tail: the last
    cut, if its segment reads nothing that the one before does not, else None.

    Raises:
        NoSequence: the component is none.
    """

    def __init__(self, layers: Layers, value: ValueNode | None, wide: int) -> None:
        self.layers = layers
        self.size = len(layers)
        self.codes = [_codes(domain, wide) for domain in layers.domains]
        self.origin, self.per_number = self._grid()
        self.differ = self._the_ones_that_differ()
        self.later = self._later()
        self.cuts = self._cuts()
        self.following = self._next_cuts()
        self.terms = self._segment_terms(value)
        self.numbers = [self._numbers(at) for at in range(self.size)]
        self.jumps = [self._jumps(at) for at in range(self.size)]
        self.kinds = self._layer_kinds()
        self.signatures = self._signed()
        self.tail = self._covered_tail()

    def _grid(self) -> tuple[int, int]:
        """(code of number 0, codes per number), the same for all wide slots."""
        found = [codes for codes in self.codes if codes is not None]
        if not found:
            raise NoSequence
        origin, step = found[0].lo, found[0].step
        if any(codes.step != step or (codes.lo - origin) % step for codes in found):
            raise NoSequence
        return origin, step

    def _the_ones_that_differ(self) -> DistinctPlan | None:
        """The one condition that is not local: an ``all_different`` of discrete slots."""
        wide = self.layers.wide_conditions()
        if not wide:
            return None
        if len(wide) > 1 or not isinstance(wide[0], Distinct) or wide[0].at or wide[0].used:
            raise NoSequence
        if any(
            codes and wide[0].slots >> slot & 1
            for slot, codes in zip(self.layers.slots, self.codes, strict=True)
        ):
            raise NoSequence
        return wide[0].plan

    def _later(self) -> list[int]:
        if self.differ is None:
            return [0] * (self.size + 1)
        slots = [*self.layers.slots, self.layers.slots[-1] + 1]
        return [self.differ.later[bisect_left(self.differ.slots, slot)] for slot in slots]

    def num_differing(self, cut: int) -> int:
        """How many slots of a segment take one of the values that must differ."""
        return sum(self.numbers[at] is not None for at in range(cut, self.following[cut]))

    def still_to_differ(self) -> dict[int, int]:
        """Per cut, how many slots from there on take one of the values that must differ for sure."""
        plan = self.differ
        if plan is None:
            return dict.fromkeys(self.cuts, 0)
        slots = [*self.layers.slots, self.layers.slots[-1] + 1]
        return {cut: len(plan.certain[bisect_left(plan.slots, slots[cut])]) for cut in self.cuts}

    @property
    def nearly_all(self) -> bool:
        """True if more than half of the values that must differ have to be taken."""
        plan = self.differ
        return plan is not None and plan.union[0].bit_count() < 2 * len(plan.certain[0])

    def _cuts(self) -> tuple[int, ...]:
        found = {0, self.size}
        for at in range(self.size):
            if at and self.codes[at - 1] is not None and self.codes[at] is None:
                found.add(at)
            if self.layers.is_branch(at):
                targets = (self.layers.move(at, i).target for i in range(len(self.layers.domains[at])))
                found |= {target for target in targets if target != at + 1}
        if len(found) > MAX_CUTS:
            raise NoSequence
        return tuple(sorted(found))

    def _next_cuts(self) -> list[int]:
        """For each layer the first cut after it."""
        found, following = [self.size] * self.size, iter(self.cuts[1:])
        cut = next(following)
        for at in range(self.size):
            if at == cut:
                cut = next(following)
            found[at] = cut
        return found

    def _segment_terms(self, value: ValueNode | None) -> dict[int, Terms]:
        found: dict[int, list[Term]] = {cut: [] for cut in self.cuts}
        if value is None:
            return dict.fromkeys(self.cuts, ())
        if not isinstance(value, Linear) or not value.definite:
            raise NoSequence
        layer_of = {slot: at for at, slot in enumerate(self.layers.slots)}
        for node, factor in value.terms:
            scope = [layer_of[slot] for slot in bits(node.slots)]
            cut = max(cut for cut in self.cuts if cut <= scope[0])
            dense = self.layers.slots[scope[-1]] - self.layers.slots[cut] == scope[-1] - cut
            if scope[-1] >= self.following[cut] or not dense or any(self.codes[at] for at in scope):
                raise NoSequence
            found[cut].append((node.moved(-self.layers.slots[cut]), factor))
        return {cut: tuple(terms) for cut, terms in found.items()}

    def _signed(self) -> dict[int, int]:
        """A number for each cut: equal where ways through the segments depend on the same things."""
        known: dict[object, int] = {}
        found = {}
        for cut, end in pairwise(self.cuts):
            read = tuple(self.kinds[cut:end])
            found[cut] = known.setdefault((read, self.terms[cut]), len(known))
        return found

    def _layer_kinds(self) -> list[int]:
        """A number for each layer: equal where steps depend on the same things."""
        known: dict[object, int] = {}
        found = []
        for at, (numbers, jumps) in enumerate(zip(self.numbers, self.jumps, strict=True)):
            key = (id(self.layers.domains[at]), self.layers.entering(at), numbers, jumps)
            found.append(known.setdefault(key, len(known)))
        return found

    def _covered_tail(self) -> int | None:
        if len(self.cuts) < 3 or self.nearly_all:
            return None  # whether enough values are left in time needs every segment
        before, last, end = self.cuts[-3:]
        if end - last != last - before or self.terms[before] != self.terms[last]:
            return None
        for one, other in zip(range(before, last), range(last, end), strict=True):
            same = self.numbers[one] == self.numbers[other] and self.jumps[one] == self.jumps[other]
            if not same or self.layers.domains[one] is not self.layers.domains[other]:
                return None
            entering = parts_of(self.layers.entering(one))
            if not set(parts_of(self.layers.entering(other))) <= set(entering):
                return None
        return last

    def _jumps(self, layer: int) -> tuple[bool, ...]:
        """For each value of a branch whether it skips slots; nothing for other slots."""
        if not self.layers.is_branch(layer):
            return ()
        moves = (self.layers.move(layer, index) for index in range(len(self.layers.domains[layer])))
        return tuple(move.target != layer + 1 for move in moves)

    def _numbers(self, layer: int) -> tuple[int, ...] | None:
        """Numbers of the layer's values among those that must differ; -1 is null."""
        slot = self.layers.slots[layer]
        if self.differ is None or slot not in self.differ.slots:
            return None
        return self.differ.bits[self.differ.slots.index(slot)]

    def unit(self, code: int) -> int:
        """The number that a code stands for."""
        return (code - self.origin) // self.per_number

    def number_of(self, layer: int, index: int) -> int:
        """The number that a wide slot's value stands for."""
        codes = self.codes[layer]
        assert codes is not None
        return self.unit(codes.lo) + index


def _codes(domain: Domain, wide: int) -> IntRange | None:
    """The numbers of a wide domain."""
    return domain.stride if len(domain) > wide else None
