"""Strategies: what is sent, what is taken, what is asked again, and what the result and the errors tell."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, field_validator

from factorspec_sdk import errors, records
from factorspec_sdk.client import (
    AsyncClient,
    Client,
    Fallback,
    IncompleteAnswer,
    InvalidAnswer,
    Result,
    Strategy,
    UnenforcedAnswer,
)
from factorspec_server.http.in_process import InProcessEngine
from tests.client.canned import BAD, GOOD, AsyncCanned, Canned, Stay, as_text, completion
from tests.server.http.serving import SteppedModel, served_model


def ask(canned: Canned, strategy: Strategy = "auto", **more: Any) -> Result[Stay]:
    return Client(engine=canned).generate(Stay, "A stay, please.", strategy=strategy, **more)


# -- retry ------------------------------------------------------------------------------------------


def test_retry_names_the_broken_relations_with_their_values_and_asks_again() -> None:
    canned = Canned(as_text(BAD), f"Sorry!\n```json\n{as_text(GOOD)}\n```")
    result = ask(canned, "retry", seed=3)
    assert result.value == Stay(**GOOD)
    assert result.route == "retry" and result.calls == 2
    assert result.usage == errors.Usage(20, 10, 30)
    assert result.text == as_text(GOOD)
    first, second = result.attempts
    assert [problem.message.split("'")[1] for problem in first.problems] == ["in order", "each once"]
    assert first.text == as_text(BAD) and second.problems == ()
    assert {(one.name, one.outcome) for one in result.report.relations} == {
        ("in order", "holds"),
        ("each once", "holds"),
    }
    told = canned.said(1)[-1]
    assert told["role"] == "user"
    assert "cities[0] and cities[1] are both 'Oslo'" in told["content"]
    assert canned.said(1)[-2] == {"role": "assistant", "content": as_text(BAD)}


def test_retry_asks_in_words_and_for_nothing_that_a_server_may_not_know() -> None:
    canned = Canned(as_text(GOOD))
    ask(canned, "retry", max_tokens=99)
    assert set(canned.bodies[0]) == {"model", "messages", "temperature", "top_p", "max_tokens"}
    system, user = canned.said(0)
    assert user["role"] == "user" and user["content"].startswith("A stay, please.\n\nAnswer with one JSON")
    form = json.loads(user["content"].splitlines()[-1])
    assert form == {"cities": ["Oslo", "Rome"], "first": 1, "last": 1, "note": "…"}
    for said in ("each once", "a stay does not end before it begins", '"maximum": 30', "Köln"):
        assert said in system["content"]


def test_a_valid_answer_is_never_asked_for_again() -> None:
    for finish_reason in ("stop", "length"):
        assert ask(Canned(completion(as_text(GOOD), finish_reason)), "retry").calls == 1


def test_retry_gives_up_with_the_log_of_all_attempts() -> None:
    with pytest.raises(InvalidAnswer) as caught:
        ask(Canned("no idea", as_text(BAD)), "retry", max_answers=2)
    error = caught.value
    assert [attempt.text for attempt in error.attempts] == ["no idea", as_text(BAD)]
    assert error.last_attempt == error.attempts[1]
    assert error.problems == error.attempts[1].problems
    assert error.value == BAD and error.text == as_text(BAD)
    assert str(error).startswith("none of 2 answers is a valid Stay; wrong with the last one is:")


def test_a_lost_connection_keeps_the_attempts_before() -> None:
    with pytest.raises(errors.ConnectionLost) as caught:
        ask(Canned(as_text(BAD), errors.ConnectionLost("gone")), "retry")
    assert [attempt.text for attempt in caught.value.attempts] == [as_text(BAD)]
    with pytest.raises(errors.ConnectionLost) as caught:
        ask(Canned(errors.ConnectionLost("gone")), "retry")
    assert caught.value.attempts == () and caught.value.last_attempt is None


def test_an_answer_that_was_cut_off_is_told_so() -> None:
    canned = Canned(completion(as_text(GOOD)[:20], "length"), as_text(GOOD))
    assert ask(canned, "retry").calls == 2
    assert "cut off" in canned.said(1)[-1]["content"]


def test_token_counts_may_be_missing() -> None:
    answer = completion(as_text(GOOD))
    del answer["usage"]
    result = ask(Canned(answer), "retry")
    assert result.usage.total_tokens == 0 and result.attempts[0].usage is None


@pytest.mark.parametrize("route", ["retry", "repair"])
def test_an_objective_is_refused_where_nobody_enforces_it(route: Strategy) -> None:
    @records.maximize("size")
    class Big(BaseModel):
        size: Annotated[int, Field(ge=1, le=3)]

    canned = Canned()
    with pytest.raises(errors.UnsupportedKeyword, match="objective"):
        Client(engine=canned).generate(Big, "Big.", strategy=route)
    assert canned.bodies == []


# -- repair -----------------------------------------------------------------------------------------


def test_repair_changes_the_fewest_fields_and_says_which() -> None:
    result = ask(Canned(as_text(BAD)), "repair")
    assert result.route == "repair" and result.calls == 1
    assert len(result.changes) == 2
    assert {change.path.split("[")[0] for change in result.changes} <= {"cities", "first", "last"}
    assert result.value.first <= result.value.last
    assert len(set(result.value.cities)) == len(result.value.cities)
    assert result.value.note == GOOD["note"]
    assert json.loads(result.text) == result.value.model_dump()
    assert len(result.attempts[0].problems) == 2


def test_repair_leaves_a_valid_answer_alone() -> None:
    result = ask(Canned(as_text(GOOD)), "repair")
    assert result.changes == () and result.value == Stay(**GOOD)


def test_repair_asks_again_where_there_is_nothing_to_repair() -> None:
    result = ask(Canned("no idea", as_text(BAD)), "repair")
    assert result.calls == 2 and len(result.changes) == 2


class Picky(BaseModel):
    """Has a validator of its own, which no spec knows."""

    size: Annotated[int, Field(ge=1, le=3)]

    @field_validator("size")
    @classmethod
    def _odd(cls, value: int) -> int:
        if value % 2 == 0:
            raise ValueError("must be odd")
        return value


def test_what_no_repair_helps_is_asked_again() -> None:
    canned = Canned('{"size": 2}', '{"size": 3}')
    result = Client(engine=canned).generate(Picky, "Size?", strategy="repair")
    assert result.value.size == 3 and result.changes == ()
    assert "must be odd" in canned.said(1)[-1]["content"]


def test_a_contradiction_ends_a_repair_with_its_attempt() -> None:
    @records.lt("low", "high", name="up")
    @records.gt("low", "high", name="down")
    class Impossible(BaseModel):
        low: Annotated[int, Field(ge=1, le=3)]
        high: Annotated[int, Field(ge=1, le=3)]

    with pytest.raises(errors.Unsatisfiable) as caught:
        Client(engine=Canned('{"low": 1, "high": 2}')).generate(Impossible, "Try.", strategy="repair")
    assert len(caught.value.attempts) == 1


# -- determined -------------------------------------------------------------------------------------


@records.lt("first", "last", name="up")
class Fixed(BaseModel):
    """Leaves nothing open."""

    city: Annotated[str, records.In("cities")]
    first: Annotated[int, Field(ge=1, le=2)]
    last: Annotated[int, Field(ge=1, le=2)]


FIXED = records.bind(Fixed, cities=["Köln"])
OPEN = records.bind(Fixed, cities=["Köln", "Oslo"])


@pytest.mark.parametrize("how", [{"strategy": "determined"}, {"skip_model": True}])
def test_what_the_spec_determines_is_filled_without_a_call(how: dict[str, Any]) -> None:
    canned = Canned()
    result = Client(engine=canned, model="m").generate(FIXED, "Fill.", **how)
    assert result.text == '{"city": "Köln", "first": 1, "last": 2}'
    assert result.value == FIXED(city="Köln", first=1, last=2)
    assert result.route == "determined" and result.calls == 0 and canned.bodies == []
    assert result.usage.total_tokens == 0 and result.raw == {}


@pytest.mark.parametrize(
    ("record", "place"), [(OPEN, "city"), (Stay, "cities"), (Picky, "size")], ids=["value", "list", "number"]
)
def test_what_is_open_is_named(record: type[BaseModel], place: str) -> None:
    with pytest.raises(errors.DocumentError) as caught:
        Client(engine=Canned()).generate(record, "Fill.", strategy="determined")
    assert caught.value.place is not None and caught.value.place.startswith(place)


def test_free_text_is_open() -> None:
    class Note(BaseModel):
        note: Annotated[str, Field(max_length=5)]

    class Empty(BaseModel):
        note: Annotated[str, Field(max_length=0)]

    with pytest.raises(errors.DocumentError, match="free text"):
        Client(engine=Canned()).generate(Note, "Fill.", strategy="determined")
    assert Client(engine=Canned()).generate(Empty, "Fill.", strategy="determined").text == '{"note": ""}'


def test_a_model_is_asked_unless_the_caller_allows_to_skip_it() -> None:
    engine = InProcessEngine(served_model(SteppedModel()))
    with Client(engine=engine) as client:
        for how in ({}, {"strategy": "constrained"}):
            result = client.generate(FIXED, "Fill.", **how)  # type: ignore[arg-type]
            assert result.route == "constrained" and result.calls == 1
        assert client.generate(OPEN, "Fill.", skip_model=True).route == "constrained"
        determined = client.generate(FIXED, "Fill.", strategy="determined")
        assert determined.text == result.text


# -- auto -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["auto", "constrained"])
def test_a_server_that_does_not_enforce_is_an_error_unless_a_fallback_is_named(strategy: Strategy) -> None:
    canned = Canned(as_text(GOOD))
    with pytest.raises(UnenforcedAnswer) as caught:
        ask(canned, strategy)
    assert [attempt.text for attempt in caught.value.attempts] == [as_text(GOOD)]
    assert len(canned.bodies) == 1 and len(canned.said(0)) == 1


@pytest.mark.parametrize("fallback", ["retry", "repair"])
def test_a_fallback_takes_the_answer_that_is_there(fallback: Fallback) -> None:
    canned = Canned(as_text(GOOD))
    result = ask(canned, fallback=fallback)
    assert result.route == fallback and result.calls == 1
    assert "response_format" in canned.bodies[0] and "each once" in canned.said(0)[0]["content"]


def test_a_fallback_goes_on_from_the_answer_that_is_there() -> None:
    canned = Canned(as_text(BAD), as_text(GOOD))
    assert ask(canned, fallback="retry").calls == 2
    assert "response_format" not in canned.bodies[1]


def test_what_is_enforced_needs_no_fallback() -> None:
    with Client(engine=InProcessEngine(served_model(SteppedModel()))) as client:
        result = client.generate(Stay, "A stay.", fallback="retry", temperature=1.0, seed=1)
    assert result.route == "constrained"
    (attempt,) = result.attempts
    assert attempt.text == result.text and attempt.usage == result.usage and attempt.problems == ()


def test_an_answer_that_is_not_complete_is_in_the_log() -> None:
    vendor = {"spec_hash": records.spec(Stay).hash, "report": {}}
    with pytest.raises(IncompleteAnswer) as caught:
        ask(Canned(completion('{"cities": ', "length", factorspec=vendor)))
    (attempt,) = caught.value.attempts
    assert attempt.text == '{"cities": ' and attempt.finish_reason == "length" and attempt.problems


# -- prompting and asyncio --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "prompting", "turns"),
    [("retry", "none", 1), ("retry", "auto", 2), ("constrained", "auto", 1), ("constrained", "rules", 2)],
)
def test_rules_go_into_the_prompt_where_they_are_wanted(
    strategy: Strategy, prompting: Any, turns: int
) -> None:
    canned = Canned(as_text(GOOD))
    try:
        ask(canned, strategy, prompting=prompting)
    except UnenforcedAnswer:
        assert strategy == "constrained"
    assert len(canned.said(0)) == turns


def test_rules_of_ones_own_join_the_system_message() -> None:
    canned = Canned(as_text(GOOD))
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "A stay."}]
    Client(engine=canned).generate(
        Stay, messages, strategy="retry", prompting=lambda spec: f"Mind {spec.root.relations[0].name}."
    )
    system, user = canned.said(0)
    assert system["content"].startswith("Be brief.\n\nMind ") and user == messages[1]
    assert messages[0]["content"] == "Be brief."


def test_the_async_client_takes_the_same_steps() -> None:
    async def run() -> Result[Stay]:
        async with AsyncClient(engine=AsyncCanned(as_text(BAD), as_text(GOOD))) as client:
            return await client.generate(Stay, "A stay.", strategy="retry")

    result = asyncio.run(run())
    assert result.calls == 2 and result.route == "retry"

    async def fail() -> None:
        async with AsyncClient(engine=AsyncCanned(as_text(BAD), errors.Overloaded("busy"))) as client:
            await client.generate(Stay, "A stay.", strategy="retry")

    with pytest.raises(errors.Overloaded) as caught:
        asyncio.run(fail())
    assert len(caught.value.attempts) == 1
