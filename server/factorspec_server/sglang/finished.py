"""The vendor part of an answer: the echo, and the report of each record.

Counts come from the scheduler. What the relations say of a record is worked out here, by their meaning: a
record that is told as complete and breaks one is a defect, and is not handed out.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.wire import Spec
from factorspec_server.http.error_body import defect_body
from factorspec_server.http.report import record_report
from factorspec_server.sglang.asked import Asked
from factorspec_server.sglang.refusals import Refusal
from factorspec_server.sglang.reports import INTERNAL, Report, digest_of

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of an answer's texts.

    Attributes:
        text: all of it.
        finish_reason: as SGLang says.
    """

    text: str
    finish_reason: str | None


def vendor_part(
    asked: Asked, spec: Spec, choices: Sequence[Choice], usage: Mapping[str, Any], found: list[Report]
) -> dict[str, JsonValue]:
    """``{"spec_hash", "report"}``, with ``reports`` where there are several choices.

    Args:
        asked: the request.
        spec: of it.
        choices: of the answer.
        usage: SGLang's counts.
        found: the reports that came from the scheduler; emptied.

    Raises:
        Refusal: a record was given up, its report is lost, or it breaks a relation.
    """
    if len(found) < len(choices):
        _logger.error("the report of a record did not come; is the scheduler alive?")
        raise Refusal(500, defect_body())
    given_up = next((report["error"] for report in found if report["error"] is not None), None)
    if isinstance(given_up, dict):
        error = {name: value for name, value in given_up.items() if name != "status"}
        raise Refusal(cast(int, given_up["status"]), error)
    reports = [_report(asked, spec, choice, _taken(found, choice), usage) for choice in choices]
    several: dict[str, JsonValue] = {"reports": [*reports]} if len(reports) > 1 else {}
    return {"spec_hash": spec.hash, "report": reports[0] if reports else None, **several}


def _taken(reports: list[Report], choice: Choice) -> Report:
    """The report of a choice, taken out of the list: that of its text, where there are several."""
    digest = digest_of(choice.text)
    at = next((at for at, report in enumerate(reports) if report["digest"] == digest), 0)
    return reports.pop(at)


def _report(
    asked: Asked, spec: Spec, choice: Choice, counted: Report, usage: Mapping[str, Any]
) -> dict[str, JsonValue]:
    certificates = cast("list[dict[str, JsonValue]]", counted["certificates"])
    record = json.loads(choice.text) if choice.finish_reason == "stop" else None
    told = record_report(spec, record, certificates)
    broken = [each for each in cast("list[Any]", told["relations"]) if each["outcome"] == "broken"]
    if any(each["enforced"] for each in broken):
        _logger.error("a record of spec %s breaks relations: %s", spec.hash, broken)
        raise Refusal(500, defect_body())
    details = usage.get("prompt_tokens_details") or {}
    return {
        **{name: value for name, value in counted.items() if name not in INTERNAL},
        "prompt_tokens": usage.get("prompt_tokens", 0),
        "reused": details.get("cached_tokens", 0),
        "seed": asked.seed,
        **told,
    }
