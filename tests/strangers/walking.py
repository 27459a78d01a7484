"""From a model to finished records, as a user's request goes, with tokens drawn at random."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel

import factorspec_sdk as fs
from factorspec_sdk.decoding import Choice, Decoder, Session
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import Spec, parse_document

MOST_TOKENS = 4000


@cache
def canonical(name: str = "smollm2") -> Canonical:
    return Canonical(vocabulary_like(name))


@dataclass(frozen=True)
class Ready:
    """A model, its spec and its decoder."""

    model: type[BaseModel]
    spec: Spec
    decoder: Decoder


def prepared(model: type[BaseModel], vocabulary: str = "smollm2") -> Ready:
    spec = parse_document(fs.document(model))
    assert parse_document(spec.document) == spec
    compiled = compile_spec(spec)
    found = canonical(vocabulary)
    return Ready(
        model, spec, Decoder(compiled.program, compiled.feasibility, found.vocabulary, canonical=found)
    )


def written(ready: Ready, limit: int | None, seed: int) -> Session:
    """A record; it is valid, and its tokens are the tokenizer's own where it holds no free text."""
    session, source = ready.decoder.session(limit), random.Random(seed)
    while session.state == "open":
        plan = session.plan()
        assert plan.tokens or plan.choices, session.text
        assert session.commit(plan.tokens) == len(plan.tokens)
        if plan.choices:
            assert session.commit([drawn(plan.choices[0], source)]) == 1
        assert session.num_tokens < MOST_TOKENS, session.text[-200:]
    assert session.state == "complete"
    if limit is not None:
        assert session.num_tokens <= limit
    found: Any = ready.model.model_validate_json(session.text)
    assert all(verdict.outcome in ("holds", "unknown") for verdict in fs.check(found) if verdict.enforced)
    if not ready.decoder.program.holes:
        assert list(session.tokens) == list(ready.decoder.vocabulary.encode(session.text))
    return session


@cache
def closing(name: str) -> frozenset[int]:
    vocabulary = canonical(name).vocabulary
    marks = ('"', '",', '"}', "}", "]", ",", '"]', "]}", "0", "1")
    return frozenset(ids[0] for mark in marks if len(ids := vocabulary.encode(mark)) == 1)


def drawn(choice: Choice, source: random.Random) -> int:
    ids = choice.allowed.ids().tolist()
    if choice.free and source.random() < 0.4:
        ids = [token for token in ids if token in closing("smollm2")] or ids
    return int(source.choice(ids))
