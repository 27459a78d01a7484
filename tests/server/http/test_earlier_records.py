"""A server guesses what earlier records of the same spec wrote: the same answers, in fewer steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from factorspec_sdk.tokens import Canonical
from factorspec_server.engines.remembering import earlier_of, remember
from factorspec_server.http.app import create_app
from factorspec_server.http.compiled_spec import Compiler
from factorspec_server.http.served_model import ServedModel
from factorspec_server.settings import ServerSettings
from tests.server.http.serving import TRIP, SteppedModel, body, byte_canonical, running, served_model
from tests.server.kept.two_servers import ask, keeping, metric

TOOLS = [{"type": "function", "function": {"name": "book", "parameters": TRIP}}]


def patient() -> ServedModel:
    return replace(served_model(SteppedModel()), patience_s=None)


@pytest.fixture(params=["here", "in workers"])
def root(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server that drafts trees, its address."""
    if request.param == "in workers":
        with keeping(patient(), "tree", earlier=True) as kept:
            yield kept.root
    else:
        with running(create_app(patient(), ServerSettings(drafting="tree"))) as made:
            yield made


def told(answer: Any) -> tuple[str, dict[str, Any]]:
    """What was written, and the report."""
    status, _, said = answer
    assert status == 200
    message = said["choices"][0]["message"]
    return str(message.get("tool_calls") or message["content"]), said["factorspec"]["report"]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_record_that_comes_again_is_the_same_in_fewer_steps(root: str, temperature: float) -> None:
    wanted = body(temperature=temperature, seed=4)
    first, *others = [told(ask(root, wanted)) for _ in range(4)]
    assert {text for text, _ in others} == {first[0]}
    assert first[1]["drafts"]["earlier"] == {"drafted": 0, "accepted": 0}
    for _, report in others:
        assert report["drafts"]["earlier"]["accepted"] > 0
        assert report["model_steps"] < first[1]["model_steps"]
    assert metric(root, 'factorspec_draft_tokens_total{fate="accepted",kind="earlier"}') > 0


def test_a_stream_is_remembered_too(root: str) -> None:
    wanted = body(temperature=1.0, seed=4)
    ask(root, {**wanted, "stream": True})
    assert told(ask(root, wanted))[1]["drafts"]["earlier"]["accepted"] > 0


def test_what_others_wrote_changes_no_answer(root: str) -> None:
    asked = [body(temperature=1.0, seed=seed) for seed in range(6)]
    with running(create_app(replace(patient(), earlier=False), ServerSettings(drafting="tree"))) as other:
        expected = [told(ask(other, wanted)) for wanted in asked]
    for _ in range(2):
        for wanted, (text, report) in zip(asked, expected, strict=True):
            found = told(ask(root, wanted))
            assert found[0] == text
            assert report["drafts"]["earlier"] == {"drafted": 0, "accepted": 0}


@pytest.mark.parametrize("extra", [{}, {"tool_choice": "auto"}, {"factorspec": {"refusal": True}}])
def test_calls_are_remembered_with_their_tools(extra: dict[str, Any]) -> None:
    with running(create_app(patient(), ServerSettings(drafting="tree"))) as root:
        wanted = {
            **body(
                schema=None, temperature=1.0, seed=14, tools=TOOLS, tool_choice="required", max_tokens=300
            ),
            **extra,
        }
        first, second = told(ask(root, wanted)), told(ask(root, wanted))
        assert first[0] == second[0]
        if "book" in first[0]:
            assert second[1]["drafts"]["earlier"]["accepted"] > 0
            assert second[1]["model_steps"] < first[1]["model_steps"]
        others = [{**TOOLS[0], "function": {"name": "hire", "parameters": TRIP}}]
        report = told(ask(root, {**wanted, "tools": others}))[1]
        assert report["drafts"]["earlier"]["drafted"] == 0


def test_it_can_be_switched_off() -> None:
    off = replace(patient(), earlier=False)
    with running(create_app(off, ServerSettings(drafting="tree"))) as root:
        wanted = body(temperature=0.0, seed=4)
        reports = [told(ask(root, wanted))[1] for _ in range(3)]
        assert {report["drafts"]["earlier"]["drafted"] for report in reports} == {0}
        assert len({report["model_steps"] for report in reports}) == 1


def test_a_spec_that_is_dropped_takes_its_records_with_it() -> None:
    canonical: Canonical = byte_canonical()
    compiler = Compiler(canonical, max_entries=1, max_bytes=1 << 30)
    compiled, _ = compiler.compile(TRIP)
    session = compiled.decoder.session()
    text = '{"first": "Oslo", "second": "Rome", "days": 3, "note": "no"}'
    tokens = canonical.vocabulary.encode(text)
    session.commit(tokens[:20])
    compiler.compile({**TRIP, "title": "another"})
    again, was_cached = compiler.compile(TRIP)
    assert not was_cached
    session.commit(tokens[20:])  # a record that is open meanwhile goes on
    remember(session)
    assert earlier_of(session) is compiled.decoder.earlier
    assert len(compiled.decoder.earlier) == 1
    assert len(again.decoder.earlier) == 0


def test_what_is_remembered_counts_and_is_forgotten() -> None:
    canonical = byte_canonical()
    compiler = Compiler(canonical, max_entries=4, max_bytes=1 << 30)
    compiled, _ = compiler.compile(TRIP)
    before = compiled.num_bytes
    compiled.decoder.earlier.remember(range(3000))
    grown = compiled.num_bytes - before
    assert 3000 < grown < 100_000
    compiler.forget_records()
    assert compiled.num_bytes == before


def test_records_are_shared_with_those_of_the_same_salt_alone(root: str) -> None:
    wanted = body(temperature=1.0, seed=4)
    first = told(ask(root, {**wanted, "cache_salt": "one"}))
    again = told(ask(root, {**wanted, "cache_salt": "one"}))
    assert first[0] == again[0]
    assert again[1]["model_steps"] < first[1]["model_steps"]
    for salt in ({"cache_salt": "two"}, {}):
        other = told(ask(root, {**wanted, **salt}))
        assert other[0] == first[0]
        assert other[1]["drafts"] == first[1]["drafts"]
        assert other[1]["model_steps"] == first[1]["model_steps"]


@pytest.mark.parametrize("extra", [{}, {"tool_choice": "auto"}, {"factorspec": {"refusal": True}}])
def test_so_are_calls(extra: dict[str, Any]) -> None:
    with running(create_app(patient(), ServerSettings(drafting="tree"))) as root:
        asked = body(
            schema=None, temperature=1.0, seed=14, tools=TOOLS, tool_choice="required", max_tokens=300
        )
        salts = ("one", "two", None, "one")
        reports = [told(ask(root, {**asked, **extra, "cache_salt": salt}))[1] for salt in salts]
        drafted = [report["drafts"]["earlier"]["drafted"] for report in reports]
        assert drafted[:3] == [0, 0, 0]
        if reports[0]["relations"]:  # it is a call
            assert drafted[3] > 0


def test_keys_and_values_of_prompts_are_shared_so_too(root: str) -> None:
    wanted = body(temperature=0.0, seed=4)
    salts = ("one", "one", "two", "two", None, None)
    reports = [told(ask(root, {**wanted, "cache_salt": salt}))[1] for salt in salts]
    assert [report["reused"] > 0 for report in reports] == [False, True] * 3


@pytest.mark.parametrize("salt", ["", "x" * 1025, 3, True, ["one"], {"a": 1}])
def test_a_salt_that_is_none_is_refused_by_name(salt: Any) -> None:
    with running(create_app(patient(), ServerSettings(drafting="tree"))) as root:
        status, _, said = ask(root, body(cache_salt=salt))
    assert status == 400
    assert said["error"]["param"] == "/cache_salt"
