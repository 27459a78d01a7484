"""Texts of a form over wide domains, token by token, without listing their values.

As ``numbers.py`` does it for integers, with other pieces between the digits: a point, dashes, colons. Each
piece (a group of digits, the characters between two runs of digits) is a pre-token by itself under the digit
rules that are supported, so its tokens do not depend on what stands beside it; ``supports_form`` tries it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from factorspec_sdk.fields.forms import Form, Piece
from factorspec_sdk.tokens.canonical import Canonical
from factorspec_sdk.tokens.held import NOTHING_HELD, Held
from factorspec_sdk.tokens.numbers import NumberState, SteppedValues, Values, digit_strings, group_size

_RUNS = re.compile(r"[0-9]+|[^0-9]+")


class FormWalk:
    """The tokens of the texts of one form after one held tail.

    A state's ``digits`` are the closed pieces of the body, its ``group`` the tokens of the open piece.
    """

    def __init__(self, canonical: Canonical, held: Held, form: Form, lo: int, hi: int) -> None:
        """The walk for codes in ``[lo, hi]``; ``supports_form`` must hold."""
        size = group_size(canonical)
        assert size is not None, "check supports_form first"
        self._canonical, self._form, self._size = canonical, form, size
        self._leads: dict[bool, tuple[int, ...]] = {}
        if hi >= 0:
            self._leads[False] = self._lead(held, form.opening)
        if lo < 0:
            self._leads[True] = self._lead(held, form.opening + "-")
        self._known: dict[str, tuple[int, ...]] = {}

    @property
    def closing(self) -> Held:
        """What is held back behind a finished body."""
        return Held(self._form.closing, 0) if self._form.closing else NOTHING_HELD

    def start(self) -> NumberState:
        """The state before the first token."""
        return NumberState()

    def allowed(self, state: NumberState, values: Values) -> set[int]:
        """The tokens by which some value of ``values`` goes on; empty if the body can only end here."""
        if state.negative is not None:
            return self._next_tokens(state, values)
        out: set[int] = set()
        for negative, lead in self._leads.items():
            if lead[: len(state.lead)] != state.lead:
                continue
            if len(lead) == len(state.lead):
                out |= self._next_tokens(NumberState((), negative), values)
            elif self._any("", negative, values):
                out.add(lead[len(state.lead)])
        return out

    def advance(self, state: NumberState, token: int) -> NumberState | None:
        """The state after a token, or None if no text goes on with it. Asks no values."""
        if state.negative is not None:
            return self._advance_body(state, token)
        given = (*state.lead, token)
        if any(lead[: len(given)] == given for lead in self._leads.values()):
            return NumberState(given)
        for negative, lead in self._leads.items():
            if lead == state.lead:
                after = self._advance_body(NumberState((), negative), token)
                if after is not None:
                    return after
        return None

    def value(self, state: NumberState) -> int | None:
        """The code if the body may end in this state, else None."""
        body = self._closed(state) if state.group else state.digits
        found = None if body is None or state.negative is None else self._form.magnitude(body)
        if found is None or (state.negative and not found):
            return None
        return -found if state.negative else found

    def rest(self, state: NumberState, value: int) -> tuple[int, ...] | None:
        """The tokens by which ``value`` goes on from a state, or None if the state is not on its way."""
        lead = self._leads.get(value < 0)
        if lead is None or state.negative not in (None, value < 0):
            return None
        given = state.lead if state.negative is None else (*lead, *self._split(state.digits), *state.group)
        whole = (*lead, *self._split(self._form.body(abs(value))))
        return whole[len(given) :] if whole[: len(given)] == given else None

    def shortest(self, state: NumberState, values: SteppedValues) -> Iterator[int]:
        """Of each length of texts the first value that goes on from a state."""
        prefix = state.digits + self._spelled(state.group)
        for negative in self._leads if state.negative is None else (state.negative,):
            for lo, hi in self._form.spans(prefix):
                found = values.first_in(-hi, -max(lo, 1)) if negative else values.first_in(lo, hi)
                if found is not None:
                    yield found

    def _lead(self, held: Held, opening: str) -> tuple[int, ...]:
        """Tokens of the held tail and of what stands before the first digit."""
        whole = self._canonical.encode_piece(held.text + opening + "1")
        return whole[held.emitted : len(whole) - len(self._canonical.encode_piece("1"))]

    def _any(
        self, body: str, negative: bool, values: Values, missing: int = 0, *, exact: bool = False
    ) -> bool:
        spans = self._form.spans(body, missing, exact=exact)
        if negative:
            return any(values.any_in(-hi, -max(lo, 1)) for lo, hi in spans)
        return any(values.any_in(lo, hi) for lo, hi in spans)

    def _all(self, body: str, missing: int, negative: bool, values: Values) -> bool:
        block = self._form.block(body, missing)
        if block is None:
            return False
        return values.all_in(-block[1], -block[0]) if negative else values.all_in(*block)

    def _next_tokens(self, state: NumberState, values: Values) -> set[int]:
        out: set[int] = set()
        for body, given in self._places(state):
            for piece in self._form.pieces(body, self._size):
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
        elif not given or self._spelled(given).isdigit():
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
            if whole and self._tokens(spelled) == state.group:
                return state.digits + spelled
        return None

    def _advance_body(self, state: NumberState, token: int) -> NumberState | None:
        for body, given in self._places(state):
            group = (*given, token)
            if any(self._begins(piece, group) for piece in self._form.pieces(body, self._size)):
                return NumberState((), state.negative, body, group)
        return None

    def _begins(self, piece: Piece, given: tuple[int, ...]) -> bool:
        """True if the tokens of some text of a piece begin with ``given``."""
        if piece.text:
            return self._tokens(piece.text)[: len(given)] == given
        spelled = self._spelled(given)
        if not spelled.isdigit() or len(spelled) > piece.length:
            return False
        missing = piece.length - len(spelled)
        endings = (ending for ending in digit_strings(missing) if len(ending) == missing)
        return any(self._tokens(spelled + ending)[: len(given)] == given for ending in endings)

    def _split(self, body: str) -> tuple[int, ...]:
        return tuple(chain.from_iterable(map(self._tokens, pieces_of(body, self._size))))

    def _spelled(self, tokens: tuple[int, ...]) -> str:
        return self._canonical.vocabulary.decode_bytes(tokens).decode("ascii", "replace")

    def _tokens(self, text: str) -> tuple[int, ...]:
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._canonical.encode_piece(text)
        return known


def pieces_of(body: str, group: int) -> list[str]:
    """A body in pieces: runs of digits in groups counted from the left, and what stands between them."""
    found = []
    for run in _RUNS.findall(body):
        step = group if run[0].isdigit() else len(run)
        found += [run[at : at + step] for at in range(0, len(run), step)]
    return found


def supports_form(canonical: Canonical, form: Form, codes: Sequence[int]) -> bool:
    """True if texts of a form can be walked: the tokens of some of them are those of their pieces."""
    size = group_size(canonical)
    if size is None:
        return False
    for code in codes:
        opening = f"{form.opening}-" if code < 0 else form.opening
        pieces = [opening, *pieces_of(form.body(abs(code)), size), f"{form.closing},"]
        parts = [canonical.encode_piece(piece) for piece in pieces if piece]
        if tuple(chain.from_iterable(parts)) != canonical.vocabulary.encode_inside("".join(pieces)):
            return False
    return True


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the common beginning."""
    return next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
