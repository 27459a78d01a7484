"""The embedded engine with the real model, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import pytest
from pydantic import BaseModel, Field

from factorspec_sdk import errors, records
from factorspec_sdk.client import Client

pytestmark = [pytest.mark.slow, pytest.mark.model]


@records.all_different("cities[*]", name="each once")
@records.ordered("first", "last", name="in order")
class Plan(BaseModel):
    cities: Annotated[list[Annotated[str, records.In("known")]], Field(min_length=2, max_length=3)]
    first: Annotated[int, Field(ge=1, le=30)]
    last: Annotated[int, Field(ge=1, le=30)]
    note: Annotated[str, Field(max_length=30)]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client.local(progress=False) as made:
        yield made


def test_the_real_model_writes_a_valid_record(client: Client) -> None:
    known = ["Oslo", "Köln", "東京", " edge ", 'C:\\"x"', "🙂"]
    bound = records.bind(Plan, known=known)
    for seed, temperature in ((0, 0.0), (1, 1.0), (2, 1.5)):
        result = client.generate(bound, "Plan a trip.", seed=seed, temperature=temperature)
        plan = result.value
        assert set(plan.cities) <= set(known) and len(set(plan.cities)) == len(plan.cities)
        assert plan.first <= plan.last
        assert result.report.model_steps <= result.report.choice_points + 1


def test_drafting_is_the_callers_choice(client: Client) -> None:
    bound = records.bind(Plan, known=["Oslo", "Köln"])
    usual = client.generate(bound, "Plan a trip.")
    with Client.local(drafting="off", progress=False) as slow:
        result = slow.generate(bound, "Plan a trip.")
    assert result.text == usual.text
    assert result.report.model_steps == result.report.tokens > usual.report.model_steps


def test_missing_models_are_told() -> None:
    with pytest.raises(errors.ModelNotFound):
        Client.local("no/such/directory", progress=False)
