"""Drafts change how often the model runs, not what it writes: requests against themselves, token by token.

A request with logprobs has a step for each token (``batch_chains.py``), so it is the reference.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import urllib.request
from collections.abc import Iterator
from typing import Any, Literal

import httpx
import pytest
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel, Field

from factorspec_sdk.records.document import document
from tests.sglang.test_real_server import PLAIN, Note, meeting, trip

URL = os.environ.get("FACTORSPEC_SGLANG_URL", "")
TIMEOUT_S = 500.0
RANKS = int(os.environ.get("FACTORSPEC_SGLANG_RANKS", "1"))
#: guesses rest where they do not pay, and late ones are left out: so many requests may go without
TRIES = 60

pytestmark = [
    pytest.mark.skipif(not URL, reason="`make ci-sglang` starts the server"),
    pytest.mark.timeout(600),
]

PROMPT = "Ann and Bob: what is the question, and what the answer? Rome, Oslo and Bern are the cities."


def wishes(record: type[BaseModel], **changes: Any) -> dict[str, Any]:
    schema = {"name": "record", "schema": document(record)}
    return {
        "messages": [{"role": "user", "content": PROMPT}],
        "response_format": {"type": "json_schema", "json_schema": schema},
        "max_tokens": 300,
        "temperature": 0,
        **changes,
    }


def records() -> list[type[BaseModel]]:
    source = random.Random(5)
    return [Note, trip(source), meeting(source), trip(source)]


@pytest.fixture(scope="module")
def client() -> Iterator[OpenAI]:
    with OpenAI(base_url=URL, api_key="none", timeout=TIMEOUT_S, max_retries=0) as client:
        yield client


def model_of(client: OpenAI) -> str:
    return client.models.list().data[0].id


def told(client: OpenAI, **fields: Any) -> list[tuple[str | None, str]]:
    """Texts, and how they ended."""
    answer = client.chat.completions.create(model=model_of(client), **fields)
    return [(choice.message.content, choice.finish_reason) for choice in answer.choices]


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize(
    "changes",
    [{}, {"frequency_penalty": 0.4}, {"n": 2}],
    ids=["greedy", "penalty", "n"],
)
def test_greedy_requests_write_what_they_write_a_token_a_step(
    client: OpenAI, number: int, changes: dict[str, Any]
) -> None:
    fields = wishes(records()[number], **changes)
    assert told(client, **fields) == told(client, **fields, logprobs=True)


@pytest.mark.parametrize("limit", range(34, 50, 3))
def test_a_limit_in_the_middle_of_a_chain_changes_nothing(client: OpenAI, limit: int) -> None:
    fields = wishes(Note, max_tokens=limit)
    assert told(client, **fields) == told(client, **fields, logprobs=True)


def test_no_more_steps_than_choices_and_guesses_are_counted(client: OpenAI) -> None:
    for record in records():
        answer = client.chat.completions.create(model=model_of(client), **wishes(record))
        report = answer.model_dump(warnings=False)["factorspec"]["report"]
        assert report["accepted"] <= report["guessed"]
        stood = sum(kind["accepted"] for kind in report["drafts"].values())
        assert stood + report["choice_points"] - report["accepted"] == report["tokens"]
        # the first token comes with the prompt, and behind the last one that counts a step writes the end
        assert report["tokens_run"] - report["in_vain"] == report["tokens"]
        assert sum(kind["drafted"] for kind in report["drafts"].values()) <= report["tokens_run"]
        assert report["model_steps"] + report["fill_steps"] <= report["choice_points"] + 4


@pytest.mark.skipif(RANKS > 1, reason="branches run on one rank alone")
def test_several_values_are_tried_in_one_step(client: OpenAI) -> None:
    """Of one choice more than one value is guessed, which chains cannot; the answer is that of no guess."""

    class Answer(BaseModel):
        answer: Literal["yes", "no"]  # short, so that the second one is worth its inputs on a CPU

    reference = told(client, **wishes(Answer), logprobs=True)
    model = model_of(client)
    for number in range(
        10 * TRIES
    ):  # guesses may rest for a thousand steps, and a request takes two or three
        salt = {"cache_salt": f"several {number}"}  # what was written before is all that is guessed
        answer = client.chat.completions.create(model=model, extra_body=salt, **wishes(Answer))
        assert [(answer.choices[0].message.content, answer.choices[0].finish_reason)] == reference
        report = answer.model_dump(warnings=False)["factorspec"]["report"]
        assert report["accepted"] <= report["choice_points"]
        assert report["tokens_run"] - report["in_vain"] == report["tokens"]
        if report["guessed"] > report["choice_points"]:
            break
    else:
        pytest.fail("nothing was ever tried beside the likeliest value")


def test_a_record_that_comes_again_takes_fewer_steps_until_caches_are_emptied(client: OpenAI) -> None:
    class Again(BaseModel):
        question: str = Field(max_length=120)
        answer: str = Field(max_length=120)

    fields = wishes(Again)

    def written() -> tuple[str | None, dict[str, Any]]:
        answer = client.chat.completions.create(model=model_of(client), **fields)
        return answer.choices[0].message.content, answer.model_dump(warnings=False)["factorspec"]["report"]

    first, *others = [written() for _ in range(4)]
    while not any(report["drafts"].get("earlier", {}).get("accepted") for _, report in others):
        assert len(others) < TRIES
        others.append(written())
    with urllib.request.urlopen(f"{URL.removesuffix('/v1')}/flush_cache", data=b"", timeout=60) as told:
        assert told.status == 200
    forgotten = written()
    assert {text for text, _ in (*others, forgotten)} == {first[0]}
    assert min(report["model_steps"] for _, report in others) < first[1]["model_steps"]
    for _, report in (first, forgotten):
        assert "earlier" not in report["drafts"]


def test_records_are_shared_with_those_of_the_same_salt_alone(client: OpenAI) -> None:
    class Salted(BaseModel):
        question: str = Field(max_length=60)
        answer: str = Field(max_length=60)

    fields = wishes(Salted)

    def guesses(**salts: str) -> dict[str, int] | None:
        answer = client.chat.completions.create(model=model_of(client), extra_body=salts, **fields)
        drafts: dict[str, dict[str, int]] = answer.model_dump(warnings=False)["factorspec"]["report"][
            "drafts"
        ]
        return drafts.get("earlier")

    def generate(**body: Any) -> tuple[int, Any]:
        schema = json.dumps(fields["response_format"]["json_schema"]["schema"])
        parameters = {"json_schema": schema, "max_new_tokens": 200, "temperature": 0}
        answer = httpx.post(
            f"{URL.removesuffix('/v1')}/generate",
            json={"sampling_params": parameters, **body},
            timeout=TIMEOUT_S,
        )
        return answer.status_code, answer.json()

    def come(**salts: str) -> bool:
        return any(found["accepted"] > 0 for _ in range(TRIES) if (found := guesses(**salts)) is not None)

    assert guesses(cache_salt="a") is None
    assert come(cache_salt="a")
    assert [guesses(cache_salt="b"), guesses(extra_key="c"), guesses(cache_salt="a", extra_key="x")] == [
        None
    ] * 3
    assert guesses() is None
    assert come(extra_key="a")  # SGLang joins the two
    status, answers = generate(text=["Ask and answer.", "Again:"], extra_key=["d", "e"])
    assert status == 200
    assert [answer["meta_info"]["finish_reason"]["type"] for answer in answers] == ["stop"] * 2
    assert come(cache_salt="d")
    assert guesses(cache_salt="f") is None
    status, told = generate(text="Ask and answer.", extra_key=["d"])
    assert (status, "extra_key must be a string" in str(told)) == (400, True)


def test_in_one_batch_with_others_requests_write_what_they_write_alone(client: OpenAI) -> None:
    plain = {"type": "json_schema", "json_schema": {"name": "x", "schema": PLAIN}}
    chat = {"messages": [{"role": "user", "content": "Say something."}], "temperature": 0}
    every: list[dict[str, Any]] = [
        *(wishes(record) for record in records()),
        wishes(Note, logprobs=True),
        wishes(Note, max_tokens=40),
        wishes(Note, response_format=plain),
        {**chat, "max_tokens": 20},
        {**chat, "max_tokens": 40, "stop": [" a", "e "]},
    ]
    alone = [told(client, **fields) for fields in every]

    model = model_of(client)

    async def together() -> list[Any]:
        async with AsyncOpenAI(base_url=URL, api_key="none", timeout=TIMEOUT_S, max_retries=0) as many:
            return await asyncio.gather(
                *(many.chat.completions.create(model=model, **fields) for fields in every)
            )

    found = [
        [(choice.message.content, choice.finish_reason) for choice in answer.choices]
        for answer in asyncio.run(together())
    ]
    assert found == alone
