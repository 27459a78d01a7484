"""Operators of expressions: their meaning on null, absent and zero, their words, what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from factorspec_sdk.errors import DocumentError, FactorspecError
from factorspec_sdk.relations.evaluate import truth_of, value_of
from factorspec_sdk.relations.expressions import Expr
from factorspec_sdk.relations.view import Special, View
from factorspec_sdk.relations.wording import broken_text, expression_text
from factorspec_sdk.wire import parse_document
from factorspec_sdk.wire.write import expression_json
from tests.graph.documents import compiled, feasible, integer, record

ADAPTER: TypeAdapter[Expr] = TypeAdapter(Expr)
A, B, NO = {"ref": "$.a"}, {"ref": "$.b"}, {"ref": "$.no"}
RECORD = {"a": -7, "b": 2, "zero": 0, "null": None, "name": "Zoë", "list": [1, 2], "part": {"x": None}}
ZERO, NULL = {"ref": "$.zero"}, {"ref": "$.null"}


def expr(wire: dict[str, Any]) -> Expr:
    return ADAPTER.validate_json(json.dumps(wire))


def op(name: str, *args: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"op": name, "args": list(args), **more}


VALUES: list[tuple[dict[str, Any], object]] = [
    (op("quotient", A, B, mode="floor"), -4),
    (op("quotient", A, B, mode="ceiling"), -3),
    (op("quotient", A, B, mode="half_up"), -4),
    (op("quotient", A, B, mode="half_even"), -4),
    (op("rounded", {"const": 25}, {"const": 10}, mode="half_up"), 30),
    (op("rounded", {"const": 25}, {"const": 10}, mode="half_even"), 20),
    (op("mod", A, B), 1),
    (op("mod", A, {"const": -2}), -1),
    (op("least", A, B, NULL, NO), -7),
    (op("most", A, B, NULL, NO), 2),
    (op("least", NULL, NO), Special.UNKNOWN),
    (op("quotient", A, ZERO, mode="floor"), Special.MISSING),
    (op("rounded", A, ZERO, mode="floor"), Special.MISSING),
    (op("mod", A, ZERO), Special.MISSING),
    (op("most", B, op("mod", A, ZERO)), Special.MISSING),
    (op("quotient", NULL, ZERO, mode="floor"), Special.UNKNOWN),
    (op("quotient", A, NO, mode="floor"), Special.UNKNOWN),
    ({"op": "len", "of": "$.name"}, 3),
    ({"op": "len", "of": "$.list"}, 2),
    ({"op": "len", "of": "$.null"}, Special.UNKNOWN),
    ({"op": "len", "of": "$.no"}, Special.UNKNOWN),
    ({"op": "present", "of": "$.a"}, True),
    ({"op": "present", "of": "$.null"}, False),
    ({"op": "present", "of": "$.null", "null": True}, True),
    ({"op": "present", "of": "$.no", "null": True}, False),
    ({"op": "present", "of": "$.part.x"}, False),
    ({"op": "present", "of": "$.part.y"}, False),
    ({"op": "present", "of": "$.list[1]"}, True),
    ({"op": "present", "of": "$.list[2]"}, False),
]


@pytest.mark.parametrize(("wire", "expected"), VALUES, ids=str)
def test_values(wire: dict[str, Any], expected: object) -> None:
    found = expr(wire)
    assert value_of(found, View(RECORD, {})).code == expected
    assert ADAPTER.validate_json(json.dumps(expression_json(found))) == found


@pytest.mark.parametrize("comparison", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_a_division_by_zero_makes_every_comparison_false(comparison: str) -> None:
    wire = op(comparison, op("quotient", A, ZERO, mode="floor"), {"const": 0})
    assert truth_of(expr(wire), View(RECORD, {})) is False


TEXTS: list[tuple[dict[str, Any], str]] = [
    (
        op("eq", op("quotient", op("add", A, B), {"const": 3}, mode="floor"), {"const": 9}),
        "((a + b) // 3) == 9 is false, with a = -7, b = 2",
    ),
    (
        op("eq", op("rounded", A, {"const": 5}, mode="half_up"), B),
        "rounded(a, 5, half_up) == b is false, with a = -7, b = 2",
    ),
    (
        op("le", op("most", A, B), op("mod", A, B)),
        "most(a, b) <= (a % b) is false, with a = -7, b = 2",
    ),
    (op("not", {"op": "present", "of": "$.b"}), "not is_present(b) is false, with b = 2"),
    (op("gt", {"op": "len", "of": "$.name"}, B), ""),
]


@pytest.mark.parametrize(("wire", "text"), TEXTS)
def test_explanations(wire: dict[str, Any], text: str) -> None:
    view = View(RECORD, {})
    if text:
        assert broken_text(expr(wire), view) == text
    else:
        assert expression_text(expr(wire), view) == "length(name) > b"


PROPERTIES = {
    "a": integer(0, 9),
    "b": integer(1, 9),
    "name": {"enum": ["x", "xyz"]},
    "note": {"type": "string"},
    "list": {"type": "array", "items": integer(0, 1), "maxItems": 2},
    "day": {
        "type": "string",
        "format": "date",
        "x-factorspec": {"domain": {"min": "2026-01-01", "max": "2026-01-09"}},
    },
}
DAY, NAME = {"ref": "$.day"}, {"ref": "$.name"}

REFUSED: list[tuple[dict[str, Any], str]] = [
    (op("quotient", A, {"const": 0}, mode="floor"), "a division by 0 never has a value"),
    (op("rounded", A, {"const": 0}, mode="floor"), "a division by 0 never has a value"),
    (op("mod", A, {"const": 0}), "a division by 0 never has a value"),
    (op("mod", A), "mod takes 2 arguments"),
    (op("least"), "least takes at least 1"),
    (op("quotient", A, B), "'mode' is missing"),
    (op("quotient", A, B, mode="up"), "must be 'floor', 'ceiling', 'half_up' or 'half_even'"),
    (op("quotient", A, mode="floor"), "at least 2 are needed"),
    (op("quotient", A, B, A, mode="floor"), "longer than 2"),
    (op("quotient", DAY, B, mode="floor"), "quotient takes numbers, this is a date"),
    (op("mod", DAY, B), "mod takes numbers, this is a date"),
    (op("least", DAY, A), "least takes values of one type"),
    (op("least", NAME, NAME), "least takes numbers, dates or times"),
    ({"op": "len", "of": "$.day"}, "a length is that of a list or a text"),
    ({"op": "len", "of": "$.note"}, "up to 4096 characters"),
    ({"op": "present", "of": "$.nope"}, "has no field 'nope'"),
    ({"op": "present", "of": "$.list[-1]"}, "positions from the end"),
    ({"op": "quotients", "args": [A, B]}, "did you mean 'quotient'?"),
]


@pytest.mark.parametrize(("wire", "message"), REFUSED, ids=str)
def test_refused_with_a_place(wire: dict[str, Any], message: str) -> None:
    whole = wire if wire["op"] == "present" else op("eq", wire, {"const": 1})
    with pytest.raises(FactorspecError) as caught:
        parse_document(record(PROPERTIES, [{"kind": "intension", "expr": whole}]))
    assert message in str(caught.value)
    assert "/x-factorspec/relations/0" in str(caught.value)


def test_free_text_may_be_asked_for() -> None:
    asked = {"op": "present", "of": "$.note"}
    doc = record(PROPERTIES, [{"kind": "implies", "if": asked, "then": op("eq", A, {"const": 3})}])
    doc["required"] = ["a", "b"]
    parse_document(doc)


def test_a_zero_divisor_is_never_chosen() -> None:
    relation = {"kind": "intension", "expr": op("ge", op("mod", A, B), {"const": 0})}
    spec = compiled({"a": integer(0, 3), "b": integer(-1, 1)}, [relation])
    assert feasible(spec, 0)[1] == [0, 2]


def test_a_comparison_of_a_boolean_is_no_number() -> None:
    with pytest.raises(DocumentError, match="a boolean"):
        parse_document(
            record({"f": {"type": "boolean"}, "a": integer(0, 1)}, [{"kind": "intension", "expr": op(
                "eq", op("mod", {"ref": "$.f"}, A), {"const": 0})}])
        )  # fmt: skip
