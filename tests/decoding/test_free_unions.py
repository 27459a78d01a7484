"""Unions with free parts, whose branches may share values: every text is valid, all readings are kept."""

from __future__ import annotations

import json
import random
from typing import Any

import jsonschema
import pytest

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.wire import parse_document
from tests.strangers.walking import canonical, drawn

Json = dict[str, Any]


def record(**properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def integer(least: int, most: int) -> Json:
    return {"type": "integer", "minimum": least, "maximum": most}


PATTERNS = ("^[a-z]{1,3}$", "^[a-z]{2,5}-[0-9]$")
WORD: Json = {"anyOf": [{"enum": ["auto", "off"]}, {"type": "string", "maxLength": 5}]}
SHARING: Json = {
    "anyOf": [WORD, record(a=integer(0, 3)), record(a=integer(2, 5), b={"const": 1}), record(a=integer(1, 7))]
}
UNIONS: dict[str, Json] = {
    "number, text or null": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
    "a word or any text": WORD,
    "many items that share values": {"type": "array", "minItems": 8, "maxItems": 30, "items": SHARING},
    "lists of numbers or of texts": {
        "anyOf": [{"type": "array", "items": {"type": kind}} for kind in ("integer", "string")]
    },
    "a wide range or null": {"anyOf": [integer(0, 10**7), {"type": "null"}]},
    "a wide range or a word": {"anyOf": [integer(-5, 10**7), {"enum": ["none"]}, {"type": "boolean"}]},
    "two patterns": {"anyOf": [{"type": "string", "pattern": pattern} for pattern in PATTERNS]},
}


@pytest.mark.parametrize("vocabulary", ["smollm2", "tricky"])
@pytest.mark.parametrize("name", UNIONS)
def test_records_are_valid_and_no_reading_is_left_out(name: str, vocabulary: str) -> None:
    document = record(n=integer(0, 3), v=UNIONS[name], m={"enum": ["x", "y"]})
    compiled, found = compile_spec(parse_document(document)), canonical(vocabulary)
    decoder = Decoder(compiled.program, compiled.feasibility, found.vocabulary, canonical=found)
    texts = set()
    for seed, limit in enumerate([None, 200, None, 150, None]):
        session, source = decoder.session(limit), random.Random(seed)
        while session.state == "open":
            plan = session.plan()
            assert session.commit(plan.tokens) == len(plan.tokens)
            if plan.choices:
                assert session.commit([drawn(plan.choices[0], source)]) == 1
            assert session.num_tokens < 2_000
        assert session.state == "complete" and session.report.exact
        jsonschema.validate(json.loads(session.text), document)
        texts.add(session.text)
    assert len(texts) > 1


def test_readings_that_meet_again_are_one() -> None:
    """Thirty items that each fit two branches: two readings inside an item, not 2**30 behind them."""
    item: Json = {"anyOf": [record(a=integer(0, 3)), record(a=integer(0, 3))]}
    document = record(v={"type": "array", "minItems": 30, "maxItems": 30, "items": item})
    compiled, found = compile_spec(parse_document(document)), canonical()
    decoder = Decoder(
        compiled.program, compiled.feasibility, found.vocabulary, canonical=found, max_hypotheses=8
    )
    session = decoder.session()
    while session.state == "open":
        assert session.commit([session.allowed().ids().tolist()[0]]) == 1
    assert session.state == "complete" and session.report.exact
