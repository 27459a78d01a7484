"""Explanations look at free texts too: their type, their length, and the source they must be pieces of."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

import factorspec_sdk as fs

PAGE = 'The "Aurora" left with 41 men. Captain Lie said: "We saw no ice."'


class Claim(BaseModel):
    quote: Annotated[str, Field(min_length=5, max_length=40)]
    by: Annotated[str, fs.In(["Lie", "Moe"])]


@fs.substring_of("claims[*].quote", of=PAGE, name="verbatim")
class Extract(BaseModel):
    claims: Annotated[list[Claim], Field(min_length=1, max_length=2)]


def claim(quote: Any) -> dict[str, Any]:
    return {"quote": quote, "by": "Lie"}


@pytest.mark.parametrize(
    ("quote", "message"),
    [
        ("ice", "must have at least 5 characters (got 'ice')"),
        ("x" * 41, "must have at most 40 characters"),
        (5, "must be a text (got 5)"),
        (None, "must be a text (got None)"),
    ],
)
def test_a_text_of_another_type_or_length_does_not_fit(quote: Any, message: str) -> None:
    found = fs.explain(Extract, {"claims": [claim(quote)]})
    assert not found.is_valid
    assert message in str(found)
    assert found.nearest is not None
    Extract.model_validate(found.nearest.record)
    why = fs.why_not(Extract, {}, "claims[0].quote", quote)
    assert why.allowed is False
    assert message in str(why)


def test_a_quote_that_is_not_in_the_source_is_ruled_out_by_the_relation() -> None:
    assert fs.why_not(Extract, {}, "claims[0].quote", "We saw no ice.").allowed
    why = fs.why_not(Extract, {}, "claims[1]", claim("We saw ice."))
    assert (why.allowed, why.relations, why.already) == (False, ("verbatim",), False)


def test_a_wrong_quote_that_is_given_rules_everything_out_and_may_be_replaced() -> None:
    given = {"claims": [claim("We saw ice.")]}
    why = fs.why_not(Extract, given, "claims[0].by", "Moe")
    assert why.already
    assert str(why).endswith("or without: claims[0].quote = \"We saw ice.\" contradicts 'verbatim'")
    assert fs.why_not(Extract, given, "claims[0].quote", "We saw no ice.").allowed


def test_what_is_given_and_does_not_fit_is_told_as_such() -> None:
    why = fs.why_not(Extract, {"claims": [claim("ice")]}, "claims[0].by", "Lie")
    assert why.allowed is None
    assert str(why).startswith('claims[0].by = "Lie": what is given does not fit the schema: claims[0].quote')


def test_values_may_be_python_ones() -> None:
    class Stay(BaseModel):
        first: Annotated[date, fs.Between(date(2026, 5, 1), date(2026, 5, 31))]
        price: Annotated[Decimal, Field(ge=0, le=10, decimal_places=2)]

    given = {"first": date(2026, 5, 2), "price": Decimal("1.50")}
    assert fs.explain(Stay, given).is_valid
    assert fs.why_not(Stay, {}, "first", date(2026, 5, 3)).allowed
    assert fs.why_not(Stay, given, "price", Decimal("2.50")).allowed
    assert fs.why_not(Stay, given, "price", object()).outside
    with pytest.raises(fs.RecordError, match=r"json\.loads reads a text"):
        fs.explain(Stay, "{}")  # type: ignore[arg-type]


def test_a_value_outside_a_wide_field_is_told_how_values_are_written() -> None:
    class Bill(BaseModel):
        net: Annotated[int, Field(ge=10, le=99)]

    assert str(fs.why_not(Bill, {}, "net", 5)).endswith("net: not one of the 90 values 10, 11, …, 99 (got 5)")
