"""Sets of characters as spans of code points, and Unicode's general categories."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from factorspec_sdk.wire.languages.automaton import CHARACTERS, LAST, Span
from factorspec_sdk.wire.patterns import PatternProblem

Spans = tuple[Span, ...]
_CATEGORIES = {
    "letter": "L", "cased_letter": "LC", "uppercase_letter": "Lu", "lowercase_letter": "Ll",
    "titlecase_letter": "Lt", "modifier_letter": "Lm", "other_letter": "Lo", "mark": "M", "number": "N",
    "decimal_number": "Nd", "digit": "Nd", "letter_number": "Nl", "other_number": "No", "punctuation": "P",
    "punct": "P", "symbol": "S", "separator": "Z", "space_separator": "Zs", "other": "C", "control": "Cc",
}  # fmt: skip


def normal(spans: list[Span] | Spans) -> Spans:
    """Ascending, disjoint, without surrogates."""
    found: list[Span] = []
    for lo, hi in sorted(spans):
        if found and lo <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(hi, found[-1][1]))
        else:
            found.append((lo, hi))
    return tuple(
        (max(lo, first), min(hi, last))
        for lo, hi in found
        for first, last in CHARACTERS
        if max(lo, first) <= min(hi, last)
    )


def complement(spans: list[Span] | Spans) -> Spans:
    """All other characters."""
    found: list[Span] = []
    at = 0
    for lo, hi in normal(spans):
        found.append((at, lo - 1))
        at = hi + 1
    found.append((at, LAST))
    return normal([(lo, hi) for lo, hi in found if lo <= hi])


@cache
def category(name: str) -> Spans:
    """The characters of a general category, by its short or long name.

    Raises:
        PatternProblem: there is no such category.
    """
    short = _CATEGORIES.get(name.lower(), name)
    wanted = ("Lu", "Ll", "Lt") if short == "LC" else (short,)
    if not re.fullmatch(r"L[ultmo]?|LC|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfn]?", short):
        raise PatternProblem(f"'\\p{{{name}}}' is not enforced", "general categories are, like \\p{Letter}")
    codes = (
        code for lo, hi in CHARACTERS for code in range(lo, hi + 1)
        if unicodedata.category(chr(code)).startswith(wanted)
    )  # fmt: skip
    return normal([(code, code) for code in codes])
