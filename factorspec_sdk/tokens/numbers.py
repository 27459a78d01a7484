"""Integers over wide ranges, token by token, without listing their values.

Plain version: one candidate for each value. A range of ten million values is too wide for that, so the
digits are walked instead, asking the set of feasible values only "is any of you in [a, b]?":

    up to j digits may follow the digits p  ⇔  a feasible value in [p·10^i, p·10^i + 10^i - 1], some i ≤ j

How digits become tokens is the tokenizer's *digit rule*. Supported are those where numbers are pre-tokens of
at most g digits, counted from the left (g = 1: SmolLM2, Qwen, Llama 2, Gemma; g = 3: Llama 3, gpt-oss), so
that the tokens of a group do not depend on what stands beside it::

    -1234567    g = 3    lead tokens (white space, '-')  |  123  |  456  |  7
                                                            full groups     a shorter group is the last

A full group may be followed by more; a shorter one ends the number. Each group is one token, or several that
BPE makes of its digits. The text before the digits (held tail, sign) has its tokens fixed by the fact that a
digit follows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.tokens.canonical import Canonical
from factorspec_sdk.tokens.held import NOTHING_HELD, Held

_MAX_GROUP = 3


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


class _Question(NamedTuple):
    """What is asked of the values: those of one sign that begin with ``digits`` and then a group's digits.

    ``given`` are the tokens of that group that are written already.
    """

    negative: bool
    digits: str
    given: tuple[int, ...]
    values: Values

    def any_with(self, digits: str, missing: int, longer: int) -> bool:
        """True if some value is ``digits`` and ``missing`` to ``missing + longer`` more digits."""
        if digits[0] == "0":
            return digits == "0" and not missing and not self.negative and self.values.any_in(0, 0)
        low = int(digits) * 10**missing
        high = low + 10**missing - 1
        for _ in range(max(longer, 0) + 1):
            if self.values.any_in(-high, -low) if self.negative else self.values.any_in(low, high):
                return True
            low, high = low * 10, high * 10 + 9
        return False

    def all_with(self, digits: str, missing: int) -> bool:
        """True if all numbers of ``digits`` and ``missing`` more digits are values."""
        low = int(digits) * 10**missing
        high = low + 10**missing - 1
        return self.values.all_in(-high, -low) if self.negative else self.values.all_in(low, high)


class NumberWalk:
    """The tokens of the integers of one range after one held tail.

    Without state of its own but a memo of the tokens of digit groups (at most 1,110 entries).
    """

    def __init__(self, canonical: Canonical, held: Held, lo: int, hi: int) -> None:
        """The walk for values in ``[lo, hi]``; ``supports_numbers(canonical)`` must hold."""
        size = group_size(canonical)
        assert size is not None, "check supports_numbers first"
        self._canonical = canonical
        self._size = size
        self._longest = len(str(max(abs(lo), abs(hi))))
        self._leads: dict[bool, tuple[int, ...]] = {}
        if hi >= 0:
            self._leads[False] = self._lead(held, "")
        if lo < 0:
            self._leads[True] = self._lead(held, "-")
        self._groups: dict[str, tuple[int, ...]] = {}

    @property
    def closing(self) -> Held:
        """What is held back behind the last digit: nothing."""
        return NOTHING_HELD

    def start(self) -> NumberState:
        """The state before the first token."""
        return NumberState()

    def allowed(self, state: NumberState, values: Values) -> set[int]:
        """The tokens by which some value of ``values`` goes on; empty if the number can only end here.

        At most about ``10^g`` questions a call for digit groups of g, and few where values lie close.
        """
        if state.negative is not None:
            return self._next_tokens(state, values)
        out: set[int] = set()
        for negative, lead in self._leads.items():
            if lead[: len(state.lead)] != state.lead:
                continue
            if len(lead) == len(state.lead):
                out |= self._next_tokens(NumberState((), negative), values)
            elif self._any_of_sign(negative, values):
                out.add(lead[len(state.lead)])
        return out

    def advance(self, state: NumberState, token: int) -> NumberState | None:
        """The state after a token, or None if no number goes on with it.

        A token of ``allowed`` never gives None. Asks no values: the digits are what the token spells.
        """
        if state.negative is not None:
            return self._advance_digits(state, token)
        given = (*state.lead, token)
        if any(lead[: len(given)] == given for lead in self._leads.values()):
            return NumberState(given)
        for negative, lead in self._leads.items():
            if lead == state.lead:
                after = self._advance_digits(NumberState((), negative), token)
                if after is not None:
                    return after
        return None

    def value(self, state: NumberState) -> int | None:
        """The number if it may end in this state (its tokens are complete), else None."""
        if state.negative is None:
            return None
        digits = state.digits
        if state.group:
            open_digits = self._spelled(state.group)
            if open_digits is None or self._tokens(open_digits) != state.group:
                return None
            digits += open_digits
        if not digits or (digits[0] == "0" and (len(digits) > 1 or state.negative)):
            return None
        return -int(digits) if state.negative else int(digits)

    def rest(self, state: NumberState, value: int) -> tuple[int, ...] | None:
        """The tokens by which ``value`` goes on from a state, or None if the state is not on its way."""
        lead = self._leads.get(value < 0)
        if lead is None or state.negative not in (None, value < 0):
            return None
        given = state.lead if state.negative is None else lead + self._grouped(state.digits) + state.group
        whole = lead + self._grouped(str(abs(value)))
        return whole[len(given) :] if whole[: len(given)] == given else None

    def shortest(self, state: NumberState, values: SteppedValues) -> Iterator[int]:
        """Of each number of digits the first value that goes on from a state."""
        open_digits = self._spelled(state.group) if state.group else ""
        prefix = state.digits + (open_digits or "")
        for negative in self._leads if state.negative is None else (state.negative,):
            low = int(prefix or "0")
            high = low if prefix else 9
            for _ in range(self._longest - len(prefix) + 1):
                found = values.first_in(-high, -low) if negative else values.first_in(low, high)
                if found is not None:
                    yield found
                low, high = (low * 10 if low else high + 1), high * 10 + 9

    def _grouped(self, digits: str) -> tuple[int, ...]:
        """The tokens of a run of digits, grouped from the left."""
        groups = (digits[at : at + self._size] for at in range(0, len(digits), self._size))
        return tuple(token for group in groups for token in self._tokens(group))

    def _lead(self, held: Held, sign: str) -> tuple[int, ...]:
        """Tokens of the held tail and the sign, given that a digit follows."""
        before = held.text + sign
        whole = self._canonical.encode_piece(before + "1")
        return whole[held.emitted : len(whole) - len(self._canonical.encode_piece("1"))]

    def _next_tokens(self, state: NumberState, values: Values) -> set[int]:
        """Next tokens of the open group, and first tokens of the group after it."""
        out: set[int] = set()
        question = _Question(bool(state.negative), state.digits, state.group, values)
        for length in range(1, self._size + 1):
            self._add_groups(out, question, "", length)
        closed = self._closed_digits(state) if state.group else None
        if closed is not None:
            question = _Question(bool(state.negative), closed, (), values)
            for length in range(1, self._size + 1):
                self._add_groups(out, question, "", length)
        return out

    def _closed_digits(self, state: NumberState) -> str | None:
        """All digits if the open group is full and complete, so that another group may follow."""
        spelled = self._spelled(state.group)
        if spelled is None or len(spelled) != self._size or self._tokens(spelled) != state.group:
            return None
        return state.digits + spelled

    def _add_groups(self, out: set[int], question: _Question, group: str, length: int) -> None:
        """Add the next token of each group of ``length`` digits that begins with ``group`` and is feasible.

        Descends digit by digit; leaves a digit out as soon as no feasible value begins so, and stops as soon
        as all do. What the given tokens spell is on the way to every group that begins with them.
        """
        given, digits = question.given, question.digits + group
        missing = length - len(group)
        if not missing:
            tokens = self._tokens(group)
            if len(tokens) > len(given) and tokens[: len(given)] == given:
                out.add(tokens[len(given)])
            return
        if digits and digits[0] != "0" and not given and question.all_with(digits, missing):
            out |= self._first_tokens(group, length)
            return
        spelled = self._spelled(given) or ""
        # Only a full group may be followed by more digits.
        longer = self._longest - len(question.digits) - length if length == self._size else 0
        for digit in "0123456789" if len(group) >= len(spelled) else spelled[len(group)]:
            if question.any_with(digits + digit, missing - 1, longer):
                self._add_groups(out, question, group + digit, length)

    def _first_tokens(self, group: str, length: int) -> frozenset[int]:
        """First tokens of all groups of ``length`` digits that begin with ``group``."""
        memo = self._canonical.digit_groups
        known = memo.get((group, length))
        if known is None:
            missing = length - len(group)
            groups = [f"{group}{number:0{missing}d}" for number in range(10**missing)]
            known = memo[group, length] = frozenset(self._tokens(each)[0] for each in groups)
        return known

    def _any_of_sign(self, negative: bool, values: Values) -> bool:
        return values.any_in(-(10**self._longest), -1) if negative else values.any_in(0, 10**self._longest)

    def _advance_digits(self, state: NumberState, token: int) -> NumberState | None:
        given = (*state.group, token)
        spelled = self._spelled(given)
        if spelled is not None and self._begins_group(given, spelled):
            return NumberState((), state.negative, state.digits, given)
        closed = self._closed_digits(state) if state.group else None
        if closed is None or not self._begins_group((token,), self._spelled((token,))):
            return None
        return NumberState((), state.negative, closed, (token,))

    def _begins_group(self, given: tuple[int, ...], spelled: str | None) -> bool:
        """True if the tokens of some group begin with ``given``."""
        if not spelled or len(spelled) > self._size:
            return False
        endings = digit_strings(self._size - len(spelled))
        return any(self._tokens(spelled + ending)[: len(given)] == given for ending in endings)

    def _spelled(self, tokens: tuple[int, ...]) -> str | None:
        """The digits of some tokens, or None if they spell anything else."""
        text = self._canonical.vocabulary.decode_bytes(tokens).decode("ascii", "replace")
        return text if not text or (text.isascii() and text.isdigit()) else None

    def _tokens(self, group: str) -> tuple[int, ...]:
        known = self._groups.get(group)
        if known is None:
            known = self._groups[group] = self._canonical.encode_piece(group)
        return known


def group_size(canonical: Canonical) -> int | None:
    """Digits of a full group, or None where the digit rule is not one of those supported."""
    size = canonical.cuts.num_digits
    return None if size is None or size > _MAX_GROUP else size


def supports_numbers(canonical: Canonical) -> bool:
    """True if integers can be walked digit by digit; else every value must be a candidate."""
    return group_size(canonical) is not None


def digit_strings(longest: int) -> Iterator[str]:
    """All texts of at most so many digits, the empty one first."""
    yield ""
    for length in range(1, longest + 1):
        for number in range(10**length):
            yield f"{number:0{length}d}"
