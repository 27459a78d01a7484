"""Streams: partial records that grow to the result, over HTTP and in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from factorspec_sdk import errors, records
from factorspec_sdk.client import AsyncClient, Client, Partial, Result, UnenforcedAnswer
from factorspec_server.http.in_process import InProcessEngine
from tests.client.canned import GOOD, AsyncCanned, Canned, Stay, as_text, completion
from tests.client.test_partial import Tour, is_part
from tests.client.test_strategies import FIXED
from tests.server.http.serving import SteppedModel, served_model, serving


@pytest.fixture(scope="module", params=["http", "in process"])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    if request.param == "http":
        with serving() as server, Client(server.url, timeout_s=30) as made:
            yield made
    else:
        with Client(engine=InProcessEngine(served_model(SteppedModel())), timeout_s=30) as made:
            yield made


def check(partials: list[Partial[Tour]], result: Result[Tour]) -> None:
    texts = [partial.text for partial in partials]
    assert texts[0] == "" and partials[0].certain == ("kind",)
    assert partials[0].value.__dict__ == {"kind": "tour"}
    assert texts == sorted(texts, key=len) and len(set(texts)) == len(texts) > 2
    assert texts[-1] == result.text
    for partial in partials:
        assert is_part(partial.value, result.value)
    assert partials[-1].value == result.value
    assert result.route == "constrained" and result.calls == 1


def test_partial_records_grow_to_the_result_that_generate_gives(client: Client) -> None:
    with client.stream(Tour, "A tour.", temperature=1.0, seed=3) as stream:
        partials = list(stream)
        result = stream.result()
    check(partials, result)
    whole = client.generate(Tour, "A tour.", temperature=1.0, seed=3)
    assert (result.value, result.text, result.usage) == (whole.value, whole.text, whole.usage)
    assert result.report.relations == whole.report.relations
    assert result.raw["object"] == "chat.completion"


def test_the_result_may_be_asked_for_at_once(client: Client) -> None:
    with client.stream(Tour, "A tour.", seed=3) as stream:
        assert isinstance(stream.result().value, Tour)
        assert stream.result() is stream.result()


def test_errors_come_as_from_generate(client: Client) -> None:
    with client.stream(Tour, "A tour.", max_tokens=5) as stream, pytest.raises(errors.TokenLimitTooSmall):
        list(stream)


def test_leaving_early_frees_the_server(client: Client) -> None:
    for _ in range(20):  # more than wait and run at a time
        with client.stream(Tour, "A tour.", seed=3) as stream:
            for partial in stream:
                if partial.text:
                    break
    with pytest.raises(errors.ConnectionLost, match="before its end"):
        stream.result()
    assert isinstance(client.generate(Tour, "A tour.").value, Tour)


def test_the_async_client_streams_too() -> None:
    wishes: dict[str, Any] = {"temperature": 1.0, "seed": 3}

    async def entered(url: str) -> tuple[list[Partial[Tour]], Result[Tour]]:
        async with (
            AsyncClient(url, timeout_s=30) as client,
            client.stream(Tour, "A tour.", **wishes) as stream,
        ):
            partials = [partial async for partial in stream]
            return partials, await stream.result()

    async def awaited(url: str) -> tuple[list[Partial[Tour]], Result[Tour]]:
        async with (
            AsyncClient(url, timeout_s=30) as client,
            await client.stream(Tour, "A tour.", **wishes) as stream,
        ):
            return [partial async for partial in stream], await stream.result()

    with serving() as server:
        check(*asyncio.run(entered(server.url)))
        check(*asyncio.run(awaited(server.url)))


def test_the_async_stream_of_a_wrong_call_fails_where_it_is_opened() -> None:
    async def run() -> None:
        async with AsyncClient(engine=AsyncCanned()) as client:
            opening = client.stream(Stay, "A stay.", strategy="retry")
            with pytest.raises(errors.DeclarationError, match="only what a server enforces"):
                async with opening:
                    pass
            with pytest.raises(errors.DeclarationError, match="only what a server enforces"):
                await opening

    asyncio.run(run())


def test_what_is_not_enforced_ends_in_an_error_with_its_attempt() -> None:
    with Client(engine=Canned(as_text(GOOD))) as client, pytest.raises(UnenforcedAnswer) as caught:
        client.stream(Stay, "A stay.").result()
    assert caught.value.last_attempt is not None and caught.value.last_attempt.text == as_text(GOOD)


def test_a_stream_that_ends_early_keeps_what_there_is() -> None:
    class Cut(Canned):
        def stream(self, body: Any, *, timeout_s: float) -> Any:
            yield from list(super().stream(body, timeout_s=timeout_s))[:4]

    vendor = {"spec_hash": records.spec(Stay).hash, "report": {}}
    with pytest.raises(errors.ConnectionLost, match="ended before") as caught:
        Client(engine=Cut(completion(as_text(GOOD), factorspec=vendor))).stream(Stay, "A stay.").result()
    assert [attempt.text for attempt in caught.value.attempts] == [as_text(GOOD)[:12]]


@pytest.mark.parametrize("how", [{"strategy": "retry"}, {"strategy": "repair"}, {"fallback": "retry"}])
def test_what_is_checked_afterwards_cannot_be_streamed(how: dict[str, Any]) -> None:
    with pytest.raises(errors.DeclarationError, match="only what a server enforces"):
        Client(engine=Canned()).stream(Stay, "A stay.", **how)


def test_what_needs_no_model_needs_no_stream() -> None:
    stream = Client(engine=Canned()).stream(FIXED, "Fill.", strategy="determined")
    assert list(stream) == [] and stream.result().route == "determined"

    async def run() -> Result[Any]:
        async with AsyncClient(engine=AsyncCanned()) as client:
            return await (await client.stream(FIXED, "Fill.", skip_model=True)).result()

    assert asyncio.run(run()).calls == 0
