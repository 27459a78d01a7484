"""Class decorators: their wire form, their checks when the class is made, names and inheritance."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Literal, Optional, cast

import pytest
from pydantic import BaseModel, Field

import factorspec_sdk as fs

Small = Annotated[int, Field(ge=0, le=9)]


class Kind(Enum):
    SALE = "sale"
    REFUND = "refund"


class Line(BaseModel):
    cents: Annotated[int, Field(ge=0, le=1000)]
    kind: Kind = Kind.SALE


class Invoice(BaseModel):
    lines: Annotated[list[Line], Field(max_length=3)]
    total: Annotated[int, Field(ge=0, le=3000)]
    choice: Small = 0
    day: Annotated[datetime.date, fs.Between(datetime.date(2026, 1, 1), datetime.date(2026, 12, 31))]
    currency: Literal["EUR", "USD"] = "EUR"
    paid: bool = False
    note: str = ""
    discount: Optional[Small] = None  # noqa: UP045


def relations(model: type[BaseModel]) -> list[dict[str, Any]]:
    vendor: Any = fs.document(model)["x-factorspec"]
    found: list[dict[str, Any]] = vendor["relations"]
    return found


def wire(*decorators: Callable[[type[BaseModel]], type[BaseModel]]) -> list[dict[str, Any]]:
    class Copy(Invoice):
        pass

    model: type[BaseModel] = Copy
    for decorator in reversed(decorators):
        model = decorator(model)
    fs.spec(model)
    return relations(model)


def test_each_kind_has_its_wire_form() -> None:
    found = wire(
        fs.all_different("lines[*].cents", "total"),
        fs.sum_of("lines[*].cents", "choice", weights=[1, -2], eq="total"),
        fs.table(("currency", "paid"), rows=[("EUR", True), ("USD", False)], allow=False),
        fs.element("lines[*].cents", index="choice", start=1, le="total"),
        fs.ordered("choice", "total", strict=True),
        fs.count("lines[*].kind", values=[Kind.REFUND], le=1),
        fs.slide("lines", fs.le("a.cents", "b.cents")),
        fs.implies(fs.eq("lines[0].kind", fs.const("refund")), fs.eq("total", 0)),
        fs.intension(fs.either(fs.eq("paid", True), fs.not_(fs.one_of("currency", ["USD"])))),
    )
    assert [relation["kind"] for relation in found] == [
        "all_different", "sum", "table", "element", "ordered", "count", "slide", "implies", "intension",
    ]  # fmt: skip
    assert [relation["name"] for relation in found] == [
        "all different: lines[*].cents, total",
        "sum of lines[*].cents + -2×choice = total",
        "(currency, paid) not in its table",
        "lines[*].cents at choice ≤ total",
        "ordered <: choice, total",
        "count of refund in lines[*].kind ≤ 1",
        "lines: a.cents ≤ b.cents",
        "if lines[0].kind = 'refund' then total = 0",
        "paid = True or not (currency in USD)",
    ]
    assert found[1] == {
        "name": "sum of lines[*].cents + -2×choice = total",
        "kind": "sum",
        "over": ["$.lines[*].cents", "$.choice"],
        "weights": [1, -2],
        "op": "eq",
        "value": {"ref": "$.total"},
    }
    assert found[5]["values"] == [{"const": "refund"}]
    assert found[7]["if"] == {"op": "eq", "args": [{"ref": "$.lines[0].kind"}, {"const": "refund"}]}


def test_dates_become_typed_constants() -> None:
    found = wire(fs.ge("day", datetime.date(2026, 5, 1)))
    assert found[0]["expr"]["args"][1] == {"const": "2026-05-01", "type": "date"}


def test_slide_takes_a_function_of_the_items() -> None:
    def rising(a: Any, b: Any) -> Any:
        return b.cents >= a.cents + 1

    found = wire(fs.slide("lines", rising), fs.slide("lines", lambda one: one.cents >= 5, name="at least 5"))
    assert found[0]["as"] == ["a", "b"]
    assert found[0]["expr"] == {
        "op": "ge",
        "args": [{"ref": "b.cents"}, {"op": "add", "args": [{"ref": "a.cents"}, {"const": 1}]}],
    }
    assert found[1]["as"] == ["one"]


def test_intension_takes_a_function_of_the_record() -> None:
    found = wire(fs.intension(lambda invoice: invoice.total >= invoice.choice * 2, name="twice"))
    assert found[0]["expr"]["args"][0] == {"ref": "$.total"}


def test_optional_fields_compare_with_null() -> None:
    found = wire(fs.eq("discount", None))
    assert found[0]["expr"]["args"] == [{"ref": "$.discount"}, {"const": None}]


def test_default_names_are_unique() -> None:
    found = wire(fs.le("choice", "total"), fs.le("choice", "total"))
    assert sorted(relation["name"] for relation in found) == ["choice ≤ total", "choice ≤ total (2)"]


def test_report_only_relations_say_so() -> None:
    found = wire(fs.le("choice", "total", name="soft", why="It would be nice.", enforce=False))
    assert found[0]["enforce"] is False
    assert found[0]["why"] == "It would be nice."


WRONG: list[tuple[fs.Declaration, type[fs.DeclarationError], str]] = [
    (fs.all_different("lines[*].cent"), fs.UnknownField, "did you mean 'cents'?"),
    (fs.all_different("line[*].cents"), fs.UnknownField, "did you mean 'lines'?"),
    (fs.all_different("total[*]"), fs.UnknownField, "has no items"),
    (fs.all_different("total.x"), fs.UnknownField, "has no fields"),
    (fs.all_different("lines[5].cents"), fs.UnknownField, "at most 3"),
    (fs.all_different("lines"), fs.DeclarationError, "lines[*]"),
    (fs.all_different("lines[*]"), fs.DeclarationError, "not a single value"),
    (fs.all_different("lines[*"), fs.DeclarationError, "cannot read"),
    (fs.all_different(), fs.DeclarationError, "at least one path"),
    (fs.all_different("total", "currency"), fs.DeclarationError, "different types"),
    (fs.all_different("note"), fs.UnsupportedField, "without a finite domain"),
    (fs.all_equal("total", "currency"), fs.DeclarationError, "different types"),
    (fs.slide("lines", fs.all_equal("a.cents")), fs.DeclarationError, "at least two fields"),
    (fs.slide("lines", fs.all_equal("a.cents", "lines[*].cents")), fs.DeclarationError, "many fields"),
    (fs.minimum("lines[*].cents"), fs.DeclarationError, "exactly one comparison"),
    (fs.minimum("currency", eq="currency"), fs.DeclarationError, "no order"),
    (fs.maximum("lines[*].cents", eq="day"), fs.DeclarationError, "never compare"),
    (fs.member_of("total"), fs.DeclarationError, "one of of= and values="),
    (fs.member_of("total", of="lines[*].cent"), fs.UnknownField, "did you mean 'cents'?"),
    (fs.member_of("total", of="lines[*].kind"), fs.DeclarationError, "different types"),
    (fs.member_of("currency", values=["EUC"], column=1), fs.DeclarationError, "one column"),
    (fs.member_of("currency", values=[3]), fs.DeclarationError, "never compare"),
    (fs.slide("lines", fs.member_of("a.cents", of="day")), fs.DeclarationError, "never compare"),
    (fs.permutation_of("currency"), fs.DeclarationError, "only integers count"),
    (fs.permutation_of("currency", values=["EUR"], of="currency"), fs.DeclarationError, "do not go together"),
    (fs.permutation_of("currency", values=["EUC"]), fs.DeclarationError, "did you mean 'EUR'?"),
    (fs.cardinality("lines[*].kind", times={}), fs.DeclarationError, "at least one value"),
    (fs.cardinality("lines[*].kind", times={"sal": 1}), fs.DeclarationError, "did you mean 'sale'?"),
    (fs.cardinality("lines[*].kind", times={"sale": (2, 1)}), fs.DeclarationError, "cannot occur 2–1×"),
    (fs.precedence("lines[*].kind", values=["sale"]), fs.DeclarationError, "at least two values"),
    (fs.precedence("lines[*].kind", values=["sale", 3]), fs.DeclarationError, "never compare"),
    (fs.regular("total", transitions=[], start="a", final=["a"]), fs.DeclarationError, "one transition"),
    (fs.regular("total", transitions=[("a", 1, "a")], start="a", final=[]), fs.DeclarationError, "final"),
    (fs.follows("lines[*].kind", after={"sale": ["refnd"]}), fs.DeclarationError, "mean 'refund'?"),
    (fs.iff(fs.eq("paid", True), fs.eq("totl", 1)), fs.UnknownField, "did you mean 'total'?"),
    (fs.same_length("lines", "total"), fs.DeclarationError, "not a list"),
    (fs.same_length("lines", "line"), fs.UnknownField, "did you mean 'lines'?"),
    (fs.same_length(), fs.DeclarationError, "at least one path"),
    (fs.sum_of("lines[*].cents"), fs.DeclarationError, "exactly one comparison"),
    (fs.sum_of("lines[*].cents", eq="total", le=3), fs.DeclarationError, "exactly one comparison"),
    (fs.sum_of("lines[*].cents", eq="currency"), fs.DeclarationError, "never compare"),
    (fs.sum_of("lines[*].cents", eq="lines[*].cents"), fs.DeclarationError, "many fields"),
    (fs.sum_of("currency", eq=3), fs.DeclarationError, "only integers and decimals can be summed"),
    (fs.sum_of("total", "choice", weights=[1], eq=3), fs.DeclarationError, "1 weights for 2 paths"),
    (fs.ordered("currency", "total"), fs.DeclarationError, "no order"),
    (fs.table(("currency", "paid"), rows=[("EUR",)]), fs.DeclarationError, "row 0 has 1 columns, 2 paths"),
    (fs.table(("currency", "paid"), rows=[("EUR", 3)]), fs.DeclarationError, "never compare"),
    (fs.table(("lines[*].cents",), rows=[(3,)]), fs.DeclarationError, "many fields"),
    (fs.count("lines[*].kind", values=["sal"], eq=1), fs.DeclarationError, "did you mean 'sale'?"),
    (fs.count("lines[*].kind", values=[], eq=1), fs.DeclarationError, "at least one value"),
    (fs.element("lines[*].cents", index="currency", eq=3), fs.DeclarationError, "a position is an integer"),
    (fs.slide("total", fs.eq("a", "b")), fs.DeclarationError, "not a list"),
    (fs.slide("lines", fs.eq("a.cents", "c.cents")), fs.UnknownField, "has no field 'c'"),
    (fs.slide("lines", fs.eq("a.cents", "b.cent")), fs.UnknownField, "did you mean 'cents'?"),
    (fs.slide("lines", fs.eq("a.cents", "b.cents"), as_=("a", "a")), fs.DeclarationError, "must differ"),
    (fs.eq("currency", "EUR"), fs.UnknownField, "const('EUR')"),
    (fs.eq("currency", fs.const("EUC")), fs.DeclarationError, "did you mean 'EUR'?"),
    (fs.eq("total", fs.const("EUR")), fs.DeclarationError, "never compare"),
    (fs.lt("currency", fs.const("EUR")), fs.DeclarationError, "has no order"),
    (fs.eq("day", datetime.timedelta(days=1)), fs.DeclarationError, "integer"),
]  # fmt: skip


@pytest.mark.parametrize(("decorator", "error", "text"), WRONG)
def test_what_is_wrong_is_said_when_the_class_is_made(
    decorator: fs.Declaration, error: type[fs.DeclarationError], text: str
) -> None:
    class Copy(Invoice):
        pass

    with pytest.raises(error) as caught:
        decorator(Copy)
    assert text in str(caught.value)
    assert "Copy" in str(caught.value)


def test_all_problems_are_reported_at_once() -> None:
    class Copy(Invoice):
        pass

    with pytest.raises(fs.UnknownField) as caught:
        fs.all_different("lines[*].cent", "totl")(Copy)
    assert [problem.place for problem in caught.value.problems] == ["lines[*].cent", "totl"]


def test_only_models_are_decorated() -> None:
    with pytest.raises(fs.DeclarationError, match="Pydantic"):
        fs.all_different("x")(dict)  # type: ignore[type-var]


def test_subclasses_inherit_and_override_by_name() -> None:
    @fs.le("choice", "total", name="limit")
    @fs.ne("choice", 3, name="not three")
    class Base(Invoice):
        pass

    @fs.lt("choice", "total", name="limit")
    class Derived(Base):
        pass

    assert [(r["name"], r["expr"]["op"]) for r in relations(Derived)] == [
        ("limit", "lt"),
        ("not three", "ne"),
    ]
    assert [(r["name"], r["expr"]["op"]) for r in relations(Base)] == [("limit", "le"), ("not three", "ne")]


def test_two_relations_of_one_name_on_a_class_are_refused() -> None:
    with pytest.raises(fs.DeclarationError, match="two relations of this name"):

        @fs.le("choice", "total", name="limit")
        @fs.ne("choice", 3, name="limit")
        class Twice(Invoice):
            pass


def test_a_method_and_a_decorator_of_one_name_are_refused() -> None:
    with pytest.raises(fs.DeclarationError, match="two relations of this name"):

        @fs.le("choice", "total", name="limit")
        class Twice(Invoice):
            @fs.relation("limit")
            def limit(self) -> bool:
                return self.choice <= self.total


def test_nested_models_carry_their_relations_into_every_use() -> None:
    @fs.le("low", "high")
    class Range(BaseModel):
        low: Small
        high: Small

    class Two(BaseModel):
        first: Range
        others: Annotated[list[Range], Field(max_length=2)]

    document: Any = fs.document(Two)
    assert document["$defs"]["Range"]["x-factorspec"]["relations"][0]["name"] == "low ≤ high"
    assert "relations" not in document["x-factorspec"]
    fs.spec(Two)


def test_names_that_are_no_identifiers_reach_the_document_by_alias() -> None:
    @fs.le("low", "high")
    class Odd(BaseModel):
        low: Annotated[int, Field(alias='it\'s "low" \\ é', ge=0, le=9)]
        high: Annotated[int, Field(alias="höchst", ge=0, le=9)]

    assert relations(Odd)[0]["expr"]["args"] == [{"ref": "$['it\\'s \"low\" \\\\ é']"}, {"ref": "$.höchst"}]
    fs.spec(Odd)
    assert Odd.model_validate({'it\'s "low" \\ é': 1, "höchst": 2}).low == 1
    with pytest.raises(ValueError, match="does not hold"):
        Odd.model_validate({'it\'s "low" \\ é': 3, "höchst": 2})
    with pytest.raises(fs.UnknownField, match="the Python name is 'high'"):
        fs.eq("höchst", 1)(Odd)


def test_decorators_mix_with_methods_in_any_order() -> None:
    @fs.le("choice", "total", name="first")
    class Mixed(Invoice):
        @fs.relation("second")
        def second(self) -> bool:
            return self.choice >= 1

    fs.ne("choice", 4, name="third")(Mixed)
    assert {r["name"] for r in relations(Mixed)} == {"first", "second", "third"}


def test_names_fit_into_messages() -> None:
    class Copy(Invoice):
        pass

    for name in ("", " ", "x" * 201):
        with pytest.raises(fs.DeclarationError, match="1 to 200 characters"):
            fs.le("choice", "total", name=name)(Copy)
    fs.one_of("currency", ["EUR"] * 100)(Copy)
    assert len(relations(Copy)[0]["name"]) <= 120


def test_a_field_may_be_called_root() -> None:
    @fs.le("root.low", "high")
    class Model(BaseModel):
        class Low(BaseModel):
            low: Small

        root: Low
        high: Small

    assert relations(Model)[0]["expr"]["args"][0] == {"ref": "$.root.low"}


def test_a_failed_attempt_leaves_the_class_as_it_was() -> None:
    class Copy(Invoice):
        pass

    for _ in range(2):
        with pytest.raises(fs.UnknownField, match="has no field 'nothing'"):
            fs.all_equal("nothing")(Copy)
    assert fs.document(Copy)


def test_a_decorator_that_is_not_called_and_a_check_of_no_instance_say_so() -> None:
    for decorator in (fs.all_different, fs.all_equal, fs.permutation_of):
        with pytest.raises(fs.DeclarationError, match="the decorator is called with paths"):
            decorator(Invoice)  # type: ignore[arg-type]
    with pytest.raises(fs.RecordError, match="validate it first"):
        fs.check({})  # type: ignore[arg-type]


class Shift(BaseModel):
    days: Annotated[list[Literal["early", "late"]], Field(max_length=3)]


ODD_ARGUMENTS: dict[str, Callable[[], Any]] = {
    "times": lambda: fs.cardinality("days[*]", times={"early": cast(Any, None)}),
    "a text for two numbers": lambda: fs.cardinality("days[*]", times={"early": cast(Any, "zz")}),
    "transitions": lambda: fs.regular("days[*]", transitions=cast(Any, "zz"), start="s", final=["s"]),
    "values": lambda: fs.member_of("days[*]", values=cast(Any, 5)),
    "after": lambda: fs.follows("days[*]", after={"early": cast(Any, None)}),
    "travel": lambda: fs.no_overlap("days", start="@", duration=1, travel=cast(Any, 5)),
    "a constant among conditions": lambda: fs.iff(cast(Any, None), fs.eq("days[0]", "days[1]")),
    "name": lambda: fs.all_equal("days[*]", name=cast(Any, 5)),
    "why": lambda: fs.all_equal("days[*]", why=cast(Any, object())),
}


@pytest.mark.parametrize("called", ODD_ARGUMENTS)
def test_arguments_of_another_kind_are_told(called: str) -> None:
    with pytest.raises(fs.DeclarationError) as error:
        ODD_ARGUMENTS[called]()(type("Odd", (Shift,), {"__module__": __name__}))
    assert error.value.problems[0].hint
