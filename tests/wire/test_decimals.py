"""Decimal domains in documents: what is read, what is refused and how, and that arithmetic is exact."""

from __future__ import annotations

from typing import Any

import pytest

from factorspec_sdk.errors import DocumentError, FactorspecError
from factorspec_sdk.graph.reference import all_records
from factorspec_sdk.wire import parse_document
from factorspec_sdk.wire.check import check_spec
from tests.graph.documents import compiled, feasible, integer, record

Json = dict[str, Any]


def decimal(least: str, most: str, places: int = 2, **more: Any) -> Json:
    """A bounded decimal."""
    domain = {"places": places, "min": least, "max": most, **more}
    return {"type": "string", "x-factorspec": {"domain": domain}}


def op(name: str, *args: Json, **more: Any) -> Json:
    return {"op": name, "args": list(args), **more}


def const(text: str) -> Json:
    return {"const": text, "type": "decimal"}


A, B, N = {"ref": "$.a"}, {"ref": "$.b"}, {"ref": "$.n"}

REFUSED: list[tuple[Json, str]] = [
    (decimal("0", "1", 19), "places is a whole number from 0 to 18"),
    (decimal("0", "1", -1), "places is a whole number from 0 to 18"),
    (decimal("0", "1", True), "places is a whole number from 0 to 18"),
    (decimal("0.005", "1"), "min is a decimal text of at most 2 places"),
    (decimal("0", "1e3"), "max is a decimal text of at most 2 places"),
    (decimal("0", 1), "max is a decimal text of at most 2 places"),  # type: ignore[arg-type]
    (decimal("0", "9" * 30), "max has too many digits"),
    (decimal("1", "0"), "min 1 is above max 0"),
    (decimal("0", "1", step="0"), "a step is positive"),
    (decimal("0", "1", step="-0.05"), "a step is positive"),
    (decimal("0", "1", step=1), "step is a decimal text"),
    (decimal("0", "1", stop="1"), "unknown keyword 'stop'"),
    ({**decimal("0", "1"), "minLength": 3}, "minLength beside a domain"),
    ({**decimal("0", "1"), "pattern": "x"}, "pattern beside a domain"),
    ({**decimal("0", "1"), "type": "number", "minimum": 0}, "minimum beside a domain"),
    ({**decimal("0", "1"), "type": "integer"}, "x-factorspec"),
    ({**decimal("0", "9999999999999999"), "type": "number"}, "loses some of them"),
    (
        {"enum": ["7.0"], "x-factorspec": {"domain": {"places": 2}}},
        "a listed value is no decimal of 2 places",
    ),
    ({"enum": [7], "x-factorspec": {"domain": {"places": 2}}}, "a listed value is no decimal of 2 places"),
    ({"enum": ["7.00"], "x-factorspec": {"domain": {"places": 2, "min": "0"}}}, "unknown keyword 'min'"),
]


@pytest.mark.parametrize(("schema", "message"), REFUSED, ids=str)
def test_refused_with_a_place(schema: Json, message: str) -> None:
    with pytest.raises(FactorspecError) as caught:
        parse_document(record({"a": schema}, []))
    assert message in str(caught.value)
    assert "/properties/a" in str(caught.value)


WRONG: list[tuple[Json, str]] = [
    (op("eq", A, {"const": "1.00"}), 'write {"const": "12.30", "type": "decimal"}'),
    (op("eq", A, {"const": "1.x", "type": "decimal"}), "this is no decimal"),
    (op("eq", A, {"const": 1, "type": "decimal"}), "this is no decimal"),
    (op("eq", {"ref": "$.mixed"}, A), "a decimal cannot be compared with mixed values"),
    (
        op("eq", op("mul", {"ref": "$.fine"}, {"ref": "$.fine"}), A),
        "the product has 20 decimal places, at most 18 are",
    ),
    (op("eq", op("add", {"ref": "$.day"}, A), {"ref": "$.day"}), "add cannot take a date and a decimal"),
    (op("eq", op("quotient", A, const("0.0"), mode="floor"), N), "a division by 0"),
]
FIELDS: Json = {
    "a": decimal("0.00", "2.00"),
    "b": decimal("0.0", "2.0", 1),
    "n": integer(0, 3),
    "fine": decimal("0", "1", 10),
    "mixed": {"enum": [1, "x"]},
    "day": {"type": "string", "format": "date",
            "x-factorspec": {"domain": {"min": "2026-01-01", "max": "2026-01-09"}}},
}  # fmt: skip


@pytest.mark.parametrize(("expr", "message"), WRONG, ids=str)
def test_wrong_types_are_named(expr: Json, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_document(record(FIELDS, [{"kind": "intension", "expr": expr}]))
    assert message in str(caught.value)


def test_fields_of_different_places_are_not_compared_as_they_stand() -> None:
    with pytest.raises(DocumentError, match="different numbers of decimal places"):
        parse_document(record(FIELDS, [{"kind": "all_different", "over": ["$.a", "$.b"]}]))


def test_a_tenth_and_two_tenths_are_three_tenths() -> None:
    spec = compiled({"b": decimal("0.1", "0.3", 1)}, [
        {"kind": "intension", "expr": op("eq", op("add", B, const("0.20")), const("0.300"))}])  # fmt: skip
    assert feasible(spec) == [[0]]


def test_places_meet_exactly() -> None:
    spec = compiled({"a": decimal("0.00", "0.30"), "b": decimal("0.0", "0.3", 1)}, [
        {"kind": "intension", "expr": op("eq", A, B)}])  # fmt: skip
    assert feasible(spec)[0] == [0, 10, 20, 30]
    assert feasible(spec, 20)[1] == [2]


def test_a_share_of_a_price_rounded_half_up_to_cents() -> None:
    taxed = op("rounded", op("mul", A, const("0.19")), const("0.01"), mode="half_up")
    spec = compiled({"a": decimal("2.00", "3.00", step="0.50"), "b": decimal("0.00", "1.00")}, [
        {"kind": "intension", "expr": op("eq", B, taxed)}])  # fmt: skip
    assert [feasible(spec, index)[1] for index in range(3)] == [[38], [48], [57]]  # 0.38, 0.475 -> 0.48, 0.57


def test_tables_hold_decimals_as_texts_of_any_places() -> None:
    tables = {"rates": [["low", "0.07"], ["high", "0.190"]]}
    rate = {"op": "lookup", "table": "rates", "key": [{"ref": "$.kind"}]}
    spec = compiled({"kind": {"enum": ["low", "high"]}, "a": decimal("0.00", "2.00")}, [
        {"kind": "intension", "expr": op("eq", A, op("mul", rate, {"const": 10}))}], tables)  # fmt: skip
    assert [feasible(spec, kind)[1] for kind in (0, 1)] == [[70], [190]]


def test_a_decimal_written_as_a_number_may_be_null() -> None:
    amount = {"anyOf": [{**decimal("0.00", "0.02"), "type": "number"}, {"type": "null"}]}
    spec = compiled({"a": amount, "b": decimal("0.00", "0.02")}, [
        {"kind": "intension", "expr": op("eq", A, B)}])  # fmt: skip
    texts = ("0.00", "0.01", "0.02")
    assert {record.text for record in all_records(spec.spec)} == {f'{{"a": {t}, "b": "{t}"}}' for t in texts}


def test_wide_amounts_add_up() -> None:
    """Ten million values in each of three fields, by register sets."""
    wide = decimal("0.00", "100000.00")
    spec = compiled(
        {"a": wide, "b": wide, "c": wide}, [{"kind": "sum", "over": ["$.a", "$.b"], "value": {"ref": "$.c"}}]
    )
    assert feasible(spec, 1_234_567, 8_765_433) == [[0, 10_000_000], [0, 8_765_433], [10_000_000]]


def test_verdicts_show_decimals_as_people_write_them() -> None:
    spec = parse_document(record(
        {"a": decimal("0.00", "2.00"), "b": {**decimal("0.0", "2.0", 1), "type": "number"}},
        [{"kind": "sum", "over": ["$.a", "$.b"], "value": const("1.5")}],
    ))  # fmt: skip
    assert [v.outcome for v in check_spec(spec, {"a": "0.30", "b": 1.2})] == ["holds"]
    (verdict,) = check_spec(spec, {"a": "0.30", "b": 1.3})
    assert verdict.explanation == "the sum of a = 0.30, b = 1.3 is 1.60, but must equal 1.5 = 1.5"
