"""SentencePiece-style BPE (Llama 2, Mistral, Gemma): spaces are marks, and there are no pre-tokens.

::

    text       {"city": "Rome"}
    spelled   ▁{"city":▁"Rome"}     each space a mark; Llama 2 puts one more in front (the leading mark)
    tokens    ▁{" city ": ▁" R ome "}

What is left to BPE is one word, up to a whole record long. A character without a token of its own is spelled
by one token for each of its bytes, named ``<0xE2>``; no merge joins those.

*Why pieces can be encoded apart.* BPE takes the lowest merge first, the leftmost of equals. If no merge ever
joins across a position p, the merges on both sides do not see each other, so that

    bpe(text) = bpe(text[:p]) + bpe(text[p:])        for every p where a token of bpe(text) ends

1. Two characters that no merge joins (``Marks.joins``) always have a token's end between them: a cut.
2. Tokens that no continuation can change have a fixed end: that is a cut too (``Canonical.settled``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from factorspec_sdk.errors import Problem

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MARK = "\u2581"
_LONGEST_RUN = 256
_BYTE_TOKENS = {f"<0x{byte:02X}>": bytes([byte]) for byte in range(256)}
_SPACES_TO_MARKS = {"type": "Replace", "pattern": {"String": " "}, "content": MARK}
_PREPEND = {"type": "Prepend", "prepend": MARK}
# Without effect: the normaliser has left no space to split at.
_SPLIT_AT_SPACES = {"type": "Split", "pattern": {"String": " "}}


#: where ``facts_of`` stand in the outline of a model (``prepared.py``)
FACTS = "marks"


@dataclass(frozen=True, slots=True)
class Marks:
    """What of a definition makes it SentencePiece style; also its spelling (``spelling.py``).

    Attributes:
        leads: the tokenizer puts a mark before a text.
        parts_words: words are encoded apart, each with the mark before it.
        joins: pairs of characters of texts (spaces, not marks) between which a merge may join; every inner
            pair of every token that BPE can build is among them.
        runs: the tokens of marks alone.
        has_byte_tokens: characters without a token are spelled in bytes.
        merges_bytes: some merge has a byte token's name as a part.
        unknown: the token that stands for what cannot be spelled, or None.
    """

    leads: bool
    parts_words: bool
    joins: frozenset[str]
    runs: frozenset[str]
    has_byte_tokens: bool
    merges_bytes: bool
    unknown: str | None

    @classmethod
    def read(
        cls,
        facts: Mapping[str, Any],
        model: Mapping[str, Any],
        normalizers: Sequence[Mapping[str, Any]],
        pre_tokenizers: Sequence[Mapping[str, Any]],
    ) -> Marks:
        """The marks of a definition for which ``is_marked`` holds; ``problems_with_marks`` may refuse it."""
        metaspaces = [part for part in pre_tokenizers if part["type"] == "Metaspace"]
        parts_words = any(part.get("split", True) for part in metaspaces)
        return cls(
            leads=any(part["type"] == "Prepend" for part in normalizers)
            or any(part.get("prepend_scheme", "always") != "never" for part in metaspaces),
            parts_words=parts_words,
            joins=frozenset(
                pair.replace(MARK, " ") for pair in facts["joins"] if not (parts_words and pair[1] == MARK)
            ),
            runs=frozenset(facts["runs"]),
            has_byte_tokens=bool(model.get("byte_fallback")),
            merges_bytes=facts["merges_bytes"],
            unknown=model.get("unk_token"),
        )

    def bytes_of(self, name: str) -> bytes | None:
        """The bytes that a token spells; none for that which stands for what is lost."""
        if name == self.unknown:
            return b""
        if self.has_byte_tokens and (byte := _BYTE_TOKENS.get(name)) is not None:
            return byte
        return name.replace(MARK, " ").encode()

    def spelled(self, data: bytes) -> str:
        """Whole characters, with marks for spaces."""
        return data.decode().replace(" ", MARK)

    def names_of(self, data: bytes) -> Sequence[str]:
        """Characters first: BPE takes bytes only where there is no token of the character."""
        try:
            names = [self.spelled(data)]
        except UnicodeDecodeError:
            names = []
        if len(data) == 1 and self.has_byte_tokens:
            names.append(f"<0x{data[0]:02X}>")
        return names


def is_marked(normalizers: Sequence[Mapping[str, Any]], pre_tokenizers: Sequence[Mapping[str, Any]]) -> bool:
    """True if a definition writes spaces as marks."""
    replaces = any(part["type"] == "Replace" and part.get("content") == MARK for part in normalizers)
    return replaces or any(part["type"] == "Metaspace" for part in pre_tokenizers)


def facts_of(model: Mapping[str, Any]) -> dict[str, Any]:
    """What ``Marks`` needs of a model's vocabulary and merges: small, and fit for JSON."""
    merges = model.get("merges") or ()
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in merges]
    vocab = model["vocab"]
    return {
        # Every inner pair of characters of a token stands where one of its merges joins.
        "joins": sorted({left[-1] + right[0] for left, right in pairs}),
        "merges_bytes": not _BYTE_TOKENS.keys().isdisjoint(chain.from_iterable(pairs)),
        "runs": [run for run in (MARK * count for count in range(1, _LONGEST_RUN + 1)) if run in vocab],
    }


def problems_with_marks(
    model: Mapping[str, Any],
    normalizers: Sequence[Mapping[str, Any]],
    pre_tokenizers: Sequence[Mapping[str, Any]],
    marks: Marks,
) -> list[Problem]:
    """What of a definition in SentencePiece style cannot be followed exactly."""
    problems = []
    parts = [part for part in normalizers if part != _PREPEND]
    replaced = parts == [_SPACES_TO_MARKS]
    if len(normalizers) - len(parts) > 1 or (parts and not replaced):
        names = repr([part["type"] for part in normalizers])
        rule = "beside marks for spaces (at most one Prepend, then Replace) nothing may be normalised"
        problems.append(Problem("normalizer", rule, names))
    stages = [part for part in pre_tokenizers if not (replaced and _does_nothing(part))]
    names = repr([part["type"] for part in pre_tokenizers])
    if len(stages) > 1 or any(part["type"] != "Metaspace" for part in stages):
        problems.append(Problem("pre_tokenizer", "only Metaspace goes with SentencePiece style", names))
    elif stages and (parts != list(normalizers) or stages[0].get("replacement") != MARK):
        problems.append(
            Problem("pre_tokenizer", "Metaspace must write marks as ▁ and put the only one in front", names)
        )
    if model.get("ignore_merges"):
        rule = "a whole text that is a token would be taken whole, so that nothing is certain before its end"
        problems.append(Problem("model.ignore_merges", rule, "True"))
    if marks.has_byte_tokens and marks.merges_bytes:
        problems.append(Problem("model.merges", "byte tokens must not be merged", None))
    return problems


def tokenizer_inside(tokenizer: Tokenizer, marks: Marks | None) -> Tokenizer:
    """The tokenizer without a mark before texts: itself if it puts none, else one that shares its model."""
    if marks is None or not marks.leads:
        return tokenizer
    from tokenizers import Tokenizer, normalizers, pre_tokenizers

    inside = Tokenizer(tokenizer.model)
    if tokenizer.normalizer is not None:
        inside.normalizer = normalizers.Replace(" ", MARK)
    else:
        inside.pre_tokenizer = pre_tokenizers.Metaspace(MARK, prepend_scheme="never", split=marks.parts_words)
    for _, token in sorted(tokenizer.get_added_tokens_decoder().items()):
        if token.special:
            inside.add_special_tokens([token])
        else:
            inside.add_tokens([token])
    return inside


def _does_nothing(part: Mapping[str, Any]) -> bool:
    return {key: part.get(key) for key in _SPLIT_AT_SPACES} == _SPLIT_AT_SPACES
