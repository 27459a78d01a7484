"""What every walk along digits shares: the tokens before the first digit, and the rules of the walk.

::

    "-12.30"    lead tokens (held tail, quote, sign)  |  tokens of the body

The lead's tokens are fixed by the fact that a digit follows; there is one lead for each sign. The body is up
to the kind of walk (``numbers.py``, ``forms.py``, ``merged.py``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.tokens.canonical import Canonical
from factorspec_sdk.tokens.held import Held


class Values(Protocol):
    """A set of integers that answers for whole intervals."""

    def any_in(self, lo: int, hi: int, /) -> bool:
        """True if some member lies in ``[lo, hi]``."""
        ...

    def all_in(self, lo: int, hi: int, /) -> bool:
        """True if all of ``[lo, hi]`` are members. May be False where that is costly to tell."""
        ...


@dataclass(frozen=True, slots=True)
class SteppedValues:
    """The values ``start + step·i`` for the indices i of a set below ``size``."""

    start: int
    step: int
    size: int
    indices: IndexSet

    def any_in(self, lo: int, hi: int, /) -> bool:
        """True if some value lies in ``[lo, hi]``. O(log spans)."""
        first = -((self.start - lo) // self.step)
        last = (hi - self.start) // self.step
        return first <= last and self.indices.any_in(first, last)

    def first_in(self, lo: int, hi: int, /) -> int | None:
        """The least value in ``[lo, hi]``, or None. O(log spans)."""
        first, last = max(-((self.start - lo) // self.step), 0), (hi - self.start) // self.step
        found = self.indices.first_in(first, last)
        return None if found is None else self.start + self.step * found

    def all_in(self, lo: int, hi: int, /) -> bool:
        """True if all of ``[lo, hi]`` are values. O(log spans)."""
        if self.step != 1 and lo != hi:
            return False
        first = -((self.start - lo) // self.step)
        last = (hi - self.start) // self.step
        spans = self.indices.spans
        at = bisect_right(spans, (first, self.size)) - 1
        return first <= last and at >= 0 and spans[at][1] >= last


class NumberState(NamedTuple):
    """Where a number stands. Immutable, hashable.

    Attributes:
        lead: tokens given out of what stands before the digits; meaningless once there are digits.
        negative: the sign is decided by the first digit.
        digits: digits of the full groups that are closed.
        group: tokens given out of the group that is open.
    """

    lead: tuple[int, ...] = ()
    negative: bool | None = None
    digits: str = ""
    group: tuple[int, ...] = ()


class Alike(NamedTuple):
    """Tokens behind which a number goes on alike, whatever digits follow.

    Attributes:
        lengths: how many digits may follow behind them; any digits may.
        tokens: those tokens.
    """

    lengths: frozenset[int]
    tokens: frozenset[int]


Leads = Mapping[bool, tuple[int, ...]]


class DigitWalk(ABC):
    """The tokens of the values of one range after one held tail."""

    def __init__(self, canonical: Canonical, leads: Leads) -> None:
        """``leads``: tokens before the first digit of values that are (True) or are not negative."""
        self._canonical = canonical
        self._leads = leads

    @property
    @abstractmethod
    def closing(self) -> Held:
        """What is held back behind a finished body."""

    def lengths(self, state: NumberState, values: Values) -> frozenset[int] | None:
        """How many digits may still follow, if any digits may, whatever they are; None if some may not.

        None also where a walk does not tell.
        """
        return None

    def alike(
        self, state: NumberState, values: Values, token: int, lengths: frozenset[int] | None
    ) -> Alike | None:
        """The tokens behind which a number goes on as behind ``token``, where any digits may follow then.

        None where some may not, and where a walk does not tell. ``lengths``: those of ``state``, if they are
        known.
        """
        return None

    def shorter(self, lengths: frozenset[int]) -> frozenset[int]:
        """The lengths behind one more digit."""
        raise NotImplementedError("this walk tells no lengths")

    def any_digit(self, lengths: frozenset[int]) -> frozenset[int]:
        """What ``allowed`` gives where so many digits may follow, whatever they are."""
        raise NotImplementedError("this walk tells no lengths")

    @abstractmethod
    def value(self, state: NumberState) -> int | None:
        """The code if the body may end in this state (its tokens are complete), else None."""

    @abstractmethod
    def shortest(self, state: NumberState, values: SteppedValues) -> Iterator[int]:
        """Of each length of texts the first value that goes on from a state."""

    def start(self) -> NumberState:
        """The state before the first token."""
        return NumberState()

    def allowed(self, state: NumberState, values: Values) -> AbstractSet[int]:
        """The tokens by which some value of ``values`` goes on; empty if the body can only end here."""
        if state.negative is not None:
            return self._next_tokens(state, values)
        out: set[int] = set()
        for negative, lead in self._leads.items():
            body = self._begun(state.lead, negative)
            if body is not None:
                out |= self._next_tokens(body, values)
            elif lead[: len(state.lead)] == state.lead and self._any_of_sign(negative, values):
                out.add(lead[len(state.lead)])
        return out

    def advance(self, state: NumberState, token: int) -> NumberState | None:
        """The state after a token, or None if no text goes on with it.

        A token of ``allowed`` never gives None. Asks no values: the digits are what the token spells.
        """
        if state.negative is not None:
            return self._advance_body(state, token)
        given = (*state.lead, token)
        if any(lead[: len(given)] == given for lead in self._leads.values()):
            return NumberState(given)
        for negative in self._leads:
            body = self._begun(state.lead, negative)
            after = None if body is None else self._advance_body(body, token)
            if after is not None:
                return after
        return None

    def rest(self, state: NumberState, value: int) -> tuple[int, ...] | None:
        """The tokens by which ``value`` goes on from a state, or None if the state is not on its way."""
        lead = self._leads.get(value < 0)
        if lead is None or state.negative not in (None, value < 0):
            return None
        negative = value < 0
        given = state.lead
        if state.negative is not None:
            given = (*lead, *self._split(state.digits, negative), *state.group)
        whole = (*lead, *self._split(self._body(abs(value)), negative))
        return whole[len(given) :] if whole[: len(given)] == given else None

    def _begun(self, lead: tuple[int, ...], negative: bool) -> NumberState | None:
        """The state of the body if the lead of this sign is written, else None.

        A token of the lead of one sign may be the first of the other's body: the space that joins digits.
        """
        own = self._leads[negative]
        rest = lead[len(own) :]
        if lead[: len(own)] != own or (rest and not self._joins_digits(rest)):
            return None
        return NumberState((), negative, "", rest)

    def _joins_digits(self, tokens: tuple[int, ...]) -> bool:
        """True if these tokens, no digits, may be the first of a run of digits."""
        return False

    @abstractmethod
    def _next_tokens(self, state: NumberState, values: Values) -> set[int]:
        """``allowed`` behind the lead."""

    @abstractmethod
    def _advance_body(self, state: NumberState, token: int) -> NumberState | None:
        """``advance`` behind the lead."""

    @abstractmethod
    def _any_of_sign(self, negative: bool, values: Values) -> bool:
        """True if some value has this sign."""

    @abstractmethod
    def _body(self, magnitude: int) -> str:
        """The text behind the lead of a value, signs apart."""

    @abstractmethod
    def _split(self, body: str, negative: bool) -> tuple[int, ...]:
        """The tokens of a body, or of its first closed pieces."""
