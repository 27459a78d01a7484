"""Automata over values in the order in which fields are named, which need not be the writing order.

Values that come before their turn wait in the state::

    named      b  a  c       state  (automaton's state, next place, ((place, symbol), ..) that wait)
    written    a  b  c              a waits until b was read

Where both orders are one, the state is the automaton's alone. Null and absent values are skipped.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable
from typing import cast

from factorspec_sdk.automata.nodes import Code
from factorspec_sdk.automata.reading import Key, Read, ReadingPlan, State, code_key

Waiting = tuple[tuple[int, Hashable], ...]
_SKIPPED = "skipped"


class SequencePlan(ReadingPlan):
    """places[at]: where slot ``at`` stands in the named order, several places where it is named twice."""

    def __init__(self, reads: Iterable[Read]) -> None:
        named = list(reads)
        super().__init__(named)
        places: dict[int, list[int]] = {}
        for place, (slot, _, _) in enumerate(named):
            places.setdefault(slot, []).append(place)
        self.places = tuple(tuple(places[slot]) for slot in self.slots)
        self.straight = self.places == tuple((place,) for place in range(len(named)))

    @property
    @abstractmethod
    def first(self) -> State:
        """The automaton's state before the first value."""

    @abstractmethod
    def symbol(self, at: int, key: Key) -> Hashable | None:
        """What the automaton sees of a value; None where it does not look at it."""

    @abstractmethod
    def move(self, state: State, symbol: Hashable) -> State | None:
        """The automaton's state after a value; None where it is stuck."""

    @abstractmethod
    def accepts(self, state: State) -> bool:
        """True if the values may end here."""

    @property
    def start(self) -> State | None:
        if not len(self):
            return self.first if self.accepts(self.first) else None
        return self.first if self.straight else (self.first, 0, ())

    def step(self, at: int, state: State, index: int, code: Code) -> State | None:
        key = code_key(index, code)
        symbol = None if key is None else self.symbol(at, key)
        if self.straight:
            after = state if symbol is None else self.move(state, symbol)
        else:
            inner, place, waiting = cast(tuple[State, int, Waiting], state)
            mine = ((place, _SKIPPED if symbol is None else symbol) for place in self.places[at])
            after = self._caught_up(inner, place, dict((*waiting, *mine)))
        if after is None or at + 1 < len(self):
            return after
        inner = after if self.straight else cast(tuple[State, int, Waiting], after)[0]
        return after if self.accepts(inner) else None

    def _caught_up(self, inner: State, place: int, waiting: dict[int, Hashable]) -> State | None:
        """The state after all values whose turn has come."""
        while place in waiting:
            symbol = waiting.pop(place)
            after = inner if symbol == _SKIPPED else self.move(inner, symbol)
            if after is None:
                return None
            inner, place = after, place + 1
        return inner, place, tuple(sorted(waiting.items(), key=lambda item: item[0]))
