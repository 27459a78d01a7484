"""A tokenizer's definition (``tokenizer.json``), read as far as the token layer needs it.

A definition is supported if text maps to tokens in these steps and no others: added tokens are taken out,
the normaliser changes nothing (``Vocabulary.escape`` sees to both), the text is split into pre-tokens, and
each pre-token is encoded by byte-level BPE independently of its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from factorspec_sdk.errors import Problem

# Closed under substrings: a text that they leave alone has only parts that they leave alone.
_NORMALIZERS = frozenset({"NFC", "NFKC"})
_JSON_WORDS = ("true", "false", "null")
_JSON_PUNCTUATION = frozenset("{}[]:, 0123456789.-")


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that is looked for in the text before anything else."""

    id: int
    content: str
    special: bool
    strips: bool
    single_word: bool


@dataclass(frozen=True, slots=True)
class Definition:
    """What of a ``tokenizer.json`` decides how text becomes tokens.

    Attributes:
        model: type and options of the model, without vocabulary and merges.
        num_merges: number of BPE merges.
        normalizers: types in order; empty: none.
        pre_tokenizers: definitions in order; a sequence is flattened.
        added: added tokens, by id.
    """

    model: Mapping[str, Any]
    num_merges: int
    normalizers: tuple[str, ...]
    pre_tokenizers: tuple[Mapping[str, Any], ...]
    added: tuple[AddedToken, ...]

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Definition:
        """Read the parsed ``tokenizer.json``."""
        model = {key: value for key, value in raw["model"].items() if key not in ("vocab", "merges")}
        added = sorted((_added_token(entry) for entry in raw.get("added_tokens") or ()), key=lambda t: t.id)
        return cls(
            model=model,
            num_merges=len(raw["model"].get("merges") or ()),
            normalizers=tuple(part["type"] for part in _parts(raw.get("normalizer"), "normalizers")),
            pre_tokenizers=tuple(_parts(raw.get("pre_tokenizer"), "pretokenizers")),
            added=tuple(added),
        )

    @property
    def ignores_merges(self) -> bool:
        """True if a pre-token that is a token is taken whole, whatever the merges say."""
        return bool(self.model.get("ignore_merges"))


def problems_of(definition: Definition) -> list[Problem]:
    """Everything that makes the definition one that cannot be followed exactly; empty if supported."""
    return [*_model_problems(definition), *_stage_problems(definition), *_added_problems(definition)]


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
        strips=bool(entry.get("lstrip") or entry.get("rstrip")),
        single_word=bool(entry.get("single_word")),
    )


def _model_problems(definition: Definition) -> list[Problem]:
    model = definition.model
    if model.get("type", "BPE") != "BPE":
        return [Problem("model.type", "only byte-level BPE is supported", repr(model.get("type")))]
    return [
        Problem(f"model.{option}", "this option of BPE is not supported", repr(model[option]))
        for option in ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback")
        if model.get(option)
    ]


def _stage_problems(definition: Definition) -> list[Problem]:
    problems = [
        Problem(
            "normalizer",
            "only NFC and NFKC are supported",
            repr(name),
            "SentencePiece style is not supported yet",
        )
        for name in definition.normalizers
        if name not in _NORMALIZERS
    ]
    types = [stage["type"] for stage in definition.pre_tokenizers]
    if types.count("ByteLevel") != 1 or types[-1] != "ByteLevel":
        problems.append(
            Problem(
                "pre_tokenizer",
                "must end with its only ByteLevel stage",
                repr(types),
                "only byte-level BPE works",
            )
        )
    elif definition.pre_tokenizers[-1].get("add_prefix_space"):
        problems.append(Problem("pre_tokenizer", "add_prefix_space is not supported", "True"))
    return problems


def _added_problems(definition: Definition) -> list[Problem]:
    problems = []
    for token in definition.added:
        place, content = f"added_tokens[{token.id}]", repr(token.content)
        if token.strips or token.single_word:
            problems.append(Problem(place, "lstrip, rstrip and single_word are not supported", content))
        if _can_stand_outside_strings(token.content):
            problems.append(Problem(place, "an added token that JSON text needs outside of strings", content))
    return problems


def _can_stand_outside_strings(content: str) -> bool:
    if '"' in content or any(content in word for word in _JSON_WORDS):
        return True
    # Runs of white space are fine: the layouts write at most one space outside of strings.
    return content == " " or (bool(content.strip()) and _JSON_PUNCTUATION.issuperset(content))
