"""The tokens that open free text from inside a held tail, against all tokens tried one by one."""

from __future__ import annotations

import pytest

from factorspec_sdk.decoding.piece_rules import PieceRules
from factorspec_sdk.decoding.placed_rules import grammar_rules
from factorspec_sdk.decoding.string_rules import StringRules
from factorspec_sdk.decoding.text_rules import TextRules
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.graph.program import HoleSpec
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Vocabulary

ENDINGS = (b'"', b'",', b'"}', b"}", b",", b", ")
JSON_SCHEMAS: tuple[dict[str, JsonValue], ...] = (
    {},
    {"type": "number"},
    {"type": "array", "items": {"type": "string"}},
)


@pytest.fixture(scope="module", params=("tricky", "gpt2", "qwen", "sentencepiece", "gemma"))
def vocabulary(request: pytest.FixtureRequest) -> Vocabulary:
    return vocabulary_like(request.param)


def rules_of(vocabulary: Vocabulary) -> list[TextRules]:
    pattern = HoleSpec("code", "string", {"type": "string", "pattern": "^[a-z]{1,4}( [0-9é]+)?$"}, 0, None)
    values = [HoleSpec("any", "json", schema, 0, None) for schema in JSON_SCHEMAS]
    return [
        StringRules.of(vocabulary, 0, None),
        StringRules.of(vocabulary, 2, 3),
        PieceRules.of(vocabulary, ("the day, the “night”",), 1, 9),
        *(grammar_rules(spec, vocabulary) for spec in (pattern, *values)),
    ]


def may_begin(rules: TextRules, data: bytes) -> bool:
    if rules.may_go_on(rules.start(), data):
        return True
    for ending in ENDINGS:
        end = rules.walk(rules.start(), data[: -len(ending)]) if data.endswith(ending) else None
        if end is not None and rules.complete(end):
            return True
    return False


@pytest.mark.parametrize("prefix", [b" ", b"[", b' "', b'"', b"e", b"th", b"\xe2\x80"])
def test_tokens_that_open_a_text_are_those_found_one_by_one(vocabulary: Vocabulary, prefix: bytes) -> None:
    table = vocabulary.all_bytes
    for rules in rules_of(vocabulary):
        behind = {i: table[i][len(prefix) :] for i in vocabulary.text_ids if table[i].startswith(prefix)}
        expected = {i for i, data in behind.items() if data and may_begin(rules, data)}
        assert rules.first_ids(prefix, ENDINGS) == expected
