"""Mixed requests at once, and the embedded engine's records token by token, from the real server."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Awaitable, Iterator
from itertools import pairwise
from typing import Annotated, Any, Literal

import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel, Field

import factorspec_sdk as fs
from examples.meeting_planner.models import schedule
from examples.meeting_planner.problem import Day
from factorspec_sdk.client import AsyncClient, Client
from tests.records.trip import TODAY, Today, Trip
from tests.sglang.tool_asking import tool_call

URL = os.environ.get("FACTORSPEC_SGLANG_URL", "")
TIMEOUT_S = 500.0

pytestmark = [
    pytest.mark.skipif(not URL, reason="`make ci-sglang` starts the server"),
    pytest.mark.timeout(600),
]

PLAIN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "size": {"enum": ["S", "M", "L"]},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
    },
    "required": ["size", "count"],
    "additionalProperties": False,
}


class Note(BaseModel):
    """Free text beside a relation."""

    low: Annotated[int, Field(ge=0, le=99)]
    text: Annotated[str, Field(max_length=24)]
    high: Annotated[int, Field(ge=0, le=99)]
    kind: Literal["question", "answer"]

    @fs.relation("in order")
    def in_order(self) -> bool:
        return self.low < self.high


def trip(source: random.Random) -> type[BaseModel]:
    """A trip with two or three stops; which, the flights say."""
    cities = source.sample(["Rome", "Oslo", "Bern", "Köln", "Riga"], source.choice([2, 3]))
    stays = {city: source.randint(2, 4) for city in cities}
    return fs.bind(Trip, Today(cities=cities, stays=stays, flights=[*pairwise(cities)]))


def meeting(source: random.Random) -> type[BaseModel]:
    """A day with two friends of whom both can be met."""
    known = source.sample([("Ann", "park"), ("Bob", "bar"), ("Cleo", "pier")], 2)
    friends = [
        {
            "name": name,
            "place": place,
            "there_from": f"{9 + at * 3:02}:00",
            "there_until": f"{11 + at * 3:02}:00",
            "minutes": source.choice([30, 45]),
        }
        for at, (name, place) in enumerate(known)
    ]
    places = ["hotel", *(place for _, place in known)]
    travel = {a: {b: 15 for b in places if b != a} for a in places}
    day = {"arrive_at": "hotel", "arrive_time": "08:00", "friends": friends, "travel": travel}
    return schedule(Day.model_validate(day), most=True)


async def constrained(client: AsyncClient, record: type[BaseModel], prompt: str, **wishes: Any) -> str:
    result = await client.generate(record, prompt, **wishes)
    assert record.model_validate_json(result.text) == result.value
    assert result.report.exact
    assert all(one.outcome == "holds" for one in result.report.relations)
    counted = result.report.certain + result.report.chosen + result.report.free
    assert counted == result.report.tokens == result.usage.completion_tokens
    return "record"


async def plain(client: AsyncOpenAI, model: str, seed: int) -> str:
    wanted: Any = {"type": "json_schema", "json_schema": {"name": "x", "schema": PLAIN}}
    answer = await client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": "How many shirts?"}], response_format=wanted,
        max_tokens=60, temperature=1, seed=seed,
    )  # fmt: skip
    assert answer.choices[0].finish_reason == "stop"
    found = json.loads(answer.choices[0].message.content or "")
    assert found["size"] in "SML" and 1 <= found["count"] <= 9
    assert "factorspec" not in (answer.model_extra or {})
    return "plain"


async def chat(client: AsyncOpenAI, model: str, seed: int) -> str:
    answer = await client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": f"Say {seed}."}], max_tokens=6
    )
    assert answer.choices[0].message.content is not None
    return "chat"


def test_a_hundred_mixed_requests_at_once() -> None:
    source = random.Random(11)

    async def main() -> list[str]:
        other = AsyncOpenAI(base_url=URL, api_key="none", timeout=TIMEOUT_S, max_retries=0)
        async with AsyncClient(URL, timeout_s=TIMEOUT_S) as client, other:
            model = (await other.models.list()).data[0].id
            asked: list[Awaitable[str]] = []
            for at in range(100):
                warm = {"temperature": source.choice([0.0, 0.8]), "max_tokens": 300}
                if at % 4 == 0:
                    asked.append(constrained(client, trip(source), "Plan a trip.", **warm))
                elif at % 4 == 1:
                    record = meeting(source) if at % 8 == 1 else Note
                    asked.append(constrained(client, record, "Plan my day.", **warm))
                elif at % 8 == 2:
                    asked.append(tool_call(client, [trip(source), Note], **warm))
                elif at % 4 == 2:
                    asked.append(plain(other, model, at))
                else:
                    asked.append(chat(other, model, at))
            return list(await asyncio.gather(*asked))

    done = asyncio.run(main())
    counts = {kind: done.count(kind) for kind in set(done)}
    assert counts == {"record": 50, "tool call": 13, "plain": 12, "chat": 25}


@pytest.fixture(scope="module")
def embedded() -> Iterator[Client]:
    with Client.local("smollm2", dtype="float32", device="cpu", drafting="off", progress=False) as client:
        yield client


@pytest.mark.parametrize("name", ["trip", "another trip", "meeting", "note"])
def test_greedy_records_are_those_of_the_embedded_engine_token_by_token(embedded: Client, name: str) -> None:
    source = random.Random(name)
    kinds: dict[str, type[BaseModel]] = {
        "trip": fs.bind(Trip, TODAY),
        "meeting": meeting(source),
        "note": Note,
    }
    record: type[BaseModel] = kinds.get(name) or trip(source)
    prompt = f"I need a {name}, please."
    want = embedded.generate(record, prompt, max_tokens=300, origins=True)
    with Client(URL, timeout_s=TIMEOUT_S) as client:
        found = client.generate(record, prompt, max_tokens=300, origins=True)
    assert found.usage.prompt_tokens == want.usage.prompt_tokens
    assert found.report.origins == want.report.origins
    assert found.text == want.text
    assert found.spec_hash == want.spec_hash


def test_a_stream_grows_into_the_record() -> None:
    with (
        Client(URL, timeout_s=TIMEOUT_S) as client,
        client.stream(Note, "A note, please.", max_tokens=200) as stream,
    ):
        texts = [partial.text for partial in stream]
        result = stream.result()
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
    assert texts[-1] == result.text
    assert result.report.prompt_tokens > 0


def test_relations_in_conflict_are_told_by_name() -> None:
    given = Today(cities=["Rome", "Oslo"], stays={"Rome": 3, "Oslo": 2}, flights=[], total_days=3)
    never = fs.bind(Trip, given.model_copy(update={"stays": {"Rome": 99, "Oslo": 99}}))
    with Client(URL, timeout_s=TIMEOUT_S) as client, pytest.raises(fs.Unsatisfiable) as caught:
        client.generate(never, "A trip.", max_tokens=200)
    assert "stays as long as asked" in caught.value.conflict


def test_a_limit_below_the_shortest_record_is_told() -> None:
    with Client(URL, timeout_s=TIMEOUT_S) as client, pytest.raises(fs.TokenLimitTooSmall) as caught:
        client.generate(Note, "A note.", max_tokens=5)
    assert caught.value.token_limit == 5


def test_a_record_takes_no_more_steps_than_it_has_choices() -> None:
    with Client(URL, timeout_s=TIMEOUT_S) as client:
        report = client.generate(fs.bind(Trip, TODAY), "A trip, please.", max_tokens=300).report
    assert report.widest > 1
    assert report.model_steps <= report.choice_points
    assert report.model_steps + report.fill_steps <= report.tokens // 4
    assert report.drafts["certain"].accepted == report.certain
    guesses = [count for kind, count in report.drafts.items() if kind != "certain"]
    assert report.guessed == sum(count.drafted for count in guesses)
    assert report.accepted == sum(count.accepted for count in guesses)
    stood = sum(count.accepted for count in report.drafts.values())
    assert stood + report.choice_points - report.accepted == report.tokens
