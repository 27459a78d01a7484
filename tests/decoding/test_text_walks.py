"""Rollback and copies inside free text and grammar parts, against sessions that were never taken back."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from factorspec_sdk.decoding import Decoder, Session
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.testing import byte_vocabulary, vocabulary_like
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import parse_document

FAMILIES = ("tricky", "gpt2", "qwen", "sentencepiece", "bytes")
Json = dict[str, Any]


def record(part: Json, *relations: Json) -> Json:
    item = {"type": "integer", "minimum": 0, "maximum": 99}
    vendor = {"x-factorspec": {"version": 1, "relations": list(relations)}} if relations else {}
    return {"type": "object", "properties": {"t": part, "n": item}, "required": ["t", "n"], **vendor}


LENGTH = {
    "kind": "intension",
    "name": "length",
    "expr": {"op": "eq", "args": [{"op": "len", "of": "$.t"}, {"ref": "$.n"}]},
}
DOCUMENTS: dict[str, Json] = {
    "string": record({"type": "string"}),
    "string ..7": record({"type": "string", "maxLength": 7}),
    "string 3..100000": record({"type": "string", "minLength": 3, "maxLength": 100_000}),
    "measured": record({"type": "string", "maxLength": 6}, LENGTH),
    "pattern": record({"type": "string", "pattern": "^[a-zé ]*[0-9]{2}$"}),
    "format": record({"type": "string", "format": "date"}),
    "date-time": record({"type": "string", "format": "date-time"}),
    "ipv4": record({"type": "string", "format": "ipv4"}),
    "integer": record({"type": "integer"}),
    "number": record({"type": "number"}),
    "object": record({"type": "object", "additionalProperties": True}),
    "list": record({"type": "array", "items": {"type": "object", "properties": {"s": {"type": "string"}}}}),
    "union": record({"anyOf": [{"type": "string"}, {"type": "number"}]}),
}


@pytest.fixture(scope="module", params=FAMILIES)
def canonical(request: pytest.FixtureRequest) -> Canonical:
    return Canonical(byte_vocabulary() if request.param == "bytes" else vocabulary_like(request.param))


def decoder_of(canonical: Canonical, name: str) -> Decoder:
    compiled = compile_spec(parse_document(DOCUMENTS[name]))
    return Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)


def same(session: Session, decoder: Decoder, limit: int | None, canonical_text: bool) -> None:
    """What a session says is what a fresh one says that was given its tokens."""
    fresh = decoder.session(limit, canonical_text=canonical_text)
    assert fresh.commit(session.tokens) == session.num_tokens
    assert session.state == fresh.state
    assert session.allowed() == fresh.allowed()
    assert session.plan() == fresh.plan()
    assert session.report.origins == fresh.report.origins


def step(session: Session, source: random.Random) -> bool:
    """Write a token, rather one that may close something; False if the record is complete."""
    if session.state == "complete":
        return False
    ids = session.allowed().ids().tolist()
    source.shuffle(ids)
    if source.random() < 0.4:
        table = session.decoder.vocabulary.all_bytes
        ids.sort(key=lambda i: frozenset(b'"]}').isdisjoint(table[i]))
    token = next(i for i in ids if session.admits(i))
    assert session.commit([token]) == 1
    return True


@pytest.mark.parametrize("canonical_text", [False, True])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_sessions_that_went_back_are_as_fresh_ones(
    canonical: Canonical, name: str, canonical_text: bool
) -> None:
    decoder = decoder_of(canonical, name)
    source = random.Random(name)
    for limit in (None, 60):
        session = decoder.session(limit, canonical_text=canonical_text)
        others: list[tuple[Session, tuple[int, ...]]] = []
        for _ in range(40):
            move = source.random()
            if move < 0.25:
                session.rollback(source.randint(0, min(6, session.num_tokens)))
            elif move < 0.35:
                others.append((session.copy(), session.tokens))
            elif move < 0.4 and others:
                session = others[source.randrange(len(others))][0].copy()
            else:
                step(session, source)
            if source.random() < 0.2:
                same(session, decoder, limit, canonical_text)
        for other, tokens in others:
            assert other.tokens == tokens
            same(other, decoder, limit, canonical_text)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_token_taken_back_leaves_the_start(canonical: Canonical, name: str) -> None:
    decoder = decoder_of(canonical, name)
    session, source = decoder.session(200), random.Random(3)
    masks = [session.allowed()]
    while len(masks) < 200 and step(session, source):
        masks.append(session.allowed())
    for mask in reversed(masks):
        assert session.allowed() == mask
        session.rollback(min(1, session.num_tokens))
    assert not session.tokens


@pytest.mark.parametrize("name", DOCUMENTS)
def test_canonical_walks_have_no_dead_end(canonical: Canonical, name: str) -> None:
    decoder, source = decoder_of(canonical, name), random.Random(name)
    for _ in range(3):
        session = decoder.session(canonical_text=True)
        for _ in range(300):
            if not step(session, source):
                break
        if session.state == "complete":  # an open value need not end so soon
            json.loads(session.text)
            assert canonical.vocabulary.encode(session.text) == session.tokens
