"""A tokenizer's definition (``tokenizer.json``), read as far as the token layer needs it.

A definition is supported if text maps to tokens in these steps and no others: added tokens are taken out,
the normaliser changes nothing (``Vocabulary.escape`` sees to both), the text is split into pre-tokens, and
each pre-token is encoded by byte-level BPE independently of its neighbours. Or, SentencePiece style
(``marks.py``): spaces become marks, and BPE runs over characters.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from factorspec_sdk.errors import Problem
from factorspec_sdk.tokens.marks import FACTS, MARK, Marks, facts_of, is_marked, problems_with_marks
from factorspec_sdk.tokens.spelling import BYTE_LEVEL, Spelling

# Closed under substrings: a text that they leave alone has only parts that they leave alone.
_NORMALIZERS = frozenset({"NFC", "NFKC"})
_JSON_WORDS = ("true", "false", "null")
_JSON_PUNCTUATION = frozenset("{}[]:, 0123456789.-")
# Why a model of another kind cannot be followed, by its type.
_OTHER_MODELS = {
    "Unigram": "it takes the most probable split of the whole text, so that a later character may change any "
    "token before it",
    "WordPiece": "it drops white space and what it does not know, so that tokens do not spell the text",
    "WordLevel": "it drops white space and what it does not know, so that tokens do not spell the text",
}


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that is looked for in the text before anything else.

    No text of a record holds one (``Escaper``), so it does not matter that some take white space beside them
    (``lstrip``, ``rstrip``) or are no token inside a word (``single_word``).
    """

    id: int
    content: str
    special: bool
    normalized: bool


@dataclass(frozen=True, slots=True)
class Definition:
    """What of a ``tokenizer.json`` decides how text becomes tokens.

    Attributes:
        model: type and options of the model, without vocabulary and merges.
        num_merges: number of BPE merges.
        normalizers: definitions in order; a sequence is flattened.
        pre_tokenizers: definitions in order; a sequence is flattened.
        added: added tokens, by id; without runs of marks: no text holds them, and BPE makes those of spaces.
        marks: set for SentencePiece style, None for byte-level BPE.
    """

    model: Mapping[str, Any]
    num_merges: int
    normalizers: tuple[Mapping[str, Any], ...]
    pre_tokenizers: tuple[Mapping[str, Any], ...]
    added: tuple[AddedToken, ...]
    marks: Marks | None

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Definition:
        """Read what ``parse`` gives, or an outline of it (``prepared.py``)."""
        whole = raw["model"]
        model = {key: value for key, value in whole.items() if key not in ("vocab", "merges", FACTS)}
        normalizers = tuple(_parts(raw.get("normalizer"), "normalizers"))
        pre_tokenizers = tuple(_parts(raw.get("pre_tokenizer"), "pretokenizers"))
        marks = None
        if is_marked(normalizers, pre_tokenizers):
            marks = Marks.read(whole[FACTS], model, normalizers, pre_tokenizers)
        runs = () if marks is None else marks.runs
        added = [_added_token(entry) for entry in raw.get("added_tokens") or ()]
        found = (token for token in added if token.normalized or token.content not in runs)
        return cls(
            model=model,
            num_merges=len(whole.get("merges") or ()),
            normalizers=normalizers,
            pre_tokenizers=pre_tokenizers,
            added=tuple(sorted(found, key=lambda token: token.id)),
            marks=marks,
        )

    @property
    def spelling(self) -> Spelling:
        """How the model's tokens spell bytes."""
        return BYTE_LEVEL if self.marks is None else self.marks

    @property
    def ignores_merges(self) -> bool:
        """True if a pre-token that is a token is taken whole, whatever the merges say."""
        return bool(self.model.get("ignore_merges"))


def parse(text: str) -> dict[str, Any]:
    """A parsed ``tokenizer.json``; in SentencePiece style with facts of its merges."""
    raw: dict[str, Any] = json.loads(text)
    stages = (_parts(raw.get("normalizer"), "normalizers"), _parts(raw.get("pre_tokenizer"), "pretokenizers"))
    if is_marked(*stages):
        raw["model"][FACTS] = facts_of(raw["model"])
    return raw


def problems_of(definition: Definition) -> list[Problem]:
    """Everything that makes the definition one that cannot be followed exactly; empty if supported."""
    problems = _model_problems(definition)
    if definition.model.get("type", "BPE") == "BPE":
        problems += (
            _stage_problems(definition)
            if definition.marks is None
            else problems_with_marks(
                definition.model, definition.normalizers, definition.pre_tokenizers, definition.marks
            )
        )
    return [*problems, *_added_problems(definition)]


def _parts(stage: Mapping[str, Any] | None, key: str) -> list[Mapping[str, Any]]:
    if stage is None:
        return []
    if stage["type"] != "Sequence":
        return [stage]
    return [part for inner in stage[key] for part in _parts(inner, key)]


def _added_token(entry: Mapping[str, Any]) -> AddedToken:
    return AddedToken(
        id=entry["id"],
        content=entry["content"],
        special=bool(entry.get("special")),
        normalized=bool(entry.get("normalized")),
    )


def _model_problems(definition: Definition) -> list[Problem]:
    model = definition.model
    kind = model.get("type", "BPE")
    if kind != "BPE":
        return [Problem("model.type", "only BPE is supported", repr(kind), _OTHER_MODELS.get(kind))]
    options = ["dropout", "continuing_subword_prefix", "end_of_word_suffix"]
    if definition.marks is None:
        options.append("byte_fallback")
    return [
        Problem(f"model.{option}", "this option of BPE is not supported", repr(model[option]))
        for option in options
        if model.get(option)
    ]


def _stage_problems(definition: Definition) -> list[Problem]:
    problems = [
        Problem(
            "normalizer",
            "only NFC and NFKC are supported",
            repr(part["type"]),
            "SentencePiece style has marks for spaces (▁) and nothing else",
        )
        for part in definition.normalizers
        if part["type"] not in _NORMALIZERS
    ]
    types = [stage["type"] for stage in definition.pre_tokenizers]
    if types.count("ByteLevel") != 1 or types[-1] != "ByteLevel":
        problems.append(
            Problem(
                "pre_tokenizer",
                "must end with its only ByteLevel stage",
                repr(types),
                "BPE works if it is byte-level, or SentencePiece style with marks for spaces",
            )
        )
    elif definition.pre_tokenizers[-1].get("add_prefix_space"):
        problems.append(Problem("pre_tokenizer", "add_prefix_space is not supported", "True"))
    return problems


def _added_problems(definition: Definition) -> list[Problem]:
    problems = []
    for token in definition.added:
        place, content = f"added_tokens[{token.id}]", repr(token.content)
        if definition.marks is not None and token.normalized and MARK in token.content.replace(" ", MARK):
            problems.append(
                Problem(place, "a normalised added token must hold neither space nor mark", content)
            )
        if _can_stand_outside_strings(token.content):
            problems.append(Problem(place, "an added token that JSON text needs outside of strings", content))
    return problems


def _can_stand_outside_strings(content: str) -> bool:
    if '"' in content or any(content in word for word in _JSON_WORDS):
        return True
    # Runs of white space are fine: the layouts write at most one space outside of strings.
    return content == " " or (bool(content.strip()) and _JSON_PUNCTUATION.issuperset(content))
