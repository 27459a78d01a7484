"""Texts with a pattern or a format and bounds on their length: the lengths are counted, not spelled out."""

from __future__ import annotations

from functools import lru_cache

from factorspec_sdk.wire.languages.automaton import ANYTHING, Automaton
from factorspec_sdk.wire.languages.formats import OPEN_FORMATS, format_texts
from factorspec_sdk.wire.languages.lengths import Lengths, lengths_of
from factorspec_sdk.wire.languages.regex import search
from factorspec_sdk.wire.strings import FORMATS

#: the formats that may stand beside bounds
BOUNDED_FORMATS = OPEN_FORMATS | FORMATS.keys()


@lru_cache(maxsize=128)
def narrowed(pattern: str | None, name: str | None) -> Automaton:
    """The texts of a pattern and a format (one of ``BOUNDED_FORMATS``).

    Raises:
        PatternProblem: the pattern is not taken.
        TooManyStates: they are too large.
    """
    whole = ANYTHING if name is None else _of_format(name)
    return whole if pattern is None else search(pattern) if name is None else whole & search(pattern)


@lru_cache(maxsize=128)
def lengths_of_narrowed(pattern: str | None, name: str | None, most: int | None) -> Lengths:
    """The lengths of those texts up to ``most``. Raises also ``LengthsTooMany``."""
    return lengths_of(narrowed(pattern, name), most)


def _of_format(name: str) -> Automaton:
    if name in OPEN_FORMATS:
        return format_texts(name)
    pattern = FORMATS[name]["pattern"]
    assert isinstance(pattern, str)
    return search(pattern)
