r"""Families of pre-tokenizers: how a known one splits text, in a form that Python's ``re`` runs.

A family is recognised by the exact regular expression in the tokenizer's definition; anything else is
unknown and takes the slow, careful way (``cuts.py``).

Python's ``re`` has no ``\p{L}``. Plain version: ask the tokenizer for each split (15 µs). Instead each
character is replaced by an ASCII stand-in of its class (letter ``x``, number ``0``, white space ``\t``, else
``!``; most texts are ASCII and stand for themselves), and the family's expression, written for ASCII, is run
over the stand-ins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WORDS_AND_REST = r"|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = _CONTRACTIONS + _WORDS_AND_REST % r"\p{N}"
# Qwen3.5: combining marks are part of words.
QWEN35 = (
    _CONTRACTIONS
    + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3 = _CONTRACTIONS + _WORDS_AND_REST % r"\p{N}{1,3}"
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]"
    r"|\s+(?!\S)|\s+"
)
# As newer releases of tiktoken have it: white space at the end of a text is one pre-token.
CL100K_TO_END = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s+\z|\s*[\r\n]"
    r"|\s+(?!\S)|\s+"
)
_CASED = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+%s|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*%s|"
    r"%s| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
O200K = _CASED % (f"{_CONTRACTIONS}?", f"{_CONTRACTIONS}?", r"\p{N}{1,3}")
# Mistral's Tekken: no contractions, single digits.
TEKKEN = _CASED % ("", "", r"\p{N}")

# Three splits in sequence, each on the pieces of the one before: numbers; runs of ideographs (Chinese
# characters and kana, with the marks and symbols of these blocks); the rest, where an ASCII mark takes ASCII
# letters.
DEEPSEEK = (
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
)

# Stand-ins beyond plain ASCII: control characters, which JSON text never holds.
LETTER_WITHOUT_CASE = "\x01"
MARK = "\x02"
UNKNOWN = "\x04"
IDEOGRAPH = "\x03"
IDEOGRAPHIC_SYMBOL = "\x07"
SYMBOL = "\x05"
OTHER = "\x06"

_ASCII_CLASSES = (
    (r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"A-Z\x01\x02"),
    (r"\p{Ll}\p{Lm}\p{Lo}\p{M}", r"a-z\x01\x02"),
    (r"[^\r\n\p{L}\p{N}]", r"[^\r\nA-Za-z\x010-9\x04]"),
    (r"[\p{L}\p{M}]", r"[A-Za-z\x01\x02]"),
    (r"[^\s\p{L}\p{M}\p{N}]", r"[^\sA-Za-z\x01\x020-9\x04]"),
    (r"[^\s\p{L}\p{N}]", r"[^\sA-Za-z\x010-9\x04]"),
    (r"\p{L}", r"[A-Za-z\x01]"),
    (r"\p{N}", r"[0-9]"),
    (r"\z", r"\Z"),
)


@dataclass(frozen=True, slots=True)
class Family:
    """What the cuts need to know of a pre-tokenizer, and its split.

    Attributes:
        name: for people.
        split: over stand-ins; its matches cover every text.
        num_digits: digits of a full number pre-token, or None where a run of digits is one pre-token.
        digits_isolated: numbers are split off first, so that they end the pieces beside them like an end of
            text.
        words_take_contraction: ``'s`` after letters joins them (o200k).
        marks_join_words: combining marks count as letters.
        words_take_prefix: a character before letters may join them (``"Rome``), so it is no cut between them.
        punctuation_takes_newlines: ``\\r`` and ``\\n`` after punctuation join it.
        tells_symbols: ideographs, symbols and other characters are told apart (DeepSeek).
    """

    name: str
    split: re.Pattern[str]
    num_digits: int | None
    digits_isolated: bool
    words_take_contraction: bool
    marks_join_words: bool
    words_take_prefix: bool
    punctuation_takes_newlines: bool
    tells_symbols: bool = False


def recognise(stages: Sequence[Mapping[str, Any]]) -> Family | None:
    """The family of a sequence of pre-tokenizer definitions, or None if it is not a known one."""
    if [_regex_of(stage) for stage in stages[:-1]] == [*DEEPSEEK] and _is_plain(stages[-1]):
        return _deepseek()
    digits: str | None = None
    if stages and stages[0]["type"] == "Digits":
        digits = "[0-9]" if stages[0].get("individual_digits") else "[0-9]+"
        stages = stages[1:]
    pattern = _pattern_of(stages)
    return None if pattern is None else _family(pattern, digits)


def _pattern_of(stages: Sequence[Mapping[str, Any]]) -> str | None:
    """The one expression that the stages amount to, or None."""
    if len(stages) == 1 and stages[0]["type"] == "ByteLevel":
        return GPT2 if stages[0].get("use_regex", True) else None
    if len(stages) != 2 or not _is_plain(stages[1]):
        return None
    pattern = _regex_of(stages[0])
    return pattern if pattern in _names() else None


def _is_plain(stage: Mapping[str, Any]) -> bool:
    """True if the stage only spells bytes."""
    return stage["type"] == "ByteLevel" and not stage.get("use_regex", True)


def _regex_of(stage: Mapping[str, Any]) -> str | None:
    """The expression whose matches a stage makes pieces of, or None if it does anything else.

    "Removed" with "invert" drops what does not match; that is nothing, as the known expressions match all.
    """
    if stage["type"] != "Split":
        return None
    behavior = (stage.get("behavior"), bool(stage.get("invert")))
    if behavior not in (("Isolated", False), ("Removed", True)):
        return None
    pattern: str | None = stage["pattern"].get("Regex")
    return pattern


@cache
def _names() -> Mapping[str, str]:
    return {
        GPT2: "gpt2",
        QWEN: "qwen",
        QWEN35: "qwen35",
        TEKKEN: "tekken",
        LLAMA3: "llama3",
        CL100K: "cl100k",
        CL100K_TO_END: "cl100k_to_end",
        O200K: "o200k",
    }


@cache
def _family(pattern: str, digits: str | None) -> Family:
    name = _names()[pattern]
    grouped = None if name == "gpt2" else 1 if name in ("qwen", "qwen35", "tekken") else 3
    source = pattern
    for original, ascii_class in _ASCII_CLASSES:
        source = source.replace(original, ascii_class)
    if digits is not None:
        # Nothing joins a number, and for white space before one it is like the end of the text.
        source = source.replace(" ?[0-9]+", "[0-9]+").replace(r"\s+(?!\S)", r"\s+(?![^\s0-9])")
        source = f"{digits}|{source}"
        grouped = 1 if digits == "[0-9]" else None
        name = f"digits+{name}"
    return Family(
        name=name,
        # Unknown characters stand for themselves alone: texts with one are split by the tokenizer itself.
        split=re.compile(source + r"|[\x04]", re.ASCII),
        num_digits=grouped,
        digits_isolated=digits is not None,
        words_take_contraction=pattern == O200K,
        marks_join_words=pattern in (O200K, TEKKEN, QWEN35),
        words_take_prefix=pattern != GPT2,
        punctuation_takes_newlines=pattern != GPT2,
    )


@cache
def _deepseek() -> Family:
    """The three splits as one expression: what is split off first ends the pieces beside it."""
    letters, symbols = r"A-Za-z\x01\x02", r"!-/:-@\[-`{-~\x05"
    source = (
        rf"[0-9]{{1,3}}|\x03+|\x07+|[!-/:-@\[-`{{-~][A-Za-z]+|[^\r\nA-Za-z\x010-9\x03\x04\x07{symbols}]?[{letters}]+"
        rf"| ?[{symbols}]+[\r\n]*|\s*[\r\n]+|\s+(?![^\s0-9\x03\x07])|\s+"
        # What nothing takes is a piece as far as it reaches; the last before a word belongs to that.
        rf"|\x06+(?=\x06[{letters}])|\x06+|[\x04]"
    )
    return Family(
        name="deepseek",
        split=re.compile(source, re.ASCII),
        num_digits=3,
        digits_isolated=True,
        words_take_contraction=False,
        marks_join_words=True,
        words_take_prefix=True,
        punctuation_takes_newlines=True,
        tells_symbols=True,
    )
