"""Numbers, dates and times where a run of digits is one pre-token, whose digits merge as they like (GPT-2).

As ``forms.py`` with pieces that are whole runs of digits, a space before the first run included where it
joins the digits. Within a run tokens follow each other as ``merged_digits.py`` tells; a token is allowed if
behind it some tokens spell the rest of a feasible value::

    reach(token, digits so far, rest of n digits)
        n = 0                             the value is feasible
        no value begins so                no
        all values do that begin so       some tokens of n digits may follow the token
        else                              reach of some token that may follow, with its digits

The digits are descended one by one, so that a beginning without a feasible value is left at once. What was
found out about a set of values is remembered as long as the same set is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from factorspec_sdk.fields.forms import Form, Piece
from factorspec_sdk.tokens.canonical import Canonical
from factorspec_sdk.tokens.digit_walk import Leads, NumberState, Values
from factorspec_sdk.tokens.forms import FormWalk

_DIGITS = "0123456789"
_MAX_KNOWN = 1 << 16


_Known = dict[tuple[str, int, bool, str, str], bool]


class _Run(NamedTuple):
    """A run of just ``length`` digits behind the closed pieces ``body``.

    ``known`` remembers, for one set of values, behind what some tokens spell the rest of a value.
    """

    body: str
    length: int
    negative: bool
    values: Values
    known: _Known


class MergedWalk(FormWalk):
    """The tokens of the texts of one form after one held tail, with merged digits."""

    def __init__(
        self, canonical: Canonical, leads: Leads, form: Form, longest: int, joined: Mapping[bool, str]
    ) -> None:
        """``longest``: characters of the longest body. ``joined``: for each sign, what stands before the
        first digit in its pre-token, a space or nothing.
        """
        # A group longer than any run, so that each piece is a whole run.
        super().__init__(canonical, leads, form, longest + 1)
        self._joined = joined
        self._digits = canonical.merged_digits
        self._asked: tuple[Values | None, _Known] = (None, {})

    def _split(self, body: str, negative: bool) -> tuple[int, ...]:
        return self._tokens(self._joined[negative] + body) if body else ()

    def _add_digits(
        self, out: set[int], piece: Piece, at: tuple[str, tuple[int, ...], bool], values: Values, group: str
    ) -> None:
        """Add the tokens that may come next in a run of digits that some value goes on with."""
        body, given, negative = at
        digits, last = self._spelled(given), self._text(given[-1:])
        if len(digits) <= piece.length:
            begun = "" if given or body else self._joined[negative]
            run = _Run(body, piece.length, negative, values, self._known_of(values))
            self._descend(last, begun, digits, run, out)

    def _known_of(self, values: Values) -> _Known:
        asked, known = self._asked
        if asked is not values or len(known) > _MAX_KNOWN:
            known = {}
            self._asked = (values, known)
        return known

    def _descend(self, last: str, begun: str, digits: str, run: _Run, out: set[int] | None) -> bool:
        """True if behind ``last`` some token that begins with ``begun`` goes on with some value.

        Puts all of them into ``out``; without it, the first one is enough. ``digits`` are those of the run so
        far, those in ``begun`` included; some value begins with them.
        """
        body, missing = run.body + digits, run.length - len(digits)
        if self._all(body, missing, run.negative, run.values):
            if out is None and not begun:
                return self._digits.goes_on(last, missing)
            firsts = self._digits.firsts(last, begun, missing)
            if out is not None:
                out |= firsts
            return bool(firsts)
        found = self._is_next(last, begun, digits, run, out)
        for digit in _DIGITS if missing else "":
            if found and out is None:
                break
            if self._digits.begins(begun + digit) and self._any(
                body + digit, run.negative, run.values, missing - 1, exact=True
            ):
                found |= self._descend(last, begun + digit, digits + digit, run, out)
        return found

    def _is_next(self, last: str, begun: str, digits: str, run: _Run, out: set[int] | None) -> bool:
        """True if ``begun`` is itself such a token; puts it into ``out``."""
        token = self._digits.ids.get(begun)
        if token is None:
            return False
        if out is not None and token in out:
            return True
        found = self._digits.follows(last, begun) and self._reaches(begun, digits, run)
        if found and out is not None:
            out.add(token)
        return found

    def _reaches(self, last: str, digits: str, run: _Run) -> bool:
        """True if behind the token ``last`` some tokens spell the rest of a value."""
        if len(digits) == run.length:
            return True
        key = (run.body, run.length, run.negative, last, digits)
        known = run.known.get(key)
        if known is None:
            known = run.known[key] = self._descend(last, "", digits, run, None)
        return known

    def _begins_digits(self, piece: Piece, state: NumberState) -> bool:
        texts = [self._text((token,)) for token in state.group]
        joined = "" if state.digits else self._joined[bool(state.negative)]
        word = "".join(texts)
        if not word.startswith(joined) or not self._is_digits(state.group):
            return False
        last = texts[-2] if len(texts) > 1 else ""
        return len(word) - len(joined) <= piece.length and self._digits.follows(last, texts[-1])

    def _piece_tokens(self, piece: str, state: NumberState) -> tuple[int, ...]:
        joined = "" if state.digits else self._joined[bool(state.negative)]
        return self._tokens(joined + piece)

    def _joins_digits(self, tokens: tuple[int, ...]) -> bool:
        return self._text(tokens) == self._joined.get(False) != ""

    def _is_digits(self, tokens: tuple[int, ...]) -> bool:
        digits = self._spelled(tokens)
        return not digits or (digits.isascii() and digits.isdigit())

    def _spelled(self, tokens: tuple[int, ...]) -> str:
        """What the tokens of a piece spell, without the space that joins the first digits."""
        return self._text(tokens).removeprefix(" ")

    def _text(self, tokens: tuple[int, ...]) -> str:
        return self._canonical.vocabulary.decode(tokens, errors="replace")
