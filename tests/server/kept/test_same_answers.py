"""What constraint workers keep is answered as by the engine's own process: bodies, streams and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from factorspec_sdk.tokens import Canonical
from factorspec_server.drafting import PolicyName
from factorspec_server.engines.scheduler import EngineThread
from factorspec_server.engines.torch_model import TorchModel
from factorspec_server.http.served_model import ServedModel, vocabulary_of
from tests.server.http.serving import TRIP, SteppedModel, body, served_model
from tests.server.kept.two_servers import Keeping, ask, keeping, plain

POLICIES: tuple[PolicyName, ...] = ("off", "certain", "chain", "branches", "text", "tree")
DOCUMENTS = Path(__file__).parents[2] / "wire" / "documents"
PENALTIES = {"frequency_penalty": 0.7, "presence_penalty": 0.4, "repetition_penalty": 1.3}
BIASES = {"logit_bias": {"97": 3.0, "79": -2.5}, "min_p": 0.05, "top_p": 0.95, "top_k": 40}


def trip_of(days: int) -> dict[str, Any]:
    """A spec of its own: one of the servers may know those of other requests, where the other does not."""
    fields = {**TRIP["properties"], "days": {"type": "integer", "minimum": 1, "maximum": days}}
    return {**TRIP, "properties": fields}


TOOLS = [{"type": "function", "function": {"name": "book", "parameters": trip_of(7)}}]


def impossible() -> dict[str, Any]:
    fields: dict[str, Any] = {"first": {"enum": ["Oslo"]}, "second": {"enum": ["Oslo"]}}
    return {**TRIP, "properties": fields, "required": ["first", "second"]}


def wishes(max_tokens: int = 400) -> dict[str, dict[str, Any]]:
    """Requests by name; each is sent whole and streamed."""
    sampled = {"temperature": 1.0, "max_tokens": max_tokens}
    origins = {"factorspec": {"origins": True}}
    canonical = {"factorspec": {"canonical_text": True, "origins": True}}
    return {
        "greedy": body(temperature=0.0, seed=4, max_tokens=max_tokens, **origins),
        "sampled": body(seed=5, **sampled, **origins),
        "no limit": body(seed=6, temperature=1.0),
        "logprobs": body(seed=7, logprobs=True, top_logprobs=3, **sampled),
        "penalties": body(seed=8, **sampled, **PENALTIES),
        "biases": body(seed=9, **sampled, **BIASES),
        "stop": body(seed=10, stop=["Rome", "e"], **sampled),
        "three": body(seed=11, n=3, **sampled),
        "canonical": body(schema=trip_of(8), seed=12, **canonical, **sampled),
        "chat": body(schema=None, seed=13, temperature=1.0, max_tokens=12, stop=["zz"]),
        "tools": body(schema=None, seed=14, tools=TOOLS, tool_choice="required", **sampled),
        "refusal": body(schema=trip_of(6), seed=15, factorspec={"refusal": True}, **sampled),
        "no room": body(temperature=1.0, max_tokens=3),
        "not enforceable": body(schema={**TRIP, "x-factorspec": {"version": 99}}),
        "impossible": body(schema=impossible()),
        "no schema at all": body(schema={"type": 7}),
    }


def byte_model() -> ServedModel:
    return served_model(SteppedModel())


def compare(roots: tuple[str, str], asked: dict[str, dict[str, Any]]) -> None:
    for name, wanted in asked.items():
        for stream in (False, True):
            sent = {**wanted, "stream": stream}
            kept, own = (ask(root, sent) for root in roots)
            assert kept == own, (name, stream)


@pytest.mark.parametrize("policy", POLICIES)
def test_answers_streams_and_errors_are_the_same(policy: PolicyName) -> None:
    with keeping(byte_model(), policy) as kept, plain(byte_model(), policy) as own:
        compare((kept.root, own), wishes())
        assert kept.service.stats().records_open == 0
        assert kept.service.stats().asks_waiting == 0


@pytest.mark.parametrize("policy", ["certain", "tree"])
def test_kept_documents_are_the_same(policy: PolicyName) -> None:
    with keeping(byte_model(), policy) as kept, plain(byte_model(), policy) as own:
        for at, path in enumerate(sorted(DOCUMENTS.glob("*.json"))):
            wanted = body(schema=json.loads(path.read_text("utf-8")), seed=at, max_tokens=1500)
            compare((kept.root, own), {path.stem: wanted})


@pytest.mark.parametrize("policy", ["certain", "tree"])
def test_a_real_model_writes_the_same(policy: PolicyName, smollm2: TorchModel) -> None:
    def model() -> ServedModel:
        return ServedModel(EngineThread(smollm2), smollm2.chat, Canonical(vocabulary_of(smollm2)))

    named = {
        name: {**wanted, "model": smollm2.name}
        for name, wanted in wishes(60).items()
        if name in ("greedy", "sampled", "logprobs", "penalties")
    }
    with keeping(model(), policy) as kept, plain(model(), policy) as own:
        compare((kept.root, own), named)


def test_the_service_keeps_records_and_nothing_else() -> None:
    with keeping(byte_model()) as kept:
        for name in ("sampled", "three", "canonical", "chat", "tools", "refusal"):
            before = asked_of(kept)
            assert ask(kept.root, wishes()[name])[0] == 200
            assert (asked_of(kept) > before) == (name in ("sampled", "three")), name


def asked_of(kept: Keeping) -> int:
    return sum(kept.service.stats().waits.values())
