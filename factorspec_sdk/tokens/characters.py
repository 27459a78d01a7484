"""Character classes as the tokenizer itself sees them.

Python's Unicode tables need not be the tokenizer's, so a guess from ``unicodedata`` is confirmed by one split
of the tokenizer the first time a character is met; a character that cannot be confirmed has no class, and
nothing is assumed beside it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from factorspec_sdk.tokens.families import (
    IDEOGRAPH,
    IDEOGRAPHIC_SYMBOL,
    LETTER_WITHOUT_CASE,
    MARK,
    OTHER,
    SYMBOL,
    UNKNOWN,
    Family,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CharacterClass = Literal[
    "letter", "number", "space", "mark", "rest", "ideograph", "ideographic symbol", "other", "unknown"
]

# The Unicode property White_Space, outside ASCII.
_WIDE_SPACES = frozenset(
    "\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
)
_ASCII_SPACES = frozenset(" \t\n\r\f\v")
_NAMED: Mapping[str, CharacterClass] = {
    UNKNOWN: "unknown",
    MARK: "mark",
    LETTER_WITHOUT_CASE: "letter",
    IDEOGRAPH: "ideograph",
    IDEOGRAPHIC_SYMBOL: "ideographic symbol",
    OTHER: "other",
}
_LONG_S = "\u017f"
_PROBE = "a{c}a{c}{c}1{c}1 {c}!{c}! {c}{c} !\n{c}\n'{c}'{c}{c}B{c}Bb  {c}  1"


class StandIns(dict[int, str]):
    """A table for ``str.translate`` from each character to its ASCII stand-in, filled as they are met."""

    def __init__(self, family: Family, tokenizer: Tokenizer) -> None:
        super().__init__()
        self._family = family
        self._pre_tokenizer = tokenizer.pre_tokenizer

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character.isascii():
            control = OTHER if self._family.tells_symbols else "!"
            stand_in = character if character.isprintable() or character in _ASCII_SPACES else control
        else:
            stand_in = next((s for s in self._guesses(character) if self._confirmed(character, s)), UNKNOWN)
        self[code] = stand_in
        return stand_in

    def class_of(self, character: str) -> CharacterClass:
        """The class of one character."""
        stand_in = self[ord(character)]
        named = _NAMED.get(stand_in)
        if named is not None:
            return named
        if stand_in.isalpha():
            return "letter"
        if stand_in.isdigit():
            return "number"
        return "space" if stand_in in _ASCII_SPACES else "rest"

    def _guesses(self, character: str) -> tuple[str, ...]:
        category = unicodedata.category(character)
        if self._family.tells_symbols:
            return _told_apart(character, category)
        guesses: tuple[str, ...]
        if character == _LONG_S:
            guesses = ("s", "x")
        elif category in ("Lu", "Lt"):
            guesses = ("X", "x")
        elif category in ("Lm", "Lo"):
            guesses = (LETTER_WITHOUT_CASE,)
        elif category[0] == "L":
            guesses = ("x",)
        elif category[0] == "N":
            guesses = ("0",)
        elif character in _WIDE_SPACES:
            guesses = ("\t",)
        elif category[0] == "M" and self._family.marks_join_words:
            guesses = (MARK,)
        else:
            guesses = ("!",)
        return (*guesses, "!", "x")

    def _confirmed(self, character: str, stand_in: str) -> bool:
        """True if the tokenizer splits a probe with the character like the family with the stand-in."""
        if "\ud800" <= character <= "\udfff" or self._pre_tokenizer is None:
            return False
        pieces = self._pre_tokenizer.pre_tokenize_str(_PROBE.format(c=character))
        ends = [offsets[1] for _, offsets in pieces]
        return ends == split_ends(self._family.split, _PROBE.format(c=stand_in))


def _told_apart(character: str, category: str) -> tuple[str, ...]:
    """The likely stand-in in a family that tells symbols from other characters."""
    if "\u3040" <= character <= "\u30ff" or "\u4e00" <= character <= "\u9fa5":
        kinds = {"L": IDEOGRAPH, "M": IDEOGRAPH, "P": IDEOGRAPHIC_SYMBOL, "S": IDEOGRAPHIC_SYMBOL}
        return (kinds.get(category[0], UNKNOWN),)
    if character in _WIDE_SPACES:
        return ("\t",)
    kinds = {"L": LETTER_WITHOUT_CASE, "M": MARK, "N": "0", "P": SYMBOL, "S": SYMBOL}
    return (kinds.get(category[0], OTHER), LETTER_WITHOUT_CASE, OTHER, SYMBOL, MARK, "0")


def split_ends(split: re.Pattern[str], text: str) -> list[int]:
    """Where each match of a covering expression ends."""
    return [match.end() for match in split.finditer(text)]
