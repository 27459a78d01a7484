"""A chat request that asks for relations: read, checked, and written anew for SGLang.

SGLang takes more fields than the embedded engine; they pass through. What would cut a record short, or asks
for what sessions do not do here, is refused by name. A schema without relations is XGrammar's, unless the
request has our field: by that a client asks for what we do.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from factorspec_sdk.errors import DocumentError, JsonValue, Problem, UnsupportedKeyword, shown
from factorspec_server.http.chat_request import Wishes, read_wishes
from factorspec_server.http.json_body import read_json_object
from factorspec_server.salts import salt_problems
from factorspec_server.sglang.envelope import (
    OPTIONS,
    Envelope,
    RequestOptions,
    asks_for_relations,
    has_vendor_key,
    may_ask_for_relations,
    refused_in_tags,
)
from factorspec_server.sglang.room import ROOM

_LIMITS = ("max_completion_tokens", "max_tokens")
#: fields that would end a record early or in another way -> what they do
_CUTTING = {
    "stop": "a record ends where it is complete, not at a string",
    "stop_token_ids": "a record ends where it is complete, not at a token",
    "stop_regex": "a record ends where it is complete, not at a pattern",
    "min_tokens": "a record ends where it is complete, not after a number of tokens",
    "regex": "stands beside a response_format",
    "ebnf": "stands beside a response_format",
    "no_stop_trim": "the token behind a record is none of its text",
}
#: values of them that ask for nothing; an empty stop string ends every answer at once
_NEUTRAL: tuple[JsonValue, ...] = (None, [], 0, False)
#: null means absent, as in all other fields
_NOT_NULL = ("n", "stream")
_SEEDS = (-(1 << 63), (1 << 64) - 1)
_VENDOR_FIELD = "factorspec"
_VENDOR_MARK = f'"{_VENDOR_FIELD}"'.encode()


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
        limit_field: JSON pointer of the field that limits the record; the prompt, where none does.
    """

    document: dict[str, JsonValue]
    body: bytes
    request_id: str
    num_choices: int
    is_stream: bool
    wants_usage: bool
    seed: int | None
    limit_field: str


def read_asked(body: bytes, *, most_choices: int) -> Asked | None:
    """The request that a body holds; None if it asks for no relations.

    Args:
        body: of the request.
        most_choices: that one request may ask for.

    Raises:
        DocumentError: it is not JSON, or asks for what cannot be served beside relations.
    """
    if b'"response_format"' not in body and _VENDOR_MARK not in body:
        return None
    if _VENDOR_MARK not in body and not may_ask_for_relations(body.decode("utf-8", "replace")):
        return None
    request = _normal(read_json_object(body))
    document, says_so = _document(request), request.get(_VENDOR_FIELD) is not None
    _check_tags(request)
    if document is None:
        _check_wishes(request)
        return None
    if not (says_so or asks_for_relations(document) or OPTIONS in document):
        return None
    if OPTIONS in document:
        problem = Problem(f"/{OPTIONS}", "is written by the server", shown(document[OPTIONS]), "leave it out")
        raise UnsupportedKeyword("the request cannot be served", [problem])
    limit, limit_field, options = _options(request, most_choices)
    if limit is not None:
        request = {name: value for name, value in request.items() if name not in _LIMITS}
        request[_LIMITS[0]] = limit + ROOM
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


def _normal(request: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The request with its schema where OpenAI has it, and without nulls that SGLang does not take.

    SGLang takes ``response_format.schema``, too, and drops a property named ``strict`` from it.
    """
    request = {name: value for name, value in request.items() if value is not None or name not in _NOT_NULL}
    wanted = request.get("response_format")
    if (
        not isinstance(wanted, dict)
        or wanted.get("json_schema")
        or not isinstance(wanted.get("schema"), dict)
    ):
        return request
    rest = {name: value for name, value in wanted.items() if name != "schema"}
    return {**request, "response_format": {**rest, "json_schema": {"schema": wanted["schema"]}}}


def _check_wishes(request: dict[str, JsonValue]) -> None:
    """Raise DocumentError where our field, of no use beside free text, is wrong."""
    _, problems = read_wishes(request.get(_VENDOR_FIELD))
    if problems:
        raise DocumentError("the request cannot be served", problems)


def _check_tags(request: dict[str, JsonValue]) -> None:
    """Raise UnsupportedKeyword where a structural tag holds relations, which XGrammar would pass over."""
    wanted = request.get("response_format")
    if (
        isinstance(wanted, dict)
        and wanted.get("type") == "structural_tag"
        and has_vendor_key(json.dumps(wanted))
    ):
        raise refused_in_tags("/response_format")


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
    vendor_free = {name: value for name, value in request.items() if name != _VENDOR_FIELD}
    return {
        **vendor_free,
        "response_format": {**wanted, "json_schema": {"name": "record", **schema, "schema": document}},
    }


def _options(request: dict[str, JsonValue], most_choices: int) -> tuple[int | None, str, RequestOptions]:
    """The record's token limit, the field that says so, and the session's options."""
    wishes, problems = read_wishes(request.get(_VENDOR_FIELD))
    problems += [*_cutting(request), *_misread(request, most_choices), *_misplaced(request)]
    problems += salt_problems(request, "cache_salt", "extra_key")
    given = {name: request[name] for name in _LIMITS if request.get(name) is not None}
    problems += [
        Problem(f"/{name}", "must be an integer of at least 1", shown(value))
        for name, value in given.items()
        if not _is_integer(value, 1)
    ]
    if wishes.canonical_text:
        message = "is not supported with SGLang"
        problems.append(Problem(f"/{_VENDOR_FIELD}/canonical_text", message, "True", "leave it out"))
    if problems:
        raise DocumentError("the request cannot be served", problems)
    limits = [value for value in given.values() if isinstance(value, int)]
    limit, field = min(limits, default=None), f"/{next(iter(given), 'messages')}"
    options = RequestOptions(
        id=secrets.token_hex(12), token_limit=limit, on_budget=wishes.on_budget, origins=wishes.origins
    )
    return limit, field, options


def _cutting(request: dict[str, JsonValue]) -> Iterator[Problem]:
    for name, reason in _CUTTING.items():
        if request.get(name) not in _NEUTRAL:
            yield Problem(f"/{name}", reason, shown(request[name]), "leave it out")


def _misread(request: dict[str, JsonValue], most_choices: int) -> Iterator[Problem]:
    """What SGLang would take for something else, or for nothing."""
    wanted = request["response_format"]
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if kind != "json_schema":
        message = "a schema with relations stands beside it, which would not be enforced"
        yield Problem("/response_format/type", message, shown(kind), "write 'json_schema'")
    num_choices, seed = request.get("n", 1), request.get("seed")
    if not _is_integer(num_choices, 1, most_choices):
        message = f"must be an integer from 1 to {most_choices}"
        yield Problem("/n", message, shown(num_choices), "send several requests for more answers")
    if seed is not None and not _is_integer(seed, *_SEEDS):
        yield Problem("/seed", "must be an integer of 64 bits", shown(seed))
    if not isinstance(request.get("stream") or False, bool):
        yield Problem("/stream", "must be true or false", shown(request["stream"]))


def _misplaced(request: dict[str, JsonValue]) -> Iterator[Problem]:
    """Fields of ours that SGLang, which ignores what it does not know, would pass over."""
    for name in request:
        if name in Wishes.model_fields:
            message, hint = "unknown field; refused rather than ignored", f"It belongs to /factorspec/{name}"
            yield Problem(f"/{name}", message, shown(request[name]), hint)
        elif name != _VENDOR_FIELD and _VENDOR_FIELD in name.lower().replace("_", "").replace("-", ""):
            message = "unknown field; refused rather than ignored"
            yield Problem(f"/{name}", message, shown(request[name]), "write 'factorspec'")


def _is_integer(value: JsonValue, least: int, most: int | None = None) -> bool:
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return least <= value and (most is None or value <= most)
