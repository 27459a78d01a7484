"""The list of models says what is enforced."""

from __future__ import annotations

import asyncio

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from factorspec_server.sglang.model_list import ModelList


async def models(request: Request) -> Response:
    return JSONResponse({"object": "list", "data": [{"id": "m", "object": "model"}]})


async def model(request: Request) -> Response:
    return JSONResponse({"id": "m", "object": "model"})


async def text(request: Request) -> Response:
    return PlainTextResponse("no JSON", 404)


def get(path: str) -> httpx.Response:
    app = Starlette(
        routes=[Route("/v1/models", models), Route("/v1/models/m", model), Route("/v1/models/x", text)]
    )
    app.add_middleware(ModelList)

    async def main() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as client:
            return await client.get(path)

    return asyncio.run(main())


def test_each_model_has_capabilities() -> None:
    (listed,) = get("/v1/models").json()["data"]
    assert listed == get("/v1/models/m").json()
    vendor = listed["factorspec"]
    assert vendor["engine"] == "sglang"
    assert "all_different" in vendor["enforced"]["relation_kinds"]
    assert vendor["limits"]["body_bytes"] > 0


def test_other_answers_stay_as_they_are() -> None:
    answer = get("/v1/models/x")
    assert (answer.status_code, answer.text) == (404, "no JSON")
