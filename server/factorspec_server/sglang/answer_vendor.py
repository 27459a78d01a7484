"""The vendor part of an answer that may hold calls: the echo, and the report of each choice.

As in ``finished.py`` counts come from the scheduler, and what the relations say is worked out here: a call
that is told as complete and breaks one is a defect, and is not handed out.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, cast

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.wire import Spec
from factorspec_server.http.error_body import defect_body
from factorspec_server.http.report import record_report
from factorspec_server.sglang.answer_asked import AnswerAsked
from factorspec_server.sglang.answer_choice import AnswerChoice
from factorspec_server.sglang.generate_request import Output
from factorspec_server.sglang.refusals import Refusal
from factorspec_server.sglang.reports import INTERNAL, Report

_NOTHING: Mapping[str, JsonValue] = {"relations": [], "objective": []}

_logger = logging.getLogger(__name__)


def echo(asked: AnswerAsked) -> dict[str, JsonValue]:
    """What is enforced, by its hashes."""
    tools: dict[str, JsonValue] = {name: spec.hash for name, spec in asked.specs.items()}
    spec_hash = None if asked.record is None else asked.record.hash
    return {"spec_hash": spec_hash, **({"tools": tools} if tools else {})}


def finish_reason_of(choice: AnswerChoice, counted: Report) -> str:
    """Why a choice ended, as OpenAI says it."""
    if not counted["complete"]:
        return "length"
    return "tool_calls" if choice.calls else "stop"


def answer_report(
    asked: AnswerAsked, choice: AnswerChoice, output: Output, found: Sequence[Report]
) -> dict[str, JsonValue]:
    """The report of one choice.

    Args:
        asked: the request.
        choice: what it says.
        output: what SGLang says of it.
        found: the scheduler's report, if it came.

    Raises:
        Refusal: the answer was given up, its report is lost, or a call breaks a relation.
    """
    if not found:
        _logger.error("the report of an answer did not come; is the scheduler alive?")
        raise Refusal(500, defect_body())
    counted = found[0]
    raise_given_up(counted)
    return {
        **{name: value for name, value in counted.items() if name not in INTERNAL},
        "prompt_tokens": output.prompt_tokens,
        "reused": output.cached_tokens,
        "seed": asked.chat.seed,
        **_judged(asked, choice, counted),
    }


def raise_given_up(counted: Report) -> None:
    """Raise ``Refusal`` if a session was given up, with its reason."""
    given_up = counted["error"]
    if isinstance(given_up, dict):
        error = {name: value for name, value in given_up.items() if name != "status"}
        raise Refusal(cast(int, given_up["status"]), error)


def _judged(asked: AnswerAsked, choice: AnswerChoice, counted: Report) -> dict[str, JsonValue]:
    """What the relations say of the record or the calls that a choice holds."""
    certificates = cast("dict[str, list[dict[str, JsonValue]]]", counted.get("tool_certificates") or {})
    calls: list[JsonValue] = []
    for call in choice.calls:
        arguments = _object_of(call.arguments)
        if arguments is not None:
            spec = asked.specs[call.name]
            told = _checked(spec, arguments, certificates.get(call.name, []))
            calls.append({"name": call.name, "spec_hash": spec.hash, **told})
    told = dict(_NOTHING)
    if asked.record is not None and counted["complete"] and not choice.calls and choice.content:
        own = cast("list[dict[str, JsonValue]]", counted["certificates"])
        told = _checked(asked.record, json.loads(choice.content), own)
    return {**told, **({"calls": calls} if asked.specs else {})}


def _checked(spec: Spec, record: JsonValue, certificates: list[dict[str, JsonValue]]) -> dict[str, JsonValue]:
    told = record_report(spec, record, certificates)
    broken = [each for each in cast("list[Any]", told["relations"]) if each["outcome"] == "broken"]
    if any(each["enforced"] for each in broken):
        _logger.error("a record of spec %s breaks relations: %s", spec.hash, broken)
        raise Refusal(500, defect_body())
    return told


def _object_of(text: str) -> JsonValue:
    """The arguments of a call; None: the answer ended in their middle."""
    try:
        found: JsonValue = json.loads(text)
    except ValueError:
        return None
    return found
