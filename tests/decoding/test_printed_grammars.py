"""XGrammar's grammars are printed, changed and read again: the texts stay the same."""

from __future__ import annotations

import json

import pytest

from factorspec_sdk.decoding.grammars import GrammarRules, grammar_text
from factorspec_sdk.decoding.placed_rules import grammar_rules
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.graph.program import HoleSpec
from factorspec_sdk.testing import vocabulary_like

VALUES = ("é12", "éé4", "ÿab", "\x80f", "\xa0\u0100a", "\u65e5a1", "\U0001f60012", "\\x41", "é\\x41", '"é0')


@pytest.mark.parametrize("kind", ["list", "key"])
def test_values_beside_hexadecimal_digits_are_written_as_they_are(kind: str) -> None:
    vocabulary = vocabulary_like("qwen")
    listed: list[JsonValue] = [*VALUES]
    properties: JsonValue = {value: {"type": "boolean"} for value in VALUES}
    required: JsonValue = listed
    schemas: dict[str, dict[str, JsonValue]] = {
        "list": {"type": "array", "items": {"enum": listed}},
        "key": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
    }
    spec = HoleSpec("x", "json", schemas[kind])
    written: JsonValue = listed if kind == "list" else dict.fromkeys(VALUES, True)
    text = json.dumps(written, ensure_ascii=False).encode()
    for rules in (GrammarRules(spec, vocabulary, grammar_text(spec)), grammar_rules(spec, vocabulary)):
        end = rules.walk(rules.start(), text)
        assert end is not None and rules.complete(end)
        for wrong in ("\ue912", "\u0fab", "\x80", "é1"):
            assert rules.walk(rules.start(), f'["{wrong}"'.encode()) is None
