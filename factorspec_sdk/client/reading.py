"""Reading answers: text and counts of a completion, and the record in a text that may hold more than it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import Attempt, EngineError, Problem, Usage, reason_of, shown
from factorspec_sdk.relations.checking import Verdict
from factorspec_sdk.wire import Spec
from factorspec_sdk.wire.check import check_spec

if TYPE_CHECKING:
    from factorspec_sdk.explaining import Change

T = TypeVar("T", bound=BaseModel)

_USAGE = TypeAdapter(Usage)
# Places where an object may begin that are tried; answers that are not hostile have few.
_MAX_STARTS = 1000


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """What a text says.

    Attributes:
        value: the valid record; None where there is none.
        text: the JSON text of the object that was found; "" where there is none.
        data: that object; None where there is none.
        problems: why it is no valid record.
        verdicts: of all relations.
        changes: fields that were changed to make it valid.
    """

    value: T | None
    text: str
    data: Mapping[str, object] | None
    problems: tuple[Problem, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    changes: tuple[Change, ...] = ()


def read_record(record: type[T], spec: Spec, answer: str) -> Reading[T]:
    """The last valid record that a model's text holds, code fences and sentences around it or not.

    Where no object in the text is valid, the reading tells what is wrong with the last one.
    """
    found = list(json_objects(answer))
    readings = (_checked(record, spec, text, data) for text, data in reversed(found))
    last: Reading[T] | None = None
    for reading in readings:
        if reading.value is not None:
            return reading
        last = last or reading
    return last or Reading(None, "", None, (_no_object(answer),))


def json_objects(answer: str) -> Iterator[tuple[str, dict[str, object]]]:
    """JSON objects in a text, outermost ones alone. O(length): the search goes on where reading failed."""
    decoder = json.JSONDecoder(parse_constant=_no_number)
    at = answer.find("{")
    for _ in range(_MAX_STARTS):
        if at < 0:
            return
        try:
            data, end = decoder.raw_decode(answer, at)
        except json.JSONDecodeError as error:
            end = max(at + 1, error.pos)
        except (ValueError, RecursionError):  # NaN, numbers of thousands of digits, nesting without end
            end = at + 1
        else:
            yield answer[at:end], data
        at = answer.find("{", end)


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _no_object(answer: str) -> Problem:
    at = answer.find("{")
    if at < 0:
        return Problem("", "the answer holds no JSON object", shown(answer))
    try:
        json.loads(answer[at:])
    except (ValueError, RecursionError) as error:
        return Problem("", f"the answer's JSON object cannot be read: {error}")
    return Problem("", "the answer's JSON object cannot be read")


def _checked(record: type[T], spec: Spec, text: str, data: dict[str, object]) -> Reading[T]:
    value: T | None = None
    problems: list[Problem] = []
    try:
        value = record.model_validate_json(text)
    except ValidationError as error:
        problems = _told(error)
    seen: object = data if value is None else value.model_dump(mode="json", by_alias=True, warnings=False)
    verdicts = check_spec(spec, seen)
    named = {problem.message for problem in problems}
    broken = [_broken(verdict) for verdict in verdicts if verdict.outcome == "broken" and verdict.enforced]
    problems += [problem for problem in broken if problem.message not in named]
    return Reading(None if problems else value, text, data, tuple(problems), tuple(verdicts))


def _told(error: ValidationError) -> list[Problem]:
    """All that is wrong; a broken relation names its values itself, so that the whole object is not shown."""
    items = error.errors(include_url=False, include_context=False)
    return [
        Problem(place_of(item["loc"]), item["msg"])
        if item["type"] == "factorspec_relation"
        else problem_of(item)
        for item in items
    ]


def _broken(verdict: Verdict) -> Problem:
    reason = f" ({verdict.why})" if verdict.why else ""
    message = f"relation '{verdict.name}'{reason} does not hold: {verdict.explanation}"
    return Problem(verdict.place, message)


def problem_of(item: Mapping[str, object]) -> Problem:
    """One of Pydantic's errors as a problem."""
    return Problem(place_of(item["loc"]), reason_of(str(item["msg"])), shown(item["input"]))


def place_of(loc: object) -> str:
    """Pydantic's location as a field path."""
    place = ""
    for step in loc if isinstance(loc, tuple) else ():
        place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else str(step)
    return place


def text_of(answer: JsonObject) -> tuple[str, object]:
    """The first choice's text and its finish reason.

    Raises:
        EngineError: the answer is no chat completion.
    """
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(choice, dict) or not (content is None or isinstance(content, str)):
        raise EngineError("the server's answer holds no message; is base_url an OpenAI-compatible API?")
    return content or "", choice.get("finish_reason")


def usage_of(answer: JsonObject) -> Usage | None:
    """The answer's token counts; None where it has none that can be read."""
    try:
        return _USAGE.validate_python(answer.get("usage"))
    except ValidationError:
        return None


def attempt_of(answer: JsonObject, problems: tuple[Problem, ...], time_s: float) -> Attempt:
    """An answer as the log keeps it. Raises as ``text_of``."""
    text, reason = text_of(answer)
    return Attempt(text, problems, usage_of(answer), reason if isinstance(reason, str) else None, time_s)
