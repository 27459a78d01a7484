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

from collections.abc import Iterator
from typing import NamedTuple

from factorspec_sdk.tokens.canonical import Canonical
from factorspec_sdk.tokens.digit_walk import DigitWalk, Leads, NumberState, SteppedValues, Values
from factorspec_sdk.tokens.held import NOTHING_HELD, Held


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


class NumberWalk(DigitWalk):
    """The tokens of the integers of one range after one held tail.

    Asks at most about ``10^g`` questions a call of ``allowed`` for digit groups of g, and few where values
    lie close. Without state of its own but a memo of the tokens of digit groups (at most 1,110 entries).
    """

    def __init__(self, canonical: Canonical, leads: Leads, size: int, longest: int) -> None:
        """``size``: digits of a full group; ``longest``: most digits of a value."""
        super().__init__(canonical, leads)
        self._size = size
        self._longest = longest
        self._groups: dict[str, tuple[int, ...]] = {}

    @property
    def closing(self) -> Held:
        """What is held back behind the last digit: nothing."""
        return NOTHING_HELD

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

    def _body(self, magnitude: int) -> str:
        return str(magnitude)

    def _split(self, body: str, negative: bool) -> tuple[int, ...]:
        """The tokens of a run of digits, grouped from the left."""
        groups = (body[at : at + self._size] for at in range(0, len(body), self._size))
        return tuple(token for group in groups for token in self._tokens(group))

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

    def _advance_body(self, state: NumberState, token: int) -> NumberState | None:
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


def digit_strings(longest: int) -> Iterator[str]:
    """All texts of at most so many digits, the empty one first."""
    yield ""
    for length in range(1, longest + 1):
        for number in range(10**length):
            yield f"{number:0{length}d}"
