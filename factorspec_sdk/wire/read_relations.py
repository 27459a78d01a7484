"""Relations and goals from JSON to their models; Pydantic's errors become one readable problem each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import get_args

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from factorspec_sdk.errors import JsonValue, reason_of
from factorspec_sdk.relations import Relation
from factorspec_sdk.relations.expressions import FoldName, OpName
from factorspec_sdk.relations.objective import Goal
from factorspec_sdk.wire.problems import Problems, pointer

#: fields that hold an expression, and fields that hold a list of them: Pydantic names the branch after them
_EXPRESSIONS = frozenset(
    {"expr", "value", "index", "if", "then", "body", "where", "arg"}
    | {"start", "end", "duration", "place", "time", "demand", "capacity"}
)
_EXPRESSION_LISTS = frozenset({"args", "key", "conditions"})
_OPS: frozenset[str] = frozenset(
    {
        *get_args(OpName),
        *get_args(FoldName),
        "in",
        "member",
        "lookup",
        "item",
        "len",
        "present",
        "quotient",
        "rounded",
    }
)


@cache
def relation_adapter() -> TypeAdapter[Relation]:
    """The validator of the closed union of kinds, built on first use."""
    return TypeAdapter(Relation)


@cache
def relation_kinds() -> tuple[str, ...]:
    """Names of all kinds."""
    union = get_args(Relation)[0]
    return tuple(sorted(get_args(model.model_fields["kind"].annotation)[0] for model in get_args(union)))


def read_relation(raw: JsonValue, place: str, problems: Problems) -> Relation | None:
    """The model of one relation; None if it has problems (noted)."""
    if not isinstance(raw, dict):
        problems.add(place, "a relation is an object with a kind", raw)
        return None
    kind = raw.get("kind")
    if not isinstance(kind, str) or kind not in relation_kinds():
        _unknown_kind(raw, place, problems)
        return None
    try:
        # JSON, not Python: only there does a strict model take a list for a tuple
        return relation_adapter().validate_json(json.dumps(raw), by_alias=True, by_name=False)
    except ValidationError as error:
        _translate(error.errors(include_url=False, include_input=False), raw, place, problems)
        return None


def read_goal(raw: JsonValue, place: str, problems: Problems) -> Goal | None:
    """The model of one level of an objective; None if it has problems (noted)."""
    if not isinstance(raw, dict):
        problems.add(place, "a level of an objective is an object with a goal", raw)
        return None
    try:
        return Goal.model_validate_json(json.dumps(raw), by_alias=True, by_name=False)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        for found in errors:
            found["loc"] = ("goal", *found["loc"])
        _translate(errors, raw, place, problems)
        return None


def _unknown_kind(raw: dict[str, JsonValue], place: str, problems: Problems) -> None:
    below = pointer(place, "kind")
    if "kind" not in raw:
        problems.add(below, "the kind is missing", hint=problems.did_you_mean("", relation_kinds()))
    elif not isinstance(raw["kind"], str):
        problems.add(below, "a kind is a text", raw["kind"])
    else:
        hint = problems.did_you_mean(raw["kind"], relation_kinds())
        problems.refuse(below, "this kind of relation cannot be enforced", raw["kind"], hint)


def _translate(
    errors: Sequence[ErrorDetails], raw: dict[str, JsonValue], place: str, problems: Problems
) -> None:
    located = [(_locate(error["loc"], raw), error) for error in errors]
    unknown_ops = [steps[:-1] for steps, error in located if _is_unknown_op(steps, error)]
    for steps, error in located:
        # an unknown operation makes everything beside it look wrong: say only what matters
        if any(steps[: len(op)] == op and steps != (*op, "op") for op in unknown_ops):
            continue
        if error["type"] == "too_short" and any(
            other[: len(steps)] == steps and other != steps for other, _ in located
        ):
            continue  # its items are wrong, which is said anyway: Pydantic counts the right ones only
        _note(error, raw, steps, place, problems)


def _is_unknown_op(steps: tuple[str | int, ...], error: ErrorDetails) -> bool:
    return len(steps) > 1 and steps[-1] == "op" and error["type"] == "literal_error"


def _locate(location: Sequence[str | int], raw: JsonValue) -> tuple[str | int, ...]:
    """Steps of a JSON pointer: Pydantic's location without the names of union branches."""
    steps: list[str | int] = []
    branch_follows = True  # the kind stands first
    for step in location:
        if branch_follows:
            branch_follows = False
            continue
        above = steps[-1] if steps else None
        if above == "const":  # the types that a constant may have
            continue
        steps.append(step)
        in_list = isinstance(step, int) and above in _EXPRESSION_LISTS
        branch_follows = in_list or (isinstance(step, str) and step in _EXPRESSIONS and above != "key")
    return tuple(steps)


def _note(
    error: ErrorDetails, raw: JsonValue, steps: tuple[str | int, ...], place: str, problems: Problems
) -> None:
    below = pointer(place, *steps)
    found = _look_up(raw, steps)
    if steps and steps[-1] == "const" and error["type"] != "missing":
        hint = "write decimals as texts" if isinstance(found, float) else None
        problems.add(below, "a constant is a text, an integer, a boolean or null", found, hint)
        return
    match error["type"]:
        case "missing":
            problems.add(below, f"{str(steps[-1])!r} is missing")
        case "extra_forbidden":
            problems.refuse(below, f"unknown keyword {str(steps[-1])!r}", found)
        case "literal_error" if _is_unknown_op(steps, error) and not _has_op_names(error):
            problems.refuse(
                below, "this operation cannot be enforced", found, problems.did_you_mean(str(found), _OPS)
            )
        case "literal_error":
            message = f"must be {error.get('ctx', {}).get('expected', 'another value')}"
            problems.refuse(below, message, found)
        case "factorspec_expression":
            _no_expression(found, below, problems)
        case "too_short" | "string_too_short":
            least = error.get("ctx", {}).get("min_length", 1)
            problems.add(below, "this is empty" if least == 1 else f"at least {least} are needed", found)
        case "too_long" | "string_too_long":
            problems.add(below, f"longer than {error.get('ctx', {}).get('max_length')}", found)
        case _:
            message = reason_of(error["msg"]).replace("Input should", "must").replace("valid tuple", "list")
            problems.add(below, message, found)


def _has_op_names(error: ErrorDetails) -> bool:
    """True for the comparisons of a kind (``sum``, ``count``, …), which are not expressions."""
    return "'add'" not in str(error.get("ctx", {}).get("expected", ""))


def _no_expression(found: JsonValue, place: str, problems: Problems) -> None:
    hint = 'write {"ref": path}, {"const": value} or {"op": …}'
    if isinstance(found, str | int | float | bool) or found is None:
        problems.add(place, "not an expression", found, hint)
    else:
        problems.add(place, "an expression has one of 'ref', 'const' and 'op'", found, hint)


def _look_up(raw: JsonValue, steps: Sequence[str | int]) -> JsonValue:
    found = raw
    for step in steps:
        if isinstance(found, dict) and isinstance(step, str):
            found = found.get(step)
        elif isinstance(found, list) and isinstance(step, int) and step < len(found):
            found = found[step]
        else:
            return None
    return found
