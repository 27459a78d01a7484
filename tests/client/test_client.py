"""The typed client against a real server, and against an engine in this process."""

from __future__ import annotations

import asyncio
import datetime
import json
import sys
from collections.abc import Iterator
from enum import Enum
from typing import Annotated, Any

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, field_validator

from factorspec_sdk import errors, records
from factorspec_sdk.client import (
    AsyncClient,
    Client,
    IncompleteAnswer,
    InvalidAnswer,
    Result,
    Transport,
    UnenforcedAnswer,
)
from factorspec_sdk.client.error_answer import error_from_body
from factorspec_sdk.graph.cp import component as tier
from factorspec_server.http.in_process import InProcessEngine
from factorspec_server.settings import ServerSettings
from tests.client.canned import Canned
from tests.server.http.serving import SteppedModel, running, served_model, serving


class Mode(Enum):
    TRAIN = "train"
    PLANE = "plane"


@records.all_different("first", "second", name="two cities")
class Trip(BaseModel):
    """A short trip."""

    first: Annotated[str, records.In("cities")]
    second: Annotated[str, records.In("cities")]
    mode: Mode
    start: Annotated[datetime.date, Field(ge=datetime.date(2026, 1, 1), le=datetime.date(2026, 1, 31))]
    note: Annotated[str, Field(max_length=10)]


class Picky(BaseModel):
    """Has a validator of its own, which no server knows."""

    size: Annotated[int, Field(ge=1, le=3)]

    @field_validator("size")
    @classmethod
    def _never(cls, value: int) -> int:
        raise ValueError("not today")


CITIES = ["Oslo", "Köln", 'C:\\"x"', "東京"]
BOUND = records.bind(Trip, cities=CITIES)


@pytest.fixture(scope="module", params=["http", "in process"])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    if request.param == "http":
        with serving() as server, Client(server.url, timeout_s=30) as made:
            yield made
    else:
        engine: Transport = InProcessEngine(served_model(SteppedModel()))
        with Client(engine=engine, timeout_s=30) as made:
            yield made


def check_trip(result: Result[Trip]) -> None:
    trip = result.value
    assert isinstance(trip, Trip)
    assert trip.first in CITIES and trip.second in CITIES and trip.first != trip.second
    assert isinstance(trip.mode, Mode)
    assert trip.start.month == 1
    assert json.loads(result.text)["first"] == trip.first


def test_a_typed_record_and_its_report(client: Client) -> None:
    result = client.generate(BOUND, "A trip, please.", temperature=1.0, seed=7, origins=True)
    check_trip(result)
    report = result.report
    assert report.certain + report.chosen + report.free == report.tokens == result.usage.completion_tokens
    assert report.exact and report.seed == 7
    assert str(report).startswith(f"{report.tokens} tokens: {report.certain} certain, ")
    assert str(report).endswith("\nholds: two cities")
    assert [(one.name, one.outcome) for one in report.relations] == [("two cities", "holds")]
    assert report.origins is not None and len(report.origins) == report.tokens
    assert result.spec_hash == records.spec(BOUND).hash
    assert result.raw["model"] == client.model == "scripted"
    assert result.time_s > 0


def test_the_same_seed_gives_the_same_record(client: Client) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "A trip."}]
    texts = [client.generate(BOUND, messages, temperature=1.0, seed=seed).text for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_a_record_without_relations(client: Client) -> None:
    class Size(BaseModel):
        size: Annotated[int, Field(ge=1, le=3)]

    assert 1 <= client.generate(Size, "How big?").value.size <= 3


def test_a_contradiction_is_the_same_error_as_at_home(client: Client) -> None:
    @records.all_different("first", "second", name="differ")
    @records.eq("first", "second", name="agree")
    class Impossible(BaseModel):
        first: Annotated[int, Field(ge=1, le=3)]
        second: Annotated[int, Field(ge=1, le=3)]

    with pytest.raises(errors.Unsatisfiable) as caught:
        client.generate(Impossible, "Try.")
    assert sorted(caught.value.conflict) == ["agree", "differ"]
    assert caught.value.minimal
    assert caught.value.problems[0].place.startswith("/x-factorspec/relations/")
    check_trip(client.generate(BOUND, "Go on."))


def test_a_token_limit_too_small_says_how_much_it_takes(client: Client) -> None:
    with pytest.raises(errors.TokenLimitTooSmall) as caught:
        client.generate(BOUND, "Short.", max_tokens=5)
    assert caught.value.token_limit == 5
    assert caught.value.shortest is not None
    assert (
        client.generate(BOUND, "Short.", max_tokens=caught.value.shortest).report.tokens
        <= caught.value.shortest
    )


class Box(BaseModel):
    width: Annotated[int, Field(ge=1, le=100_000)]
    height: Annotated[int, Field(ge=1, le=100_000)]
    area: Annotated[int, Field(ge=1, le=100_000)]

    @records.relation("area")
    def is_product(self) -> bool:
        return self.width * self.height == self.area


@records.le("width", 90_000, name="narrow")
class OtherBox(Box):
    """Another spec, of which nothing is remembered."""


def test_a_budget_that_ends_in_mid_record_narrows_or_aborts(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.generate(Box, "A box.", temperature=1.0, seed=1).report.exact
    monkeypatch.setattr(tier, "SLOT_LIMIT", 0.0)  # only witnesses are left
    result = client.generate(OtherBox, "A box.", temperature=1.0, seed=1)
    assert result.value.width * result.value.height == result.value.area
    assert not result.report.exact
    with pytest.raises(errors.BudgetSpent) as caught:
        client.generate(OtherBox, "A box.", temperature=1.0, seed=1, on_budget="abort")
    assert result.text.startswith(caught.value.partial)


def test_the_models_own_validation_runs_as_well(client: Client) -> None:
    with pytest.raises(InvalidAnswer) as caught:
        client.generate(Picky, "Size?")
    assert isinstance(caught.value, errors.RecordError)
    assert caught.value.value == json.loads(caught.value.text)
    assert "not today" in str(caught.value)
    assert caught.value.place == "size"
    assert caught.value.raw["choices"]


def test_an_unbound_model_is_refused_before_anything_is_sent() -> None:
    transport = Canned({})
    with pytest.raises(errors.BindingError):
        Client(engine=transport).generate(Trip, "A trip.")
    assert transport.bodies == []


# -- servers that are not ours ----------------------------------------------------------------------


def plain_answer(text: str, finish_reason: str = "stop") -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


@pytest.fixture(scope="module")
def foreign() -> Iterator[str]:
    """An OpenAI-compatible server that drops what it does not know; what it does is in the message."""
    app = FastAPI()

    @app.post("/v1/chat/completions")
    async def chat(request: Request) -> JSONResponse:
        wish = (await request.json())["messages"][-1]["content"]
        if wish == "other spec":
            return JSONResponse(
                plain_answer('{"size": 1}') | {"factorspec": {"spec_hash": "0" * 64, "report": {}}}
            )
        if wish == "401":
            return JSONResponse({"error": {"message": "Incorrect API key", "code": "invalid_api_key"}}, 401)
        if wish == "503":
            return JSONResponse({"error": {"message": "come back later", "code": "overloaded"}}, 503)
        if wish == "page":
            return JSONResponse("<html>", 502)
        if wish == "empty":
            return JSONResponse({"choices": []})
        return JSONResponse(plain_answer('{"size": 1}'))

    with running(app) as root:
        yield f"{root}/v1"


class Size(BaseModel):
    size: Annotated[int, Field(ge=1, le=3)]


@pytest.mark.parametrize("wish", ["anything", "other spec"])
def test_a_server_that_does_not_enforce_is_found_out(foreign: str, wish: str) -> None:
    with Client(foreign, model="gpt") as client, pytest.raises(errors.NotEnforced) as caught:
        client.generate(Size, wish)
    assert isinstance(caught.value, UnenforcedAnswer)
    assert caught.value.raw["choices"]


@pytest.mark.parametrize(
    ("wish", "kind"),
    [
        ("401", errors.EngineError),
        ("503", errors.Overloaded),
        ("page", errors.EngineError),
        ("empty", errors.EngineError),
    ],
)
def test_answers_of_other_servers(foreign: str, wish: str, kind: type[Exception]) -> None:
    with Client(foreign, model="gpt") as client, pytest.raises(kind):
        client.generate(Size, wish)


def test_no_server_at_all() -> None:
    with serving() as server:
        url = server.url
    with (
        Client(url, model="x", attempts=2) as client,
        pytest.raises(errors.ConnectionLost, match="is the server running"),
    ):
        client.generate(Size, "Anyone?")


def test_no_answer_in_time() -> None:
    with serving() as server, Client(server.url, timeout_s=0.3) as client:
        assert client.model
        server.model.gate.clear()
        with pytest.raises(errors.ConnectionLost, match="in time"):
            client.generate(BOUND, "Slow.")
        server.model.gate.set()


def test_a_key_is_sent() -> None:
    with serving(ServerSettings(api_key="right")) as server:
        with Client(server.url, api_key="right") as client:
            check_trip(client.generate(BOUND, "A trip."))
        with (
            Client(server.url, api_key="wrong") as client,
            pytest.raises(errors.EngineError, match="API key"),
        ):
            client.generate(BOUND, "A trip.")


def test_an_unfinished_answer_keeps_what_there_is() -> None:
    answer = plain_answer('{"size": ', "length")
    answer["factorspec"] = {"spec_hash": records.spec(Size).hash, "report": {}}
    with pytest.raises(IncompleteAnswer) as caught:
        Client(engine=Canned(answer)).generate(Size, "Size?")
    assert caught.value.partial == '{"size": '
    assert caught.value.raw is answer


def test_the_async_client() -> None:
    async def ask(url: str) -> list[Result[Trip]]:
        async with AsyncClient(url, timeout_s=30) as client:
            return await asyncio.gather(
                *(client.generate(BOUND, "A trip.", seed=n, temperature=1.0) for n in range(4))
            )

    with serving() as server:
        for result in asyncio.run(ask(server.url)):
            check_trip(result)


def test_a_missing_package_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(errors.MissingExtra, match=r"pip install 'factorspec\[client\]'"):
        Client()


# -- errors over the wire ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        errors.DocumentError("bad", [errors.Problem("/a", "wrong", "1", "do this")]),
        errors.UnsupportedKeyword("bad", [errors.Problem("/a", "wrong"), errors.Problem("", "all")]),
        errors.Unsatisfiable("no", [errors.Problem("/r/0", "x")], conflict=["a", "b"], minimal=False),
        errors.TokenLimitTooSmall("no", token_limit=3, shortest=9),
        errors.TooLarge("no"),
        errors.BudgetSpent("no", partial='{"a": 1'),
        errors.Overloaded("later"),
    ],
)
def test_errors_come_back_as_they_were(error: errors.FactorspecError) -> None:
    from factorspec_server.http.error_body import error_body, status_of

    body = json.loads(json.dumps(error_body(error, schema_pointer="/schema")))["error"]
    back = error_from_body(body, status=status_of(error))
    assert type(back) is type(error)
    assert vars(back) == vars(error)
    assert str(back) == str(error)


@pytest.mark.parametrize("body", [None, "text", {}, {"code": "strange", "message": "m", "problems": [3, {}]}])
def test_strange_bodies_are_errors_all_the_same(body: object) -> None:
    assert type(error_from_body(body, status=400)) is errors.DocumentError
    assert type(error_from_body(body, status=500)) is errors.EngineError
    for status in (429, 503):
        assert type(error_from_body(body, status=status)) is errors.Overloaded
    for status, timed_out in ((502, False), (504, True)):
        lost = error_from_body(None, status=status)
        assert isinstance(lost, errors.ConnectionLost) and lost.timed_out is timed_out


def test_an_address_where_nothing_is_says_what_may_be_missing() -> None:
    assert "should base_url end with /v1?" in str(error_from_body({"detail": "Not Found"}, status=404))
