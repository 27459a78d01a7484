"""Problems of a document, collected so that all are reported at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice

from factorspec_sdk.errors import DocumentError, EmptyDomain, Problem, UnsupportedKeyword, shown
from factorspec_sdk.wire.limits import Limits

_NOTHING = object()
#: spelling hints compare with so many names, for so many problems
_MAX_KNOWN = 300
_MAX_HINTS = 25


def pointer(base: str, *steps: str | int) -> str:
    """JSON pointer (RFC 6901) of a member below ``base``."""
    for step in steps:
        name = str(step)
        if "~" in name or "/" in name:
            name = name.replace("~", "~0").replace("/", "~1")
        base = f"{base}/{name}"
    return base


class Problems:
    """What is wrong with one document so far."""

    def __init__(self, limits: Limits) -> None:
        self._limit = limits.problems
        self._found: dict[tuple[str, str], Problem] = {}
        self._unsupported = False
        self._empty: list[Problem] = []
        self._more = 0

    def __len__(self) -> int:
        return len(self._found) + self._more

    def did_you_mean(self, name: str, known: Iterable[str]) -> str | None:
        """A hint that names the closest known spelling, or lists what is known.

        O(known), and nothing once enough problems are listed.
        """
        names = sorted(islice(known, _MAX_KNOWN)) if len(self._found) < _MAX_HINTS else []
        close = difflib.get_close_matches(name[:100], names, n=1)
        if close:
            return f"did you mean {close[0]!r}?"
        if not names:
            return None
        listed = ", ".join(repr(n) for n in names[:12])
        return f"known: {listed}{', …' if len(names) > 12 else ''}"

    def add(self, place: str, message: str, value: object = _NOTHING, hint: str | None = None) -> None:
        """Note something that is not well formed."""
        if (place, message) in self._found:
            return
        if len(self._found) >= self._limit:
            self._more += 1
            return
        text = None if value is _NOTHING else shown(value)
        self._found[place, message] = Problem(place, message, text, hint)

    def refuse(self, place: str, message: str, value: object = _NOTHING, hint: str | None = None) -> None:
        """Note something well formed that cannot be enforced exactly."""
        self._unsupported = True
        self.add(place, message, value, hint)

    def empty(self, place: str, message: str, value: object = _NOTHING) -> None:
        """Note a value or list that nothing satisfies."""
        self._empty.append(Problem(place, message, None if value is _NOTHING else shown(value)))

    def raise_if_any(self) -> None:
        """Raise what was found.

        Raises:
            UnsupportedKeyword: something cannot be enforced.
            DocumentError: something is not well formed.
            EmptyDomain: nothing else is wrong, but a slot has no value.
        """
        if self._found:
            kind = UnsupportedKeyword if self._unsupported else DocumentError
            message = "the document asks for what is not supported" if self._unsupported else "bad document"
            raise kind(message, self._listed())
        if self._empty:
            raise EmptyDomain("no record can satisfy the schema", self._empty[: self._limit])

    def _listed(self) -> list[Problem]:
        listed = list(self._found.values())
        return [*listed, Problem("", f"and {self._more} more problems")] if self._more else listed
