"""Integers whose digits are tokens of their own (Qwen, SmolLM2): ``NumberWalk`` with few questions.

Which digits may follow the digits p? Of the numbers with j digits more after the next one, those that begin
with p are an interval, and the next digit changes every 10^j::

    p = 12, j = 1     12|0 0    12|0 9  12|1 0  ...  12|9 9      one look at the values marks a run of digits

So at most ten looks tell all digits for one j, and one tells them for an interval of values that covers it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Set as AbstractSet

from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.tokens.canonical import Canonical
from factorspec_sdk.tokens.digit_walk import Alike, Leads, NumberState, SteppedValues, Values
from factorspec_sdk.tokens.numbers import NumberWalk

_NO_DIGIT: frozenset[int] = frozenset()
_NO_MORE = frozenset((0,))
_ALL = (1 << 10) - 1
_BEYOND = 1 << 62


class SingleDigitWalk(NumberWalk):
    """The tokens of the integers of one range after one held tail, digit by digit."""

    def __init__(self, canonical: Canonical, leads: Leads, longest: int, digits: tuple[int, ...]) -> None:
        """``digits``: their tokens (``Canonical.digit_tokens``); ``longest``: most digits of a value."""
        super().__init__(canonical, leads, 1, longest)
        self._digit_tokens = digits
        self._digit_of = {token: str(digit) for digit, token in enumerate(digits)}
        self._any_digit = frozenset(digits)
        self._sets: dict[int, frozenset[int]] = {}
        self._shorter: dict[frozenset[int], frozenset[int]] = {}

    def allowed(self, state: NumberState, values: Values) -> AbstractSet[int]:
        """The tokens by which some value of ``values`` goes on; empty if the number can only end here."""
        if not _is_plain(values) or self._is_before_digits(state):
            return super().allowed(state, values)
        assert isinstance(values, SteppedValues)
        return self._tokens_of(self._following(self._written(state), values))

    def advance(self, state: NumberState, token: int) -> NumberState | None:
        """The state after a token, or None if no number goes on with it."""
        if token not in self._digit_of or self._is_before_digits(state):
            return super().advance(state, token)
        return NumberState((), False, self._written(state), (token,))

    def value(self, state: NumberState) -> int | None:
        """The number if it may end in this state, else None."""
        digits = self._written(state) if state.negative is not None else ""
        if not digits or (digits[0] == "0" and (len(digits) > 1 or state.negative)):
            return None
        return -int(digits) if state.negative else int(digits)

    def lengths(self, state: NumberState, values: Values) -> frozenset[int] | None:
        """How many digits may still follow, if any digits may, whatever they are; None if some may not."""
        digits = "" if state.negative is None else self._written(state)
        if not digits or state.negative or not _is_plain(values):
            return None
        assert isinstance(values, SteppedValues)
        found, low, size = [], int(digits), 1
        for more in range(self._longest - len(digits) + 1 if low else 1):
            holds = _holds(values, low, low + size - 1)
            if holds is None:
                return None
            if holds:
                found.append(more)
            low, size = low * 10, size * 10
        return frozenset(found)

    def alike(
        self, state: NumberState, values: Values, token: int, lengths: frozenset[int] | None
    ) -> Alike | None:
        """The tokens behind which a number goes on as behind ``token``, where any digits may follow then."""
        if lengths is not None:
            return Alike(self.shorter(lengths), self._any_digit)
        digit = self._digit_of.get(token)
        if digit is None or not _is_plain(values) or self._is_before_digits(state):
            return None
        assert isinstance(values, SteppedValues)
        written = self._written(state)
        if len(values.indices.spans) != 1 or written == "0":
            return None
        if not written and digit == "0":
            return Alike(_NO_MORE, frozenset((token,)))
        found = _alike(values, int(written or "0"), int(digit), self._longest - len(written))
        if found is None:
            return None
        lengths, digits = found
        return Alike(lengths, self._tokens_of(digits))

    def shorter(self, lengths: frozenset[int]) -> frozenset[int]:
        """The lengths behind one more digit."""
        known = self._shorter.get(lengths)
        if known is None:
            known = self._shorter[lengths] = frozenset(more - 1 for more in lengths if more)
        return known

    def any_digit(self, lengths: frozenset[int]) -> frozenset[int]:
        """All digits, or none if the number is written."""
        return self._any_digit if any(lengths) else _NO_DIGIT

    def _is_before_digits(self, state: NumberState) -> bool:
        """True where something else may come than a digit of a number that is not negative."""
        if state.negative is None:
            return len(self._leads) > 1 or self._leads.get(False) != state.lead
        return state.negative

    def _tokens_of(self, digits: int) -> frozenset[int]:
        """The tokens of some digits, given as bits."""
        known = self._sets.get(digits)
        if known is None:
            tokens = enumerate(self._digit_tokens)
            known = self._sets[digits] = frozenset(token for digit, token in tokens if digits >> digit & 1)
        return known

    def _written(self, state: NumberState) -> str:
        return state.digits + "".join(map(self._digit_of.__getitem__, state.group))

    def _following(self, digits: str, values: SteppedValues) -> int:
        """The digits that may follow, as bits."""
        found = 0
        if not digits:
            found, unit = int(values.any_in(0, 0)), 1
            for _ in range(self._longest):
                found |= _leading(values, unit, 10 * unit - 1, unit)
                unit *= 10
        elif digits != "0":
            low, unit = int(digits) * 10, 1
            for _ in range(self._longest - len(digits)):
                found |= _leading(values, low, low + 10 * unit - 1, unit)
                if found == _ALL:
                    break
                low, unit = low * 10, unit * 10
        return found


def _leading(values: SteppedValues, low: int, high: int, unit: int) -> int:
    """The digits at ``unit`` of the values in ``[low, high]``, as bits; above that digit all agree."""
    spans, start = values.indices.spans, values.start
    found = 0
    while low <= high:
        at = bisect_right(spans, (low - start, _BEYOND)) - 1
        if at < 0 or spans[at][1] < low - start:
            at += 1
            if at == len(spans):
                break
        first = max(low, spans[at][0] + start)
        if first > high:
            break
        last = min(high, spans[at][1] + start) // unit
        first //= unit
        found |= ((1 << (last - first + 1)) - 1) << first % 10
        low = (last + 1) * unit
    return found


def _alike(values: SteppedValues, written: int, digit: int, most: int) -> tuple[frozenset[int], int] | None:
    """How many digits may follow the digit, if any digits may; and the digits of which the same is true, as
    bits. None if some digits may not.

    Args:
        values: one interval.
        written: the digits before; 0: none, and the digit is none.
        digit: written next.
        most: digits that may be written, this one included.
    """
    (first, last), lengths, alike, unit = values.indices.spans[0], [], _ALL if written else _ALL - 1, 1
    low, high, begin = first + values.start, last + values.start, 10 * written
    for more in range(most):
        # With ``more`` digits behind it, the digit stands for ``unit`` numbers: blocks, counted from the one
        # of 0. Those from ``whole`` to ``behind`` (exclusive) lie in the interval, those below ``least`` or
        # above ``greatest`` outside.
        least, greatest = low // unit - begin, high // unit - begin
        whole, behind = -(-low // unit) - begin, (high + 1) // unit - begin
        if whole <= digit < behind:
            lengths.append(more)
            alike &= _bits(whole, behind - 1)
        elif digit < least or digit > greatest:
            alike &= ~_bits(least, greatest)
        else:
            return None
        unit *= 10
    return frozenset(lengths), alike


def _bits(first: int, last: int) -> int:
    """The digits from ``first`` to ``last`` as bits."""
    first, last = max(first, 0), min(last, 9)
    return ((1 << (last - first + 1)) - 1) << first if first <= last else 0


def _holds(values: SteppedValues, low: int, high: int) -> bool | None:
    """True if all of ``[low, high]`` are values, False if none is; None: some are."""
    spans = values.indices.spans
    low, high = low - values.start, high - values.start
    at = bisect_right(spans, (low, _BEYOND)) - 1
    if at >= 0 and spans[at][1] >= low:
        return True if spans[at][1] >= high else None
    at += 1
    return None if at < len(spans) and spans[at][0] <= high else False


def _is_plain(values: Values) -> bool:
    """True if the values are intervals at hand."""
    return isinstance(values, SteppedValues) and values.step == 1 and type(values.indices) is IndexSet
