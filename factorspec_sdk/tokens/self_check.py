"""Tries a vocabulary's claims at load: right on every case tried, or the tokenizer is refused.

For pairs of a prefix and a continuation, the tokens of the whole must be the tokens up to the cut followed by
those of the rest; what ``stable`` gives out must be kept; and the own split must equal the tokenizer's. In
SentencePiece style no cut may lie inside a token that BPE makes of its own text, and a whole text must be its
leading mark and the rest. Deterministic, and bounded by a number of cases (well under a second).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

from factorspec_sdk.errors import EngineError, Problem

if TYPE_CHECKING:
    from factorspec_sdk.tokens.canonical import Canonical

_CASES_KNOWN = 300
_CASES_UNKNOWN = 4000
_TOKENS = 1500
_WHOLE_TEXTS = ('{"a": 1}', '[""]', '"Rome"', "12", "-1", "true", "[]", '{"a":["b"]}')
# fmt: off
_ATOMS = (
    '"', '", "', '": "', '": ', ", ", '"}', '"}, {"', '["', '"]', "{", "}", "[", "]", ":", ",", " ", "  ",
    "   ", "'", "'s", "'re", "re", "'ll", "''", "-", ".", "/", "\\", "\\n", "\\u00e9", "_", "(", "!!", "...",
    "<", "</", "|", "a", "B", "city", "Rome", "day", "New York", "true", "null", "the", "ing", "izing", "THE",
    "iPhone", "0", "1", "7", "12", "2024", "10:30", "1,000", "-5", "3.14", "00", "٣", "½", "Zürich", "é",
    "e\u0301", "\u0301", "北京", "서울", "Москва", "Αθήνα", "ירושלים", "القاهرة", "กรุงเทพ", "თბილისი",
    "दिल्ली", "😀", "👩\u200d👧", "\u00a0", "\u3000", "\u200b", "ſ", "'ſ", "ﬁ", "İ", "ǅ", "ª", "ʰ",
)
# fmt: on


def check(canonical: Canonical) -> None:
    """Try the claims of ``canonical`` on texts made of what records are made of.

    Raises:
        EngineError: a claim failed; the error names the tokenizer and the case.
    """
    known = canonical.cuts.is_local
    failure = _failed_token(canonical) or _failed_lead(canonical)
    if failure is not None:
        raise _refusal(canonical, failure, known)
    for prefix, continuation in _cases(canonical, _CASES_KNOWN if known else _CASES_UNKNOWN):
        failure = failed_claim(canonical, prefix, continuation)
        if failure is not None:
            raise _refusal(canonical, failure, known)


def failed_claim(canonical: Canonical, prefix: str, continuation: str) -> str | None:
    """What is claimed wrongly about a prefix under a continuation, or None."""
    vocabulary = canonical.vocabulary
    whole = prefix + continuation
    tokens = vocabulary.encode_inside(whole)
    following = continuation[:1] or None
    for cut in {canonical.cuts.last_cut(prefix), canonical.cuts.last_cut(prefix, following)}:
        head, tail = canonical.encode_piece(prefix[:cut]), prefix[cut:]
        if head + canonical.encode_piece(whole[cut:]) != tokens:
            return f"cut at {cut} of {prefix!r} before {continuation!r}"
        stable = head + canonical.stable(tail)
        if tokens[: len(stable)] != stable:
            return f"stable tokens of {tail!r} before {continuation!r}"
    if canonical.encode_piece(whole) != tokens:
        return f"own split of {whole!r}"
    return None


def _refusal(canonical: Canonical, failure: str, known: bool) -> EngineError:
    name = canonical.vocabulary.name
    hint = "its pre-tokenizer is not one that this version knows" if not known else None
    return EngineError(
        f"tokenizer {name!r} cannot be predicted exactly", [Problem("self_check", failure, None, hint)]
    )


def _failed_token(canonical: Canonical) -> str | None:
    """A token that BPE makes of its own text, with a cut inside (SentencePiece style), or None."""
    if canonical.cuts.joins is None:
        return None
    vocabulary = canonical.vocabulary
    ids = vocabulary.text_ids
    for token_id in ids[:: -(-len(ids) // _TOKENS)]:
        text = vocabulary.token_bytes(token_id).decode("utf-8", "replace")
        if len(canonical.cuts.parts(text)) > 1 and vocabulary.encode_inside(text) == (token_id,):
            return f"cut inside the token {text!r}"
    return None


def _failed_lead(canonical: Canonical) -> str | None:
    """A text whose tokens are not those of its leading mark and itself, or None."""
    vocabulary = canonical.vocabulary
    marks = vocabulary.definition.marks
    if marks is None or not marks.leads:
        return None
    for text in _WHOLE_TEXTS:
        tokens = tuple(vocabulary.tokenizer.encode(text, add_special_tokens=False).ids)
        if tokens != canonical.encode_piece(f" {text}"):
            return f"leading mark of {text!r}"
    return None


def _cases(canonical: Canonical, count: int) -> Iterator[tuple[str, str]]:
    """Normalised pairs of texts that hold no added token, some with the beginning of one."""
    vocabulary = canonical.vocabulary
    source = random.Random(0)
    contents = [token.content for token in vocabulary.definition.added if token.id in vocabulary.added_ids]
    starts = [content[:k] for content in contents[:40] for k in range(1, len(content))][:200]
    normalizer = vocabulary.tokenizer.normalizer
    while count:
        count -= 1
        atoms = [source.choice(_ATOMS) for _ in range(source.randint(1, 8))]
        if starts and source.random() < 0.2:
            atoms.insert(source.randint(0, len(atoms)), source.choice(starts))
        text = "".join(atoms)
        if normalizer is not None and canonical.cuts.joins is None:
            text = normalizer.normalize_str(text)
        if vocabulary.added.find(text) is None:
            at = source.randint(0, len(text))
            yield text[:at], text[at:]
