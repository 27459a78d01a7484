"""Texts of a form over wide domains, token by token, without listing their values.

As ``numbers.py`` does it for integers, with other pieces between the digits: a point, dashes, colons. Each
piece (a group of digits, the characters between two runs of digits) is a pre-token by itself under the digit
rules that are supported, so its tokens do not depend on what stands beside it (``walks.py`` tries it).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from factorspec_sdk.fields.forms import Form, Piece
from factorspec_sdk.tokens.canonical import Canonical
from factorspec_sdk.tokens.digit_walk import DigitWalk, Leads, NumberState, SteppedValues, Values
from factorspec_sdk.tokens.held import NOTHING_HELD, Held
from factorspec_sdk.tokens.numbers import digit_strings

_MAX_KNOWN = 1 << 12
_RUNS = re.compile(r"[0-9]+|[^0-9]+")


class FormWalk(DigitWalk):
    """The tokens of the texts of one form after one held tail.

    A state's ``digits`` are the closed pieces of the body, its ``group`` the tokens of the open piece.
    """

    def __init__(self, canonical: Canonical, leads: Leads, form: Form, size: int) -> None:
        """``size``: digits of a full group."""
        super().__init__(canonical, leads)
        self._form, self._size = form, size
        self._known: dict[str, tuple[int, ...]] = {}

    @property
    def closing(self) -> Held:
        return Held(self._form.closing, 0) if self._form.closing else NOTHING_HELD

    def value(self, state: NumberState) -> int | None:
        """The code if the body may end in this state, else None."""
        body = self._closed(state) if state.group else state.digits
        found = None if body is None or state.negative is None else self._form.magnitude(body)
        if found is None or (state.negative and not found):
            return None
        return -found if state.negative else found

    def shortest(self, state: NumberState, values: SteppedValues) -> Iterator[int]:
        """Of each length of texts the first value that goes on from a state."""
        prefix = state.digits + self._spelled(state.group)
        for negative in self._leads if state.negative is None else (state.negative,):
            for lo, hi in self._form.spans(prefix):
                found = values.first_in(-hi, -max(lo, 1)) if negative else values.first_in(lo, hi)
                if found is not None:
                    yield found

    def _any_of_sign(self, negative: bool, values: Values) -> bool:
        return self._any("", negative, values)

    def _body(self, magnitude: int) -> str:
        return self._form.body(magnitude)

    def _split(self, body: str, negative: bool) -> tuple[int, ...]:
        return tuple(chain.from_iterable(map(self._tokens, pieces_of(body, self._size))))

    def _any(
        self, body: str, negative: bool, values: Values, missing: int = 0, *, exact: bool = False
    ) -> bool:
        spans = self._form.spans(body, missing, exact=exact)
        if negative:
            return any(values.any_in(-hi, -max(lo, 1)) for lo, hi in spans)
        return any(values.any_in(lo, hi) for lo, hi in spans)

    def _all(self, body: str, missing: int, negative: bool, values: Values) -> bool:
        block = self._form.block(body, missing)
        # No text is a negative zero.
        if block is None or (negative and block[0] == 0):
            return False
        return values.all_in(-block[1], -block[0]) if negative else values.all_in(*block)

    def _next_tokens(self, state: NumberState, values: Values) -> set[int]:
        out: set[int] = set()
        for body, given in self._places(state):
            # Long runs first: what they bring needs no look for shorter ones.
            for piece in reversed(self._form.pieces(body, self._size)):
                self._add(out, piece, (body, given, bool(state.negative)), values)
        return out

    def _places(self, state: NumberState) -> Iterable[tuple[str, tuple[int, ...]]]:
        """(closed body, tokens of the open piece): as it stands, and with the open piece closed."""
        closed = self._closed(state) if state.group else None
        return (
            [(state.digits, state.group)] if closed is None else [(state.digits, state.group), (closed, ())]
        )

    def _add(
        self, out: set[int], piece: Piece, at: tuple[str, tuple[int, ...], bool], values: Values
    ) -> None:
        """Add the next token of each text of a piece that some value goes on with."""
        body, given, negative = at
        if piece.text:
            tokens = self._tokens(piece.text)
            if len(tokens) > len(given) == _common(tokens, given) and self._any(
                body + piece.text, negative, values
            ):
                out.add(tokens[len(given)])
        elif not given or self._is_digits(given):
            self._add_digits(out, piece, at, values, "")

    def _add_digits(
        self,
        out: set[int],
        piece: Piece,
        at: tuple[str, tuple[int, ...], bool],
        values: Values,
        group: str,
    ) -> None:
        """Descend digit by digit; leave a digit out as soon as no value begins so."""
        body, given, negative = at
        missing = piece.length - len(group)
        if not missing:
            tokens = self._tokens(group)
            fits = len(tokens) > len(given) == _common(tokens, given)
            if fits and self._any(body + group, negative, values, exact=piece.exact):
                out.add(tokens[len(given)])
            return
        if not given and self._all(body + group, missing, negative, values):
            out |= self._first_tokens(group, piece.length)
            return
        spelled = self._spelled(given)
        for digit in "0123456789" if len(group) >= len(spelled) else spelled[len(group)]:
            if self._any(body + group + digit, negative, values, missing - 1, exact=piece.exact):
                self._add_digits(out, piece, at, values, group + digit)

    def _first_tokens(self, group: str, length: int) -> frozenset[int]:
        """First tokens of all groups of ``length`` digits that begin with ``group``."""
        memo = self._canonical.digit_groups
        known = memo.get((group, length))
        if known is None:
            missing = length - len(group)
            groups = (f"{group}{number:0{missing}d}" for number in range(10**missing))
            known = memo[group, length] = frozenset(self._tokens(each)[0] for each in groups)
        return known

    def _closed(self, state: NumberState) -> str | None:
        """The body with the open piece in it, if that is complete."""
        spelled = self._spelled(state.group)
        for piece in self._form.pieces(state.digits, self._size):
            whole = spelled == piece.text if piece.text else len(spelled) == piece.length
            if whole and self._piece_tokens(spelled, state) == state.group:
                return state.digits + spelled
        return None

    def _piece_tokens(self, piece: str, state: NumberState) -> tuple[int, ...]:
        """The tokens of the open piece."""
        return self._tokens(piece)

    def _advance_body(self, state: NumberState, token: int) -> NumberState | None:
        for body, given in self._places(state):
            group = (*given, token)
            after = NumberState((), state.negative, body, group)
            if any(self._begins(piece, after) for piece in self._form.pieces(body, self._size)):
                return after
        return None

    def _begins(self, piece: Piece, state: NumberState) -> bool:
        """True if the tokens of some text of a piece begin with those of the open piece."""
        if piece.text:
            return self._tokens(piece.text)[: len(state.group)] == state.group
        return self._begins_digits(piece, state)

    def _begins_digits(self, piece: Piece, state: NumberState) -> bool:
        given = state.group
        spelled = self._spelled(given)
        if not spelled.isdigit() or len(spelled) > piece.length:
            return False
        missing = piece.length - len(spelled)
        endings = (ending for ending in digit_strings(missing) if len(ending) == missing)
        return any(self._tokens(spelled + ending)[: len(given)] == given for ending in endings)

    def _is_digits(self, tokens: tuple[int, ...]) -> bool:
        return self._spelled(tokens).isdigit()

    def _spelled(self, tokens: tuple[int, ...]) -> str:
        return self._canonical.vocabulary.decode_bytes(tokens).decode("ascii", "replace")

    def _tokens(self, text: str) -> tuple[int, ...]:
        known = self._known.get(text)
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = self._known[text] = self._canonical.encode_piece(text)
        return known


def pieces_of(body: str, group: int) -> list[str]:
    """A body in pieces: runs of digits in groups counted from the left, and what stands between them."""
    found = []
    for run in _RUNS.findall(body):
        step = group if run[0].isdigit() else len(run)
        found += [run[at : at + step] for at in range(0, len(run), step)]
    return found


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the common beginning."""
    return next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
