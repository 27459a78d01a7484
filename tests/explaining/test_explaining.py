"""What explanations say, and what they say to odd questions."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

import factorspec_sdk as fs
from factorspec_sdk.explaining.differences import changes_between
from factorspec_sdk.explaining.hitting import cheapest_hitting_set
from factorspec_sdk.explaining.nearest_record import near
from factorspec_sdk.explaining.quickxplain import minimal_subset
from factorspec_sdk.fields.asked import AskedSet
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.wire import parse_document


class Line(BaseModel):
    quantity: Annotated[int, Field(ge=1, le=9)]
    price: Annotated[int, Field(ge=1, le=50)]
    net: Annotated[int, Field(ge=1, le=450)]


@fs.sum_of("lines[*].net", eq="total", name="adds up")
class Invoice(BaseModel):
    kind: Literal["a", "b"]
    note: Annotated[str, Field(min_length=2)]
    lines: Annotated[list[Line], Field(min_length=1, max_length=3)]
    total: Annotated[int, Field(ge=1, le=600)]

    @fs.relation("net is quantity times price")
    def nets(self) -> bool:
        return fs.every(line.net == line.quantity * line.price for line in self.lines)

    @fs.relation("b is small")
    def small(self) -> bool:
        return fs.either(self.kind != "b", self.total <= 100)


TWO = {"quantity": 2, "price": 10, "net": 20}
VALID = {"kind": "a", "note": "hi", "lines": [TWO], "total": 20}


def test_a_valid_record_needs_no_change() -> None:
    found = fs.explain(Invoice, VALID)
    assert found.is_valid
    assert str(found) == "the record is valid"
    assert found.nearest is not None
    assert found.nearest.record == VALID
    assert not found.nearest.changes


def test_every_broken_relation_is_told_and_the_fewest_fields_change() -> None:
    found = fs.explain(Invoice, {"kind": "b", "note": "hi", "lines": [{**TWO, "net": 21}], "total": 200})
    assert [verdict.name for verdict in found.broken] == [
        "adds up",
        "net is quantity times price",
        "b is small",
    ]
    assert "21" in found.broken[0].explanation
    assert found.nearest is not None
    assert {change.path for change in found.nearest.changes} == {"lines[0].net", "total"}
    assert found.nearest.record == {"kind": "b", "note": "hi", "lines": [TWO], "total": 20}
    assert str(found).startswith("the record is not valid:")
    assert "lines[0].net: 21 becomes 20" in str(found)


def test_numbers_move_as_little_as_they_can() -> None:
    one = {"quantity": 1, "price": 7, "net": 7}
    found = fs.nearest(Invoice, {**VALID, "lines": [TWO, one], "total": 30})
    assert [str(change) for change in found.changes] == ["total: 30 becomes 27"]


def test_strays_and_missing_fields_are_told_and_mended() -> None:
    found = fs.explain(Invoice, {"kind": "c", "lines": [TWO] * 5, "total": 40, "colour": "red"})
    assert [problem.place for problem in found.problems] == ["kind", "note", "lines[3]", "lines[4]", "colour"]
    assert found.nearest is not None
    assert found.nearest.record == {"kind": "a", "note": "??", "lines": [TWO, TWO, TWO], "total": 60}


def test_wrong_shapes_are_told() -> None:
    found = fs.explain(Invoice, {"kind": 1, "note": "hi", "lines": {"0": TWO}, "total": "20"})
    assert [problem.place for problem in found.problems] == ["kind", "lines", "total"]
    assert found.nearest is not None
    assert Invoice.model_validate(found.nearest.record).total >= 1


def test_an_instance_is_taken_as_it_would_be_sent() -> None:
    class Stay(BaseModel):
        start: Annotated[datetime.date, Field(ge=datetime.date(2026, 2, 1), le=datetime.date(2026, 3, 31))]
        end: Annotated[datetime.date, Field(ge=datetime.date(2026, 2, 1), le=datetime.date(2026, 3, 31))]

    stay = fs.lt("start", "end", name="forwards")(Stay)
    wrong = stay.model_construct(start=datetime.date(2026, 3, 5), end=datetime.date(2026, 3, 1))
    found = fs.nearest(stay, wrong)
    assert [str(change) for change in found.changes] in (
        ["start: '2026-03-05' becomes '2026-02-28'"],
        ["end: '2026-03-01' becomes '2026-03-06'"],
    )


def test_what_rules_a_value_out_and_nothing_more() -> None:
    found = fs.why_not(Invoice, {"kind": "b", "lines": [TWO]}, "total", 21)
    assert found.allowed is False
    assert set(found.relations) == {"adds up", "net is quantity times price"}
    assert ("lines[0].quantity", "2") in found.fields
    assert "kind" not in dict(found.fields)
    assert fs.why_not(Invoice, {"kind": "b", "lines": [TWO]}, "total", 20).allowed
    assert fs.why_not(Invoice, {"kind": "b"}, "lines", [{**TWO, "quantity": 9, "net": 90}]).allowed
    whole = fs.why_not(Invoice, {"kind": "b"}, "lines", [{"quantity": 9, "price": 50, "net": 450}])
    assert set(whole.relations) == {"adds up", "b is small"}
    assert whole.fields == (("kind", '"b"'),)


def test_what_is_given_may_contradict_by_itself() -> None:
    found = fs.why_not(Invoice, {"lines": [{**TWO, "net": 21}]}, "total", 21)
    assert found.already
    assert str(found).startswith("no record exists, with total = 21 or without")


@pytest.mark.parametrize("value", [601, 0, "20", None, True, [], 1e300])
def test_values_outside_the_schema_are_told_as_such(value: object) -> None:
    found = fs.why_not(Invoice, {}, "total", value)
    assert found.allowed is False
    assert found.outside
    assert "does not fit the schema" in str(found)


@pytest.mark.parametrize("path", ["totl", "lines[3].net", "lines[*].net", "lines[-1].net", "total.x", "a b"])
def test_paths_that_name_no_one_place_are_refused(path: str) -> None:
    with pytest.raises(fs.FactorspecError) as error:
        fs.why_not(Invoice, {}, path, 1)
    assert path in str(error.value)


def test_where_no_record_exists_the_conflict_is_told() -> None:
    class Pair(BaseModel):
        a: Annotated[int, Field(ge=1, le=3)]
        b: Annotated[int, Field(ge=1, le=3)]

    model = fs.lt("a", "b", name="rises")(fs.gt("a", "b", name="falls")(Pair))
    found = fs.explain(model, {"a": 1, "b": 2})
    assert found.nearest is None
    assert isinstance(found.error, fs.Unsatisfiable)
    with pytest.raises(fs.Unsatisfiable):
        fs.nearest(model, {})
    assert set(fs.why_not(model, {}, "a", 2).relations) == {"rises", "falls"}


def test_wide_fields_are_compared_as_sets() -> None:
    class Sum(BaseModel):
        parts: Annotated[list[Annotated[int, Field(ge=0, le=10_000_000)]], Field(min_length=3, max_length=3)]
        total: Annotated[int, Field(ge=0, le=30_000_000)]

    model = fs.sum_of("parts[*]", eq="total", name="adds up")(Sum)
    found = fs.nearest(model, {"parts": [5, 7, 9_999_999], "total": 3})
    assert found.proven
    assert len(found.changes) == 1
    assert not fs.why_not(model, {"parts": [1, 2, 3]}, "total", 7).allowed
    assert fs.why_not(model, {"parts": [1, 2, 3]}, "total", 7).relations == ("adds up",)


def test_a_new_part_whose_text_cannot_be_made_up_is_an_error() -> None:
    class Note(BaseModel):
        code: Annotated[str, Field(pattern="^[A-Z]{3}$")]

    class Notes(BaseModel):
        wanted: Literal[1, 2]
        notes: Annotated[list[Note], Field(max_length=2)]

    model = fs.intension(lambda r: fs.length(r.notes) == r.wanted, name="as many")(Notes)
    assert fs.nearest(model, {"wanted": 2, "notes": [{"code": "ABC"}]}).record["wanted"] == 1
    with pytest.raises(fs.RecordError) as error:
        fs.nearest(model, {"wanted": 2, "notes": []})
    assert error.value.place == "notes[0].code"


@pytest.mark.parametrize("make", [IndexSet.of, lambda found: asked(found)])
def test_the_nearest_member_of_a_set(make: Callable[[list[int]], IndexSet]) -> None:
    members = [3, 4, 90, 700]
    for wanted in (0, 3, 4, 40, 47, 48, 89, 394, 396, 700, 999):
        found = near(make(members), wanted)
        assert found in members
        assert abs(found - wanted) == min(abs(member - wanted) for member in members)
    assert near(make(members), None) == 3


def asked(members: list[int]) -> IndexSet:
    def ask(spans: tuple[tuple[int, int], ...]) -> tuple[int | None, bool]:
        return next((m for m in members for lo, hi in spans if lo <= m <= hi), None), True

    return AskedSet(1_000, ask, [])


def test_products_over_wide_fields_are_repaired() -> None:
    class Item(BaseModel):
        quantity: Annotated[int, Field(ge=1, le=999)]
        price: Annotated[int, Field(ge=1, le=1_000_000)]
        net: Annotated[int, Field(ge=1, le=10_000_000)]

        @fs.relation("net")
        def multiplied(self) -> bool:
            return self.net == self.quantity * self.price

    found = fs.nearest(Item, {"quantity": 7, "price": 1_234, "net": 8_640})
    assert [str(change) for change in found.changes] == ["net: 8640 becomes 8638"]
    found = fs.nearest(Item, {"quantity": 7, "price": 0, "net": 8_638})
    assert [str(change) for change in found.changes] == ["price: 0 becomes 1234"]
    assert not fs.why_not(Item, {"quantity": 7, "price": 1_234}, "net", 8_640).allowed


def test_minimal_subsets_prefer_earlier_items() -> None:
    assert minimal_subset([1, 2, 3, 4], lambda items: sum(items) >= 6) == [1, 2, 3]
    assert minimal_subset([1], lambda items: True) == []


def test_the_cheapest_hitting_set() -> None:
    sets = [frozenset({1, 2}), frozenset({2, 3}), frozenset({1, 3})]
    assert cheapest_hitting_set(sets, {1: 1, 2: 1, 3: 5}) == ({1, 2}, True)
    assert cheapest_hitting_set([], {}) == (set(), True)


def test_changes_go_field_by_field() -> None:
    before = {"a": 1, "b": {"c": [1, 2]}, "d": None, "e": [], "t": 1}
    after = {"a": True, "b": {"c": [1]}, "d": {"x": 1}, "t": 1.0, "f": "new"}
    assert [change.path for change in changes_between(before, after)] == ["a", "b.c[1]", "d.x", "e", "f"]  # type: ignore[arg-type]  # a float is no record value


class Stay(BaseModel):
    day: Annotated[datetime.date, fs.Between(datetime.date(2026, 1, 1), datetime.date(2026, 1, 9))]
    fee: Annotated[Decimal, Field(ge=0, le=2, decimal_places=1)]
    nights: Annotated[int, Field(ge=0, le=5)]


class Colour(Enum):
    RED = "a"


class Holder(BaseModel):
    fields: Annotated[list[Literal["a", "b"]], Field(max_length=2)]


def test_python_values_are_read_as_they_would_be_sent() -> None:
    stay = {"day": datetime.date(2026, 1, 2), "fee": Decimal("1.5"), "nights": 3}
    assert fs.explain(Stay, stay).is_valid
    assert fs.nearest(Stay, stay).changes == ()
    assert fs.why_not(Stay, stay, "fee", Decimal("1.5")).allowed
    assert fs.explain(Holder, {"fields": (Colour.RED, "b")}).is_valid


ODD = [
    float("nan"), float("inf"), Decimal("NaN"), object(), {1}, b"x", "\ud800", 10**5000, -0.0, Stay, len,
    datetime.datetime(2026, 1, 1),
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=[type(odd).__name__ + str(at) for at, odd in enumerate(ODD)])
@pytest.mark.parametrize("path", ["day", "fee", "nights"])
def test_values_that_are_no_json_do_not_fit(odd: object, path: str) -> None:
    stay: dict[str, object] = {"day": "2026-01-02", "fee": "1.5", "nights": 3}
    if not (odd == 0 and path == "nights"):
        assert fs.why_not(Stay, stay, path, odd).outside
        assert not fs.explain(Stay, {**stay, path: odd}).is_valid


@pytest.mark.parametrize("odd", [None, 5, "[", [1], object(), float("nan")])
def test_what_is_no_record_or_no_model_is_told(odd: Any) -> None:
    for ask in (fs.explain, fs.nearest):
        with pytest.raises(fs.RecordError, match=r"json\.loads"):
            ask(Stay, odd)
    with pytest.raises(fs.RecordError, match="no instance"):
        fs.check(odd)
    with pytest.raises(fs.DeclarationError, match="no Pydantic model"):
        fs.explain(odd, {})
    with pytest.raises(fs.FactorspecError):
        fs.why_not(Stay, {}, odd, 1)


def test_a_record_nested_without_end_does_not_fit() -> None:
    knot: dict[str, object] = {}
    knot["nights"] = knot
    assert not fs.explain(Stay, knot).is_valid


def test_a_schema_that_admits_everything_admits_any_value() -> None:
    kind = {
        "type": "object",
        "properties": {"kind": {"const": "k"}, "any": {"anyOf": [{"type": "integer"}, True]}},
    }
    schema = {
        "type": "object",
        "properties": {"one": {"anyOf": [kind | {"required": ["kind", "any"], "additionalProperties": False},
                                         {"type": "null"}]}},
        "required": ["one"], "additionalProperties": False,
    }  # fmt: skip
    spec = parse_document(schema)
    assert fs.explain(spec, {"one": {"kind": "k", "any": {"deep": [1]}}}).is_valid
