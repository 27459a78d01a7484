"""``explain``: why a record is not valid and what is nearest, why a value is not allowed, why nothing is."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

from factorspec_sdk.errors import JsonValue, Problem
from factorspec_sdk.explaining import Explanation, Nearest, explain, why_not
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.wire import Spec
from factorspec_server.commands.failures import INVALID, USAGE, CommandError

_NOTHING_GIVEN: dict[str, JsonValue] = {}


@dataclass(frozen=True, slots=True)
class Answer:
    """What the command says: for people, as JSON, and by its exit code."""

    text: str
    as_json: dict[str, JsonValue]
    exit_code: int


def answer_to(spec: Spec, record: JsonValue | None, at: str | None, value: str | None) -> Answer:
    """The answer to what was asked (see ``explain_command``).

    Raises:
        CommandError: options that do not go together, or a value that is no JSON.
        InfeasibleError: no record exists at all.
        UnknownField: ``at`` names no field.
    """
    if (at is None) != (value is None):
        raise CommandError("--at and --value go together: --at total --value 30", USAGE)
    if record is not None and not isinstance(record, dict):
        raise CommandError("RECORD must be a JSON object", USAGE)
    if at is not None and value is not None:
        return _of_value(spec, record or _NOTHING_GIVEN, at, value)
    if record is not None:
        return _of_record(spec, explain(spec, record))
    compile_spec(spec)
    return Answer("records exist: no relations contradict each other", {"satisfiable": True}, 0)


def _of_value(spec: Spec, given: dict[str, JsonValue], at: str, text: str) -> Answer:
    value = _json(text)
    found = why_not(spec, given, at, value)
    if found.allowed is False and found.outside and isinstance(value, int | float):
        found = replace(found, outside=_with_quotes(spec, at, text, found.outside))
    return Answer(str(found), _plain(asdict(found)), 0 if found.allowed else INVALID)


def _with_quotes(spec: Spec, at: str, text: str, outside: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """The problems of a number, with a hint where the same in quotes fits: decimals are texts in JSON."""
    if why_not(spec, _NOTHING_GIVEN, at, text).outside:
        return outside
    hint = f"Decimals are texts in JSON: --value '\"{text}\"'"
    return tuple(replace(problem, hint=hint) for problem in outside)


def _of_record(spec: Spec, found: Explanation) -> Answer:
    if found.error is not None and found.is_valid:
        raise found.error
    plain: dict[str, JsonValue] = {
        "valid": found.is_valid,
        "problems": [_plain(asdict(problem)) for problem in found.problems],
        "broken": [_plain(asdict(verdict)) for verdict in found.broken],
        "nearest": None if found.nearest is None else _nearest(found.nearest),
        "error": None if found.error is None else str(found.error),
    }
    text = str(found)
    if found.nearest is not None and not found.is_valid:
        text += "\n" + json.dumps(found.nearest.record, ensure_ascii=False)
    return Answer(text, plain, 0 if found.is_valid else INVALID)


def _nearest(found: Nearest) -> JsonValue:
    changes = [_plain(asdict(change)) for change in found.changes]
    return {"record": found.record, "changes": [*changes], "proven": found.proven}


def _plain(fields: dict[str, object]) -> dict[str, JsonValue]:
    """Dataclass fields as JSON: tuples become lists."""
    plain: dict[str, JsonValue] = json.loads(json.dumps(fields))
    return plain


def _json(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        hint = "texts need quotes of their own: --value '\"Oslo\"'"
        raise CommandError(f"--value is no JSON: {text!r} ({hint})", USAGE) from None
    return value
