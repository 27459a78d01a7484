"""Requests that are legal and odd, at the real server: what only SGLang's own reading shows."""

from __future__ import annotations

import json
import os
from typing import Any

import httpx
import pytest

import factorspec_sdk as fs
from tests.sglang.test_real_server import Note

URL = os.environ.get("FACTORSPEC_SGLANG_URL", "").removesuffix("/v1")

pytestmark = [
    pytest.mark.skipif(not URL, reason="`make ci-sglang` starts the server"),
    pytest.mark.timeout(120),
]
DOCUMENT = fs.document(Note)


def post(path: str, **fields: Any) -> httpx.Response:
    return httpx.post(f"{URL}{path}", json={"model": "m", **fields}, timeout=100)


def chat(schema_place: dict[str, Any], **fields: Any) -> httpx.Response:
    messages = [{"role": "user", "content": "A note."}]
    return post("/v1/chat/completions", messages=messages, response_format=schema_place, **fields)


@pytest.mark.parametrize("kind", ["legacy", "format"])
def test_relations_in_structural_tags_never_reach_xgrammar(kind: str) -> None:
    legacy = {"structures": [{"begin": "<r>", "schema": DOCUMENT, "end": "</r>"}], "triggers": ["<r>"]}
    content = {"type": "json_schema", "json_schema": DOCUMENT}
    newer = {"format": {"type": "tag", "begin": "<r>", "content": content, "end": "</r>"}}
    tag = json.dumps({"type": "structural_tag", **(legacy if kind == "legacy" else newer)})
    answer = post("/generate", text="<r>", sampling_params={"structural_tag": tag, "max_new_tokens": 40})
    assert answer.status_code == 400
    assert "is not enforced in structural tags" in answer.text


def test_a_schema_where_sglang_takes_it_too_is_enforced_and_told() -> None:
    answer = chat({"type": "json_schema", "schema": DOCUMENT}, max_tokens=90).json()
    assert answer["factorspec"]["report"]["relations"][0]["outcome"] == "holds"
    Note.model_validate_json(answer["choices"][0]["message"]["content"])


def test_a_limit_beyond_the_context_is_told_in_its_own_number() -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "note", "schema": DOCUMENT}}
    models = httpx.get(f"{URL}/v1/models", timeout=20).json()
    context = models["data"][0]["max_model_len"]
    for limit in (context - 10, context, context + 1000):
        error = chat(wanted, max_tokens=limit).json()["error"]
        assert error["code"] == "context_too_long"
        assert limit <= error["num_tokens"] < limit + 200


def test_a_record_ends_where_the_context_does() -> None:
    """The request has no limit of its own: its prompt leaves little."""
    wanted = {"type": "json_schema", "json_schema": {"name": "note", "schema": DOCUMENT}}
    context = httpx.get(f"{URL}/v1/models", timeout=20).json()["data"][0]["max_model_len"]
    messages = [{"role": "user", "content": "word " * (context - 45)}]
    error = post("/v1/chat/completions", messages=messages, response_format=wanted).json()["error"]
    assert (error["code"], error["param"]) == ("token_limit_too_small", "/messages")
    assert error["token_limit"] < error["shortest"]


@pytest.mark.parametrize("wrong", [-1, 10**6, 1 << 40])
def test_ids_that_the_model_lacks_are_refused_by_their_place(wrong: int) -> None:
    short = {"max_new_tokens": 1}
    prompt, told = [5, 6, wrong], f"token id {wrong} at position 2"
    asked = [
        (post("/generate", input_ids=prompt, sampling_params=short), ""),
        (post("/generate", input_ids=prompt, sampling_params={**short, "n": 3}), ""),
        (post("/generate", input_ids=[[5], prompt], sampling_params=short), " of prompt 1"),
        (post("/v1/completions", prompt=prompt, max_tokens=1), ""),
        (post("/v1/completions", prompt=[[5], prompt], max_tokens=1, n=2), " of prompt 1"),
        (post("/v1/completions", prompt=prompt, max_tokens=1, stream=True), ""),
        (chat({"type": "text"}, input_ids=prompt, max_tokens=1), ""),
        (chat({"type": "text"}, input_ids=prompt, max_tokens=1, stream=True), ""),
    ]
    for answer, prompt_told in asked:
        assert answer.status_code == 400, answer.text
        assert f"{told}{prompt_told} is none of the model's, which are from 0 to " in answer.text
    stream = post("/generate", input_ids=prompt, sampling_params=short, stream=True)
    assert told in stream.text and '"code":400' in stream.text
    right = [[5, 6], [7]]
    assert len(post("/generate", input_ids=right, sampling_params=short).json()) == len(right)
    assert post("/v1/completions", prompt=right[0], max_tokens=1).status_code == 200


@pytest.mark.parametrize("with_relations", [False, True])
def test_several_names_for_one_chat_are_refused(with_relations: bool) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "note", "schema": DOCUMENT}}
    answer = chat(wanted if with_relations else {"type": "text"}, max_tokens=90, rid=["a", "b"])
    assert answer.status_code == 400
    assert "rid must be a string beside a single prompt, got ['a', 'b']" in answer.text
    assert chat({"type": "text"}, max_tokens=1, rid="a name").status_code == 200
