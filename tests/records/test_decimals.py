"""``Decimal`` fields: what is written, what is refused, and that recorded arithmetic is Python's."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

import pytest
from annotated_types import MultipleOf
from pydantic import BaseModel, Field, ValidationError

import factorspec_sdk as fs

D = Decimal


def schema(annotation: Any) -> Any:
    """What a field of this type is written as."""
    model: Any = type("One", (BaseModel,), {"__annotations__": {"x": annotation}})
    document: Any = fs.document(model)
    fs.spec(model)
    return document["properties"]["x"]


def domain(places: int, least: str, most: str, **more: str) -> dict[str, Any]:
    return {"x-factorspec": {"domain": {"places": places, "min": least, "max": most, **more}}}


def text(places: int, least: str, most: str, **more: str) -> dict[str, Any]:
    return {"type": "string", **domain(places, least, most, **more)}


WRITTEN: list[tuple[Any, dict[str, Any]]] = [
    (Annotated[D, Field(decimal_places=2, ge=0, le=1000)], text(2, "0.00", "1000.00")),
    (Annotated[D, Field(max_digits=3, decimal_places=2)], text(2, "-9.99", "9.99")),
    (Annotated[D, Field(max_digits=3, decimal_places=2, gt=0, lt=D("0.3"))], text(2, "0.01", "0.29")),
    (Annotated[D, Field(decimal_places=2, ge=0, le=1), MultipleOf(D("0.05"))],
     text(2, "0.00", "1.00", step="0.05")),
    (Annotated[D, fs.Between(D("0.5"), D("2"), step=D("0.25"))], text(2, "0.50", "2.00", step="0.25")),
    (Annotated[D, Field(decimal_places=1, ge=0.3, le=0.7), fs.AsNumber()],
     {"type": "number", **domain(1, "0.3", "0.7")}),
    (Annotated[D, fs.In([D("7"), D("19.5")])],
     {"type": "string", "enum": ["7.0", "19.5"], "x-factorspec": {"domain": {"places": 1}}}),
    (Annotated[D, Field(decimal_places=2, ge=0, le=0)] | None,
     {"anyOf": [text(2, "0.00", "0.00"), {"type": "null"}]}),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "expected"), WRITTEN, ids=str)
def test_written(annotation: Any, expected: dict[str, Any]) -> None:
    assert schema(annotation) == expected


REFUSED: list[tuple[Any, str]] = [
    (D, "needs decimal_places"),
    (Annotated[D, Field(ge=0, le=1)], "needs decimal_places"),
    (Annotated[D, Field(decimal_places=2, ge=0)], "needs bounds"),
    (Annotated[D, Field(decimal_places=19, ge=0, le=1)], "at most 18"),
    (Annotated[D, Field(decimal_places=3, max_digits=2)], "max_digits 2 is below decimal_places 3"),
    (
        Annotated[D, fs.Between(D(0), D(1), step=D("0.3")), Field(decimal_places=0)],
        "more than 0 decimal places",
    ),
    (Annotated[D, fs.Between(D(0), D(1), step=D("0.5")), MultipleOf(D("0.1"))], "not both"),
    (Annotated[D, fs.Between(D(0), fs.param("most"))] | None, "parameters"),
]


@pytest.mark.parametrize(("annotation", "text"), REFUSED, ids=str)
def test_refused(annotation: Any, text: str) -> None:
    with pytest.raises(fs.FactorspecError) as caught:
        schema(annotation)
    assert text in str(caught.value)


class Rates(BaseModel):
    standard: D = D("0.19")
    by_kind: dict[str, D] = {"food": D("0.070"), "other": D("0.19")}
    coins: list[D] = [D("0.05"), D("0.1")]


class Bill(BaseModel):
    kind: Annotated[str, fs.In(["food", "other"])]
    net: Annotated[D, Field(decimal_places=2, ge=-5, le=20)]
    tax: Annotated[D, Field(decimal_places=2, ge=-5, le=20)]
    share: Annotated[D, Field(decimal_places=1, ge=0, le=1)]
    count: Annotated[int, Field(ge=1, le=9)]


Body = Callable[[Any, Any], Any]
BODIES: list[Body] = [
    lambda s, g: s.net * s.share == s.tax,
    lambda s, g: s.net + s.tax <= s.count,
    lambda s, g: s.net - 2 * s.tax > D("-1.005"),
    lambda s, g: abs(-s.net) != s.share,
    lambda s, g: fs.rounded(s.net * g.by_kind[s.kind], D("0.01")) >= s.tax,
    lambda s, g: fs.rounded(s.net * g.standard, D("0.1"), mode="half_even") < s.tax,
    lambda s, g: fs.quotient(s.net, D("0.05"), mode="floor") == fs.quotient(s.net, D("0.05"), mode="ceiling"),
    lambda s, g: fs.quotient(s.net, s.count) >= fs.quotient(s.tax, s.share + 1),
    lambda s, g: fs.least(s.net, s.tax, s.count) == fs.least(s.net, s.count),
    lambda s, g: fs.is_in(s.share, [D("0.5"), D("0.50"), D("0.7")]),
    lambda s, g: fs.is_in(s.share, g.coins),
    lambda s, g: fs.is_row((s.kind, s.share), [("food", D("0.10")), ("other", 1)]),
    lambda s, g: g.by_kind[s.kind] * 10 > s.share,
    lambda s, g: s.tax >= g.standard - s.share,
]


@pytest.mark.parametrize("body", BODIES)
def test_the_recorded_relation_means_what_python_computes(body: Body) -> None:
    class Traced(Bill):
        @fs.relation("it holds")
        def rule(self, given: Rates) -> bool:
            return body(self, given)  # type: ignore[no-any-return]

    given, rng, seen = Rates(), random.Random(3), set()
    bound = fs.bind(Traced, given)
    fs.spec(bound)
    for _ in range(60):
        data: dict[str, Any] = {
            "kind": rng.choice(["food", "other"]), "net": D(rng.randrange(-500, 2001)) / 100,
            "tax": D(rng.randrange(-20, 40)) / 10, "share": D(rng.randrange(11)) / 10,
            "count": rng.randrange(1, 10),
        }  # fmt: skip
        if rng.random() < 0.3:
            data["net"] = D(rng.randrange(3))
        expected = bool(body(Bill.model_validate(data), given))
        seen.add(expected)
        try:
            bound.model_validate(data)
        except ValidationError:
            assert not expected
        else:
            assert expected
    assert len(seen) == 2 or body is BODIES[0]


WRONG: list[tuple[Body, str]] = [
    (lambda s, g: s.net // s.share == 1, 'fs.quotient(a, b, mode="floor")'),
    (lambda s, g: s.net % D("0.05") == 0, "fs.rounded(value, unit) == value"),
    (lambda s, g: 1 // s.share == 1, "rounds towards 0"),
    (lambda s, g: s.net / 2 == s.tax, "fs.quotient"),
    (lambda s, g: s.net * 0.19 == s.tax, 'write Decimal("0.19")'),
    (lambda s, g: s.net == "1.00", "never compare"),
    (lambda s, g: round(s.net, 1) == s.tax, "fs.rounded"),
    (lambda s, g: fs.rounded(s.net, D("0.00")) == s.tax, "division by 0"),
    (lambda s, g: s.net == D("NaN"), "is no constant"),
    (lambda s, g: s.net == D("1e400"), "is no constant"),
]


@pytest.mark.parametrize(("body", "text"), WRONG)
def test_what_cannot_be_recorded_says_what_to_write(body: Body, text: str) -> None:
    with pytest.raises(fs.DeclarationError) as caught:

        class Traced(Bill):
            @fs.relation("it holds")
            def rule(self, given: Rates) -> bool:
                return body(self, given)  # type: ignore[no-any-return]

    assert text in str(caught.value)


def test_functions_compute_on_ordinary_decimals() -> None:
    assert fs.quotient(D("0.30"), D("0.1")) == 3
    assert fs.rounded(D("0.475"), D("0.01")) == D("0.48")
    assert fs.rounded(D("0.475"), D("0.01"), mode="half_even") == D("0.48")
    assert fs.rounded(D("0.465"), D("0.01"), mode="half_even") == D("0.46")
    assert fs.least(D("0.5"), 1) == D("0.5")


def test_fields_of_different_places_are_told_when_the_class_is_made() -> None:
    with pytest.raises(fs.DeclarationError, match="different types"):

        @fs.all_different("net", "share")
        class Wrong(Bill):
            pass


def test_values_and_bounds_that_arrive_with_the_call() -> None:
    class Late(BaseModel):
        rate: Annotated[D, Field(decimal_places=3), fs.In("rates")]
        amount: Annotated[D, Field(decimal_places=2, ge=0), fs.Between(D(0), fs.param("most"))]

    bound = fs.bind(Late, rates=[D("0.07"), D("0.190"), 1], most=D("0.05"))
    document: Any = fs.document(bound)
    assert document["properties"]["rate"]["enum"] == ["0.070", "0.190", "1.000"]
    assert document["properties"]["amount"] == {"type": "string", **domain(2, "0.00", "0.05")}
    fs.spec(bound)
    assert bound.model_validate({"rate": "0.19", "amount": "0.05"}).rate == D("0.19")
    for data in ({"rate": "0.2", "amount": "0.05"}, {"rate": "1", "amount": "0.06"}):
        with pytest.raises(ValidationError):
            bound.model_validate(data)
    with pytest.raises(fs.BindingError):
        fs.bind(Late, rates=["x"], most=D(1))
