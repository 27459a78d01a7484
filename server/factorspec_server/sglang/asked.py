"""A chat request that asks for relations: read, checked, and written anew for SGLang.

SGLang takes more fields than the embedded engine; they pass through. What would cut a record short, or asks
for what sessions do not do here, is refused by name.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from factorspec_sdk.errors import DocumentError, JsonValue, Problem, UnsupportedKeyword, reason_of, shown
from factorspec_server.http.chat_request import Wishes
from factorspec_server.http.json_body import read_json_object
from factorspec_server.sglang.envelope import (
    OPTIONS,
    Envelope,
    RequestOptions,
    asks_for_relations,
    may_ask_for_relations,
)

#: SGLang ends a request with "length" where its last token is the end token behind the record
_ROOM = 2
_LIMITS = ("max_completion_tokens", "max_tokens")
#: fields that would end a record early or in another way -> what they do
_CUTTING = {
    "stop": "a record ends where it is complete, not at a string",
    "stop_token_ids": "a record ends where it is complete, not at a token",
    "stop_regex": "a record ends where it is complete, not at a pattern",
    "min_tokens": "a record ends where it is complete, not after a number of tokens",
    "regex": "stands beside a response_format",
    "ebnf": "stands beside a response_format",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One request.

    Attributes:
        document: what is to be enforced.
        body: for SGLang: the request with the session's options in its schema.
        request_id: under which reports come.
        num_choices: how many records.
        is_stream: the answer comes in pieces.
        wants_usage: .. and token counts at its end; SGLang sends them in any case, for the report.
        seed: of the request.
        limit_field: JSON pointer of the field that limits the record.
    """

    document: dict[str, JsonValue]
    body: bytes
    request_id: str
    num_choices: int
    is_stream: bool
    wants_usage: bool
    seed: int | None
    limit_field: str


def read_asked(body: bytes) -> Asked | None:
    """The request that a body holds; None if it asks for no relations.

    Raises:
        DocumentError: it is not JSON, or asks for what cannot be served beside relations.
    """
    if b'"json_schema"' not in body or not may_ask_for_relations(body.decode("utf-8", "replace")):
        return None
    request = read_json_object(body)
    document = _document(request)
    if document is None or not (asks_for_relations(document) or OPTIONS in document):
        return None
    if OPTIONS in document:
        problem = Problem(f"/{OPTIONS}", "is written by the server", shown(document[OPTIONS]), "leave it out")
        raise UnsupportedKeyword("the request cannot be served", [problem])
    limit, limit_field, options = _options(request)
    if limit is not None:
        request = {name: value for name, value in request.items() if name not in _LIMITS}
        request[_LIMITS[0]] = limit + _ROOM
    is_stream, stream_options = bool(request.get("stream")), request.get("stream_options")
    if is_stream:
        told = stream_options if isinstance(stream_options, dict) else {}
        request = {**request, "stream_options": {**told, "include_usage": True}}
    seed, num_choices = request.get("seed"), request.get("n")
    return Asked(
        document=document,
        body=json.dumps(_with_schema(request, Envelope(document, options).as_document())).encode(),
        request_id=str(options.id),
        num_choices=num_choices if isinstance(num_choices, int) else 1,
        is_stream=is_stream,
        wants_usage=isinstance(stream_options, dict) and bool(stream_options.get("include_usage")),
        seed=seed if isinstance(seed, int) else None,
        limit_field=limit_field,
    )


def _document(request: dict[str, JsonValue]) -> dict[str, JsonValue] | None:
    wanted = request.get("response_format")
    schema = wanted.get("json_schema") if isinstance(wanted, dict) else None
    document = schema.get("schema") if isinstance(schema, dict) else None
    return document if isinstance(document, dict) else None


def _with_schema(request: dict[str, JsonValue], document: dict[str, JsonValue]) -> dict[str, JsonValue]:
    wanted = request["response_format"]
    assert isinstance(wanted, dict)
    schema = wanted["json_schema"]
    assert isinstance(schema, dict)
    vendor_free = {name: value for name, value in request.items() if name != "factorspec"}
    return {**vendor_free, "response_format": {**wanted, "json_schema": {**schema, "schema": document}}}


def _options(request: dict[str, JsonValue]) -> tuple[int | None, str, RequestOptions]:
    """The record's token limit, the field that says so, and the session's options."""
    problems = [*_cutting(request)]
    given = {name: request[name] for name in _LIMITS if request.get(name) is not None}
    for name, value in given.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            problems.append(Problem(f"/{name}", "must be an integer of at least 1", shown(value)))
    wishes = _wishes(request.get("factorspec"), problems)
    if problems:
        raise DocumentError("the request cannot be served", problems)
    limits = [value for value in given.values() if isinstance(value, int)]
    limit, field = min(limits, default=None), f"/{next(iter(given), _LIMITS[1])}"
    options = RequestOptions(
        id=secrets.token_hex(12), token_limit=limit, on_budget=wishes.on_budget, origins=wishes.origins
    )
    return limit, field, options


def _cutting(request: dict[str, JsonValue]) -> Iterator[Problem]:
    for name, reason in _CUTTING.items():
        if request.get(name):
            yield Problem(f"/{name}", reason, shown(request[name]), "leave it out")


def _wishes(given: JsonValue, problems: list[Problem]) -> Wishes:
    """What the vendor field asks for; problems are noted."""
    try:
        wishes = Wishes.model_validate({} if given is None else given)
    except ValidationError as error:
        for item in error.errors(include_url=False, include_input=False):
            place = "/".join(("/factorspec", *map(str, item["loc"])))
            problems.append(Problem(place, reason_of(item["msg"])))
        return Wishes()
    if wishes.canonical_text:
        message = "is not supported with SGLang"
        problems.append(Problem("/factorspec/canonical_text", message, "True", "leave it out"))
    return wishes
