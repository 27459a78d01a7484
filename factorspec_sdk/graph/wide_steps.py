"""One step over a slot while a register is kept: what becomes of conditions, and of the register's number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from factorspec_sdk.automata.logic import And
from factorspec_sdk.automata.nodes import Condition, Truth
from factorspec_sdk.automata.registers import (
    Difference,
    NoRegister,
    Register,
    difference,
    kept_open,
    register,
    speaks_of_register,
)
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph.clamps import FAR, FORGET, SAME, Clamp, clamp, then
from factorspec_sdk.graph.cuts import Cuts, NoSequence

#: a condition on a wide slot alone may be tried on so many values, and leave so many intervals
MAX_LISTED, MAX_SPANS = 8_192, 16


@dataclass(frozen=True, slots=True)
class WideStep:
    """What an interval of a wide slot leads to. ``move``: to the slot's number. ``kept``: it is kept."""

    move: Clamp
    parts: tuple[Condition, ...]
    kept: bool


@dataclass(frozen=True, slots=True)
class WideWay:
    """The same with what is left as one condition, as states hold it."""

    move: Clamp
    local: Condition
    kept: bool


class WideSteps:
    """Steps over the wide slots of one component."""

    def __init__(self, cuts: Cuts) -> None:
        self._cuts = cuts
        self._store = cuts.layers.store
        self._speaks: dict[Condition, bool] = {}
        self._opened: dict[tuple[Condition, Register], Condition] = {}
        self._differences: dict[Condition, Difference | None] = {}

    def of(self, layer: int, entered: Sequence[Condition]) -> list[WideStep]:
        """What the values of a wide slot do to the register, one clamp per interval of allowed ones."""
        codes = self._cuts.codes[layer]
        assert codes is not None
        symbol = register(self._store, codes)
        now = [part for part in entered if part.slots == 1]
        later = [self._kept_open(part, symbol) for part in entered if part.slots != 1]
        sifted = self.sift(later)
        if sifted is None:
            return []
        kept, low, high = sifted
        base = self._cuts.unit(codes.lo)
        moves = self._moves(layer, now, (max(low, base), min(high, self._cuts.unit(codes.hi))))
        speaks = any(map(self._speaks_of_register, kept))
        return [WideStep(move, tuple(kept), speaks) for move in moves]

    def _moves(self, layer: int, now: Sequence[Condition], ends: tuple[int, int]) -> list[Clamp]:
        """Clamps to the slot's numbers between ``ends`` that the conditions on it and the register leave."""
        (low, high), (least, most), (first, last) = ends, (-FAR, FAR), (-FAR, FAR)
        spans: IndexSet | None = None
        for part in now:
            found = self._difference(part)
            if found is None:
                listed = self._listed(part, layer)
                spans = listed if spans is None else spans & listed
                continue
            lower, upper = self._bounds(found)
            if not found.register:
                low, high = max(low, lower), min(high, upper)
            elif not found.slot:
                first, last = max(first, lower), min(last, upper)
            else:
                least, most = max(least, lower), min(most, upper)
        codes = self._cuts.codes[layer]
        assert codes is not None
        base = self._cuts.unit(codes.lo)
        moves = []
        for start, end in ((0, len(codes) - 1),) if spans is None else spans.spans:
            move = clamp(least, most, max(low, base + start), min(high, base + end))
            move = None if move is None else then(Clamp(first, last, *SAME[2:]), move)
            if move is not None:
                moves.append(move)
        return moves

    def _kept_open(self, part: Condition, symbol: Register) -> Condition:
        found = self._opened.get((part, symbol))
        if found is None:
            if self._speaks_of_register(part):
                raise NoSequence  # two numbers would have to be kept
            try:
                found = kept_open(part, symbol)
            except NoRegister:
                raise NoSequence from None
            self._opened[part, symbol] = found
        return found

    def _listed(self, part: Condition, layer: int) -> IndexSet:
        """Values that a condition on the slot alone leaves."""
        domain = self._cuts.layers.domains[layer]
        if self._speaks_of_register(part) or len(domain) > MAX_LISTED:
            raise NoSequence
        found = IndexSet.from_mask(part.leaves(0, domain))
        if len(found.spans) > MAX_SPANS:
            raise NoSequence
        return found

    def _speaks_of_register(self, condition: Condition) -> bool:
        found = self._speaks.get(condition)
        if found is None:
            found = self._speaks[condition] = speaks_of_register(condition)
        return found

    def _difference(self, condition: Condition) -> Difference | None:
        if condition not in self._differences:
            self._differences[condition] = difference(condition)
        return self._differences[condition]

    def _bounds(self, found: Difference) -> tuple[int, int]:
        """Least and most of slot - register, of the slot or of the register, in numbers."""
        if found.slot and found.register and found.slot != -found.register:
            raise NoSequence
        constant = found.constant + (found.slot + found.register) * self._cuts.origin
        scaled = (found.slot or found.register) * self._cuts.per_number
        least, most = -(constant // scaled), -constant // scaled
        if found.equal:
            return least, most
        return (-FAR, most) if scaled > 0 else (least, FAR)

    def sift(self, parts: Sequence[Condition]) -> tuple[list[Condition], int, int] | None:
        """(what is still open, bounds of the register that are left); None if a part is false."""
        if all(part.slots and type(part) is not And for part in parts):
            return list(parts), -FAR, FAR
        kept: list[Condition] = []
        low, high = -FAR, FAR
        waiting = list(parts)
        while waiting:
            part = waiting.pop()
            if part is self._store.false:
                return None
            if type(part) is And:
                waiting.extend(part.parts)
            elif part.slots:
                kept.append(part)
            elif not isinstance(part, Truth):
                found = self._difference(part)
                if found is None or found.slot:
                    raise NoSequence
                least, most = self._bounds(found)
                low, high = max(low, least), min(high, most)
        return kept, low, high

    def passed(self, kept: Sequence[Condition], low: int, high: int) -> Clamp:
        """The register goes on with numbers within the bounds, or is forgotten where nothing reads it."""
        after = SAME if any(map(self._speaks_of_register, kept)) else FORGET
        return Clamp(low, high, *after[2:])
