"""Requests end where they end, though the step behind the end is launched before SGLang sees it.

What a request writes that goes on is asked a token a step. Others end in its middle, at every place of a
step, by a limit, a string or a token, in one batch. Asked over SGLang's own ``/generate``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from factorspec_sdk.records.document import document
from tests.sglang.like_stock import Answer, ask
from tests.sglang.test_real_server import PLAIN, URL, Note, pytestmark

__all__ = ["pytestmark"]

ROOT = URL.removesuffix("/v1")
_MOST = 40
_SCHEMAS: dict[str, Any] = {"record": document(Note), "schema": PLAIN, "text": None}
_KINDS = list(_SCHEMAS)


def request(kind: str, **sampling: Any) -> dict[str, Any]:
    schema = _SCHEMAS[kind]
    wanted = {} if schema is None else {"json_schema": json.dumps(schema)}
    params = {"temperature": 0, "max_new_tokens": _MOST, **wanted, **sampling}
    return {"text": "List of words: tree, house,", "sampling_params": params}


@pytest.fixture(scope="module")
def whole() -> dict[str, Answer]:
    """What each kind of request writes with logprobs: a token a step."""
    told = {"return_logprob": True, "return_text_in_logprobs": True}
    with ThreadPoolExecutor(len(_KINDS)) as pool:
        found = list(pool.map(lambda kind: ask(ROOT, {**request(kind), **told}), _KINDS))
    return dict(zip(_KINDS, found, strict=True))


def cut(kind: str, whole: Answer) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Requests that end in the middle, and how each is to end."""
    tokens, text = whole["output_ids"], whole["text"]
    told = [word for _, _, word in whole["meta_info"]["output_token_logprobs"]]
    for limit in range(3, len(tokens), 5):
        ended = {"output_ids": tokens[:limit], "finish_reason": {"type": "length", "length": limit}}
        yield request(kind, max_new_tokens=limit), ended
    for number, at in enumerate(range(2, len(text) - 4, 7)):
        stop = text[at : at + 3]
        if stop.isascii():
            ended = {"text": text[: text.index(stop)], "finish_reason": {"type": "stop", "matched": stop}}
            needed = next(count for count in range(len(told)) if stop in "".join(told[:count]))
            yield request(kind, stop=[stop], max_new_tokens=needed + 1 if number % 2 else _MOST), ended
    for token in {*tokens[3:-2:7]}:
        ended = {
            "output_ids": tokens[: tokens.index(token) + 1],
            "finish_reason": {"type": "stop", "matched": token},
        }
        yield request(kind, stop_token_ids=[token]), ended


@pytest.mark.parametrize(("told", "part"), [({}, 1), ({"return_logprob": True}, 3)], ids=["", "logprobs"])
def test_whatever_ends_requests_in_one_batch_ends_them_at_their_place(
    whole: dict[str, Answer], told: dict[str, Any], part: int
) -> None:
    every = [each for kind in _KINDS for each in cut(kind, whole[kind])]
    assert len(every) > 40
    asked = [every[at] for start in range(5) for at in range(start, len(every), 5)][::part]  # kinds in turn
    with ThreadPoolExecutor(24) as pool:
        found = list(pool.map(lambda one: ask(ROOT, {**one[0], **told}), asked))
    for answer, (sent, wanted) in zip(found, asked, strict=True):
        meta = answer["meta_info"]
        ended = {**answer, **meta}
        assert {name: ended[name] for name in wanted} == wanted, sent
        assert meta["completion_tokens"] == len(answer["output_ids"])
        if told:
            assert [token for _, token, _ in meta["output_token_logprobs"]] == answer["output_ids"]
