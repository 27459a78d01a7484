"""Plans of calls: they say what the call then does, and send nothing."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from factorspec_sdk import errors, records
from factorspec_sdk.client import AsyncClient, CallPlan, Client
from tests.client.canned import BAD, AsyncCanned, Canned, Stay, as_text
from tests.client.test_strategies import FIXED, OPEN


def plan(record: type[BaseModel] = Stay, **how: Any) -> CallPlan:
    canned = Canned()
    found = Client(engine=canned, model="m").plan(record, "A stay.", **how)
    assert canned.bodies == []
    return found


@pytest.mark.parametrize(
    ("how", "routes", "most_calls"),
    [
        ({}, ["constrained"], 1),
        ({"strategy": "constrained"}, ["constrained"], 1),
        ({"skip_model": True}, ["constrained"], 1),
        ({"fallback": "retry"}, ["constrained", "retry"], 3),
        ({"fallback": "repair", "max_answers": 2}, ["constrained", "repair"], 2),
        ({"strategy": "retry"}, ["retry"], 3),
        ({"strategy": "repair", "max_answers": 1}, ["repair"], 1),
    ],
)
def test_steps_are_those_that_the_call_takes(how: dict[str, Any], routes: list[str], most_calls: int) -> None:
    found = plan(**how)
    assert [step.route for step in found.steps] == routes
    assert found.most_calls == most_calls and found.error is None
    canned = Canned(*[as_text(BAD)] * 9)
    try:
        Client(engine=canned, model="m").generate(Stay, "A stay.", **how)
    except (errors.NotEnforced, errors.RecordError):
        assert len(canned.bodies) == most_calls
    assert found.body == canned.bodies[0]


@pytest.mark.parametrize("how", [{"strategy": "determined"}, {"skip_model": True}])
def test_what_is_determined_needs_no_call(how: dict[str, Any]) -> None:
    found = plan(FIXED, **how)
    assert [step.route for step in found.steps] == ["determined"]
    assert found.most_calls == 0 and found.body is None


def test_what_the_call_would_raise_is_in_the_plan() -> None:
    found = plan(OPEN, strategy="determined")
    assert found.steps == () and isinstance(found.error, errors.DocumentError) and found.error.place == "city"

    @records.lt("low", "high", name="up")
    @records.gt("low", "high", name="down")
    class Impossible(BaseModel):
        low: Annotated[int, Field(ge=1, le=3)]
        high: Annotated[int, Field(ge=1, le=3)]

    assert isinstance(plan(Impossible).error, errors.Unsatisfiable)


def test_a_plan_reads_well() -> None:
    lines = str(plan(fallback="repair")).splitlines()
    assert (
        lines[0] == "1. constrained: the server enforces the spec while the model writes (it is tried first)"
    )
    assert lines[1].startswith("2. repair: answers are checked here")
    assert lines[2] == "at most 3 requests"
    assert lines[3] == f"spec {records.spec(Stay).hash}"
    assert "relation 'each once' (all_different)" in str(plan())


def test_the_async_client_plans_alike() -> None:
    planned = AsyncClient(engine=AsyncCanned(), model="m").plan(Stay, "A stay.", strategy="retry")
    assert planned.steps == plan(strategy="retry").steps


def test_a_plan_does_not_ask_for_the_models_name() -> None:
    body = Client(engine=Canned()).plan(Stay, "A stay.").body
    assert body is not None and body["model"] == ""
