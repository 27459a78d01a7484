"""``@relation`` methods: what is recorded, and what is refused because it cannot be."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Annotated, Any, Literal, Optional

import pytest
from pydantic import BaseModel, Field

import factorspec_sdk as fs

Small = Annotated[int, Field(ge=0, le=9)]
Day = Annotated[datetime.date, fs.Between(datetime.date(2026, 1, 1), datetime.date(2026, 12, 31))]
Clock = Annotated[datetime.time, fs.Between(datetime.time(8), datetime.time(18), step=fs.minutes(30))]


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Part(BaseModel):
    size: Small
    kind: Literal["x", "y"] = "x"


class Item(BaseModel):
    n: Small
    m: Small = 0
    parts: Annotated[list[Part], Field(max_length=2)] = []


class Limits(BaseModel):
    least: int
    days: dict[str, datetime.date] = {}


class Block(BaseModel):
    first: int
    last: int
    day: datetime.date = datetime.date(2026, 1, 8)


class Given(BaseModel):
    number: int = 3
    kinds: list[str] = []
    sizes: dict[str, int] = {}
    pairs: dict[tuple[str, int], int] = {}
    rows: list[tuple[int, str]] = []
    limits: Limits = Limits(least=1)
    ratio: float = 0.5
    first: datetime.date = datetime.date(2026, 1, 5)
    blocks: list[Block] = []
    empty: list[int] = []


class Model(BaseModel):
    a: Small
    b: Small
    kind: Literal["x", "y"] = "x"
    flag: bool = False
    level: Level = Level.LOW
    start: Day
    end: Day
    opens: Clock
    maybe: Optional[Small] = None  # noqa: UP045
    items: Annotated[list[Item], Field(max_length=3)] = []
    others: Annotated[list[Item], Field(max_length=3)] = []
    numbers: Annotated[list[Small], Field(max_length=3)] = []
    grid: Annotated[list[Annotated[list[Small], Field(max_length=2)]], Field(max_length=2)] = []
    free: str = ""
    part: Part | None = None

    @property
    def span(self) -> Any:
        return self.a + self.b

    def doubled(self, factor: int) -> Any:
        return self.a * factor


Body = Callable[[Any, Any], Any]


def traced(body: Body) -> Any:
    """The expression of a relation method with this body."""

    class Traced(Model):
        @fs.relation("it holds")
        def rule(self, given: Given) -> bool:
            return body(self, given)  # type: ignore[no-any-return]

    bound = fs.bind(Traced, Given())
    fs.spec(bound)
    document: Any = fs.document(bound)
    return document["x-factorspec"]["relations"][0]["expr"]


def ref(path: str) -> dict[str, str]:
    return {"ref": path}


RECORDED: list[tuple[Body, Any]] = [
    (lambda s, g: s.a == 1, {"op": "eq", "args": [ref("$.a"), {"const": 1}]}),
    (lambda s, g: s.a > 1, {"op": "gt", "args": [ref("$.a"), {"const": 1}]}),
    (lambda s, g: s.a + 2 - s.b * 3 >= -s.a, {"op": "ge", "args": [
        {"op": "sub", "args": [{"op": "add", "args": [ref("$.a"), {"const": 2}]},
                               {"op": "mul", "args": [ref("$.b"), {"const": 3}]}]},
        {"op": "neg", "args": [ref("$.a")]}]}),
    (lambda s, g: 9 - s.a != s.b, {"op": "ne", "args": [
        {"op": "sub", "args": [{"const": 9}, ref("$.a")]}, ref("$.b")]}),
    (lambda s, g: abs(s.a - s.b) <= fs.abs_(s.a), {"op": "le", "args": [
        {"op": "abs", "args": [{"op": "sub", "args": [ref("$.a"), ref("$.b")]}]},
        {"op": "abs", "args": [ref("$.a")]}]}),
    (lambda s, g: (s.a == 1) & (s.b == 2) | ~s.flag, {"op": "or", "args": [
        {"op": "and", "args": [{"op": "eq", "args": [ref("$.a"), {"const": 1}]},
                               {"op": "eq", "args": [ref("$.b"), {"const": 2}]}]},
        {"op": "not", "args": [ref("$.flag")]}]}),
    (lambda s, g: fs.implies(s.flag, s.kind == "y"), {"op": "implies", "args": [
        ref("$.flag"), {"op": "eq", "args": [ref("$.kind"), {"const": "y"}]}]}),
    (lambda s, g: fs.is_in(s.kind, ["x"]), {"op": "in", "arg": ref("$.kind"), "values": [{"const": "x"}]}),
    (lambda s, g: s.level == Level.HIGH, {"op": "eq", "args": [ref("$.level"), {"const": 2}]}),
    (lambda s, g: s.end - s.start <= datetime.timedelta(days=3), {"op": "le", "args": [
        {"op": "sub", "args": [ref("$.end"), ref("$.start")]}, {"const": 3}]}),
    (lambda s, g: (s.end - s.start).days <= 3, {"op": "le", "args": [
        {"op": "sub", "args": [ref("$.end"), ref("$.start")]}, {"const": 3}]}),
    (lambda s, g: s.start + datetime.timedelta(days=2) < s.end, {"op": "lt", "args": [
        {"op": "add", "args": [ref("$.start"), {"const": 2}]}, ref("$.end")]}),
    (lambda s, g: s.opens >= datetime.time(9), {"op": "ge", "args": [
        ref("$.opens"), {"const": "09:00:00", "type": "time"}]}),
    (lambda s, g: fs.is_null(s.maybe), {"op": "eq", "args": [ref("$.maybe"), {"const": None}]}),
    (lambda s, g: fs.is_null(s.part), {"op": "eq", "args": [ref("$.part"), {"const": None}]}),
    (lambda s, g: s.items[0].n == s.items[-1].n, {"op": "eq", "args": [
        ref("$.items[0].n"), ref("$.items[-1].n")]}),
    (lambda s, g: fs.length(s.items) == 2, {"op": "eq", "args": [
        {"op": "len", "of": "$.items"}, {"const": 2}]}),
    (lambda s, g: fs.every(i.n > 0 for i in s.items), {
        "op": "every", "in": "$.items", "as": "x1",
        "body": {"op": "gt", "args": [ref("x1.n"), {"const": 0}]}}),
    (lambda s, g: fs.total(n for n in s.numbers) == s.a, {"op": "eq", "args": [
        {"op": "sum", "in": "$.numbers", "as": "x1", "body": ref("x1")}, ref("$.a")]}),
    (lambda s, g: fs.most(i.n + i.m for i in s.items) <= 5, {"op": "le", "args": [
        {"op": "max", "in": "$.items", "as": "x1", "body": {"op": "add", "args": [ref("x1.n"), ref("x1.m")]}},
        {"const": 5}]}),
    (lambda s, g: fs.total(fs.only(i.n, where=i.m == 1) for i in s.items) == 4, {"op": "eq", "args": [
        {"op": "sum", "in": "$.items", "as": "x1", "body": ref("x1.n"),
         "where": {"op": "eq", "args": [ref("x1.m"), {"const": 1}]}}, {"const": 4}]}),
    (lambda s, g: fs.some(fs.number(p.size == i.n for p in i.parts) == 1 for i in s.items), {
        "op": "some", "in": "$.items", "as": "x1", "body": {"op": "eq", "args": [
            {"op": "count", "in": "x1.parts", "as": "x2",
             "body": {"op": "eq", "args": [ref("x2.size"), ref("x1.n")]}}, {"const": 1}]}}),
    (lambda s, g: fs.number(p.size == 1 for i in s.items for p in i.parts) <= 2, {"op": "le", "args": [
        {"op": "sum", "in": "$.items", "as": "x1", "body": {
            "op": "count", "in": "x1.parts", "as": "x2",
            "body": {"op": "eq", "args": [ref("x2.size"), {"const": 1}]}}}, {"const": 2}]}),
    (lambda s, g: fs.every(c > 0 for row in s.grid for c in row), {
        "op": "every", "in": "$.grid", "as": "x1", "body": {
            "op": "every", "in": "x1", "as": "x2", "body": {"op": "gt", "args": [ref("x2"), {"const": 0}]}}}),
    (lambda s, g: fs.every(s.a != v for v in (1, 2)), {"op": "and", "args": [
        {"op": "ne", "args": [ref("$.a"), {"const": 1}]}, {"op": "ne", "args": [ref("$.a"), {"const": 2}]}]}),
    (lambda s, g: s.a == g.number + g.limits.least, {"op": "eq", "args": [
        ref("$.a"), {"op": "add", "args": [{"const": 3}, {"const": 1}]}]}),
    (lambda s, g: s.span == s.doubled(2), {"op": "eq", "args": [
        {"op": "add", "args": [ref("$.a"), ref("$.b")]}, {"op": "mul", "args": [ref("$.a"), {"const": 2}]}]}),
    (lambda s, g: fs.both(s.a == 1, s.b == 1, s.flag), {"op": "and", "args": [
        {"op": "eq", "args": [ref("$.a"), {"const": 1}]}, {"op": "eq", "args": [ref("$.b"), {"const": 1}]},
        ref("$.flag")]}),
    (lambda s, g: fs.is_row((s.a, s.kind), [(1, "x")]), None),
    (lambda s, g: s.a // 2 == 7 % s.b, {"op": "eq", "args": [
        {"op": "quotient", "args": [ref("$.a"), {"const": 2}], "mode": "floor"},
        {"op": "mod", "args": [{"const": 7}, ref("$.b")]}]}),
    (lambda s, g: fs.quotient(s.a * 19, 100) == fs.rounded(s.b, 5, mode="half_even"), {"op": "eq", "args": [
        {"op": "quotient", "args": [{"op": "mul", "args": [ref("$.a"), {"const": 19}]}, {"const": 100}],
         "mode": "half_up"},
        {"op": "rounded", "args": [ref("$.b"), {"const": 5}], "mode": "half_even"}]}),
    (lambda s, g: fs.least(s.a, s.b, 3) == fs.most(s.a, 1), {"op": "eq", "args": [
        {"op": "least", "args": [ref("$.a"), ref("$.b"), {"const": 3}]},
        {"op": "most", "args": [ref("$.a"), {"const": 1}]}]}),
    (lambda s, g: fs.is_present(s.part) & fs.is_present(s.maybe), {"op": "and", "args": [
        {"op": "present", "of": "$.part"}, {"op": "present", "of": "$.maybe"}]}),
    (lambda s, g: fs.every(fs.length(p.kind) == 1 for i in s.items for p in i.parts), {
        "op": "every", "in": "$.items", "as": "x1", "body": {"op": "every", "in": "x1.parts", "as": "x2",
        "body": {"op": "eq", "args": [{"op": "len", "of": "x2.kind"}, {"const": 1}]}}}),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), RECORDED)
def test_recorded(body: Body, expected: Any) -> None:
    found = traced(body)
    if expected is not None:
        assert found == expected


def test_lookups_and_rows_name_tables_of_the_document() -> None:
    class Looks(Model):
        @fs.relation("looks")
        def looks(self, given: Given) -> bool:
            return fs.both(
                given.sizes[self.kind] == given.pairs[self.kind, self.a],
                fs.is_row((self.a, self.kind), given.rows),
                fs.is_in(self.kind, given.kinds),
                fs.is_in(self.kind, given.sizes),
                self.start >= given.limits.days[self.kind],
            )

    given = Given(
        kinds=["x"], sizes={"x": 1}, pairs={("x", 1): 2}, rows=[(1, "x"), (1, "x")],
        limits=Limits(least=1, days={"x": datetime.date(2026, 2, 1)}),
    )  # fmt: skip
    document: Any = fs.document(fs.bind(Looks, given))
    assert document["x-factorspec"]["tables"] == {
        "limits.days": [["x", "2026-02-01"]],
        "pairs": [["x", 1, 2]],
        "rows": [[1, "x"]],
        "sizes": [["x", 1]],
    }
    fs.spec(fs.bind(Looks, given))


def test_parameters_may_be_single_values() -> None:
    class Limited(Model):
        @fs.relation("limit")
        def limit(self, most: int, first: datetime.date) -> bool:
            return (self.a <= most) & (self.start >= first)

    bound = fs.bind(Limited, most=4, first=datetime.date(2026, 3, 1))
    assert "2026-03-01" in str(fs.document(bound))
    with pytest.raises(fs.BindingError, match="most"):
        fs.bind(Limited, most="four", first=datetime.date(2026, 3, 1))


def test_models_as_values_of_mappings_become_one_table_per_field() -> None:
    class Window(BaseModel):
        first: int
        last: int

    class Today(BaseModel):
        windows: dict[str, Window]

    class Windowed(Model):
        @fs.relation("within its window")
        def within(self, given: Today) -> bool:
            return (self.a >= given.windows[self.kind].first) & (self.a <= given.windows[self.kind].last)

    bound = fs.bind(Windowed, Today(windows={"x": Window(first=1, last=3), "y": Window(first=2, last=2)}))
    document: Any = fs.document(bound)
    assert document["x-factorspec"]["tables"] == {
        "windows.first": [["x", 1], ["y", 2]],
        "windows.last": [["x", 3], ["y", 2]],
    }


def loop_outside(s: Any) -> Any:
    for item in s.items:
        if True:
            return item.n == 1
    return s.a == 1


def leaking(s: Any) -> Any:
    kept: list[Any] = []
    fs.every((kept.append(item), item.n > 0)[1] for item in s.items)  # type: ignore[func-returns-value]
    return kept[0].n == 1


def leaking_into_another_loop(s: Any) -> Any:
    kept: list[Any] = []
    fs.every((kept.append(item), item.n > 0)[1] for item in s.items)  # type: ignore[func-returns-value]
    return fs.every(kept[0].n == other.n for other in s.others)


def counting(s: Any) -> Any:
    def body() -> Iterator[Any]:
        for item in s.items:
            rounds = 0
            for _ in item.parts:
                rounds += 1
            yield item.n == rounds

    return fs.every(body())


def swallowing(s: Any) -> Any:
    try:
        if s.a:
            pass
    except fs.TracingError:
        pass
    return s.b == 1


def identity(s: Any) -> Any:
    return s.a == 1 if s.maybe is not None else s.b == 1


def matching(s: Any) -> Any:
    match s.a:
        case int():
            return s.b == 1
        case _:
            return s.b == 2


def assigning(s: Any) -> Any:
    s.a = 3
    return s.b == 1


REFUSED: list[tuple[Body, str]] = [
    (lambda s, g: s.a == 1 and s.b == 2, "fs.both"),
    (lambda s, g: s.a == 1 or s.b == 2, "fs.either"),
    (lambda s, g: not s.flag, "fs.not_"),
    (lambda s, g: 1 < s.a < 3, "(a < b) & (b < c)"),
    (lambda s, g: s.b == 1 if s.flag else s.b == 2, "fs.implies"),
    (lambda s, g: s.kind in ["x", "y"], "fs.is_in"),
    (lambda s, g: s.kind in {"x", "y"}, "fs.is_in"),
    (lambda s, g: s.kind in g.kinds, "fs.is_in"),
    (lambda s, g: (s.a, s.kind) in g.rows, "fs.is_row"),
    (lambda s, g: s.a in s.numbers, "fs.is_in"),
    (lambda s, g: {"x": 1}[s.kind] == s.a, "given.table[x]"),
    (lambda s, g: [1, 2, 3][s.a] == s.b, "index"),
    (lambda s, g: sum(i.n for i in s.items) == 3, "fs.total"),
    (lambda s, g: s.a == sum(1 for i in s.items), "fs.total"),
    (lambda s, g: sum(s.numbers) == 3, "fs.every"),
    (lambda s, g: max(s.a, s.b) == 3, "fs.most"),
    (lambda s, g: max(i.n for i in s.items) == 3, "fs.most"),
    (lambda s, g: min(s.numbers) == 3, "fs.every"),
    (lambda s, g: all(i.n == 1 for i in s.items), "fs.every"),
    (lambda s, g: any(i.n == 1 for i in s.items), "fs.some"),
    (lambda s, g: len(s.items) == 2, "fs.length"),
    (lambda s, g: s.a == len([i.n for i in s.items]), "fs.length"),
    (lambda s, g: sorted(s.numbers) == s.numbers, "cannot be recorded"),
    (lambda s, g: fs.every([i.n == 1 for i in s.items]), "outside an aggregate"),
    (lambda s, g: fs.every(a.n < b.n for a, b in zip(s.items, s.others, strict=True)), "zip"),
    (lambda s, g: fs.every(i.n == k for k, i in enumerate(s.items)), "enumerate"),
    (lambda s, g: fs.every(p.size == k for i in s.items for k, p in enumerate(i.parts)), "enumerate"),
    (lambda s, g: fs.every(i.n == 1 for i in s.items if i.m == 2), "fs.implies"),
    (lambda s, g: fs.every(i.n == sum(1 for p in i.parts) for i in s.items), "fs.total"),
    (lambda s, g: fs.every(s.items), "generator"),
    (lambda s, g: fs.every(True for i in s.items), "constant"),
    (lambda s, g: fs.every(i.n for i in s.items), "not a condition"),
    (lambda s, g: fs.total(i.n == 1 for i in s.items) == 2, "cannot calculate"),
    (lambda s, g: loop_outside(s), "outside an aggregate"),
    (lambda s, g: leaking(s), "outside its aggregate"),
    (lambda s, g: leaking_into_another_loop(s), "outside its aggregate"),
    (lambda s, g: counting(s), "outside an aggregate"),
    (lambda s, g: fs.every(i.n == len([p.size for p in i.parts]) for i in s.items), "aggregate"),
    (lambda s, g: swallowing(s), "truth"),
    (lambda s, g: matching(s), "'match' cannot"),
    (lambda s, g: isinstance(s.a, int), "isinstance"),
    (lambda s, g: assigning(s), "only read"),
    (lambda s, g: bool(s.flag), "truth"),
    (lambda s, g: int(s.a) == 1, "int()"),
    (lambda s, g: float(s.a) == 1, "float()"),
    (lambda s, g: round(s.a) == 1, "fs.rounded"),
    (lambda s, g: range(s.a) == range(3), "index"),
    (lambda s, g: f"{s.a}" == "1", "text"),
    (lambda s, g: str(s.a) == "1", "text"),
    (lambda s, g: s.kind.upper() == "X", "'upper'"),
    (lambda s, g: s.kind[0] == "x", "cannot be recorded"),
    (lambda s, g: s.start.year == 2026, "'year'"),
    (lambda s, g: s.a / 2 == 1, "cannot be recorded"),
    (lambda s, g: round(s.a / 2) == 1, "fs.quotient"),
    (lambda s, g: divmod(s.a, 2) == (1, 1), "use //"),
    (lambda s, g: s.a // 0 == 1, "division by 0"),
    (lambda s, g: fs.rounded(s.a, 0) == 1, "division by 0"),
    (lambda s, g: s.start % 2 == 1, "cannot calculate"),
    (lambda s, g: fs.quotient(s.kind, 2) == 1, "cannot calculate"),
    (lambda s, g: fs.quotient(s.a, 2, mode="up") == 1, "'up' is no rounding"),  # type: ignore[arg-type]
    (lambda s, g: fs.least(s.a, s.kind) == 1, "never compare"),
    (lambda s, g: fs.least(s.a, None) == 1, "null has no order"),
    (lambda s, g: fs.is_present(s.a + 1), "is no field"),
    (lambda s, g: fs.length(s.a) == 1, "has no length"),
    (lambda s, g: fs.length(s.part) == 1, "has no length"),
    (lambda s, g: s.a**2 == 1, "cannot be recorded"),
    (lambda s, g: s.a == "x", "never compare"),
    (lambda s, g: s.a == s.kind, "never compare"),
    (lambda s, g: s.a == True, "never compare"),  # noqa: E712
    (lambda s, g: s.a == 1.5, "no constant"),
    (lambda s, g: s.a < None, "null has no order"),
    (lambda s, g: s.kind < "y", "no order"),
    (lambda s, g: s.kind == "z", "never 'z'"),
    (lambda s, g: s.start == datetime.time(9), "never compare"),
    (lambda s, g: s.start + s.end == s.end, "cannot calculate a date + a date"),
    (lambda s, g: s.end - s.start == datetime.timedelta(hours=3), "whole number of days"),
    (lambda s, g: s.a == datetime.timedelta(days=3), "dates and times only"),
    (lambda s, g: s.kind + "x" == "xx", "cannot calculate"),
    (lambda s, g: s.a & s.b, "not a condition"),
    (lambda s, g: s.a + 1, "an integer"),
    (lambda s, g: s.items[0:1] == 1, "constant integer"),
    (lambda s, g: s.items[s.a].n == 1, "fs.element"),
    (lambda s, g: s.items[7].n == 1, "at most 3"),
    (lambda s, g: s.items == [], "compare its items"),
    (lambda s, g: s.part == None, "fs.is_null"),  # noqa: E711
    (lambda s, g: s.items, "not a single value"),
    (lambda s, g: True, "says nothing about the fields"),
    (lambda s, g: None, "says nothing about the fields"),
    (lambda s, g: fs.implies(True, s.flag), "not a condition"),
    (lambda s, g: g.sizes["x", "y"] == 1, "1 key columns, 2"),
    (lambda s, g: g.sizes[s.a] == 1, "never compare"),
    (lambda s, g: g.ratio * s.a == 1, "no relation can use"),


    (lambda s, g: fs.total(n for n in g.sizes) == s.a, "cannot calculate"),
    (lambda s, g: fs.total(n for n, _ in g.rows) == s.a, "does not loop over the parameter"),
    (lambda s, g: fs.number(s.kind == k for k in g.kinds) == 1, "does not loop over the parameter"),
    (lambda s, g: fs.every(fs.only(s.kind == k, where=s.flag) for k in g.kinds), "without fs.only"),
    (lambda s, g: [k for k in g.kinds] == [], "outside an aggregate"),  # noqa: C416
    (lambda s, g: sorted(g.kinds) == [], "loops over it"),
    (lambda s, g: fs.every(s.a == k for k in g.kinds), "never compare"),
    (lambda s, g: g.kinds[0] == s.kind, "fs.is_row"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "text"), REFUSED)
def test_refused_with_the_relation_the_model_and_what_to_write(body: Body, text: str) -> None:
    with pytest.raises(fs.TracingError) as caught:
        traced(body)
    message = str(caught.value)
    assert text in message
    assert "'it holds'" in message
    assert "Traced" in message


def test_identity_is_refused() -> None:
    with pytest.raises(fs.TracingError, match=r"fs\.is_null"):

        class Traced(Model):
            @fs.relation("it holds")
            def rule(self) -> bool:
                return self.a == 1 if self.maybe is not None else self.b == 1


UNKNOWN: list[tuple[Body, type[fs.DeclarationError], str]] = [
    (lambda s, g: s.itms[0].n == 1, fs.UnknownField, "did you mean 'items'?"),
    (lambda s, g: s.items[0].nn == 1, fs.UnknownField, "did you mean 'n'?"),
    (lambda s, g: fs.every(b.fist > s.a for b in g.blocks), fs.UnknownField, "did you mean 'first'?"),
    (lambda s, g: g.nmber == s.a, fs.UnknownField, "did you mean 'number'?"),
    (lambda s, g: s.free == "x", fs.UnsupportedField, "finite domain"),
]


@pytest.mark.parametrize(("body", "error", "text"), UNKNOWN)
def test_unknown_and_free_fields(body: Body, error: type[fs.DeclarationError], text: str) -> None:
    with pytest.raises(error) as caught:
        traced(body)
    assert text in str(caught.value)


def test_all_methods_of_a_class_are_reported_at_once() -> None:
    with pytest.raises(fs.DeclarationError) as caught:

        class Traced(Model):
            @fs.relation("one")
            def one(self) -> bool:
                return self.a == 1 and self.b == 1

            @fs.relation("two")
            def two(self) -> bool:
                return len(self.items) == 1

    assert len(caught.value.problems) == 2
    assert [problem.place for problem in caught.value.problems] == ["Traced.one", "Traced.two"]


def test_a_method_is_run_once_per_class() -> None:
    calls = []

    class Traced(Model):
        @fs.relation("counted")
        def counted(self) -> bool:
            calls.append(1)
            return self.a <= self.b

    data = {"a": 1, "b": 2, "start": "2026-01-01", "end": "2026-01-01", "opens": "09:00:00"}
    for _ in range(3):
        Traced.model_validate(data)
    fs.document(Traced)
    assert len(calls) == 1


def test_report_only_relations_may_touch_free_fields() -> None:
    class Soft(Model):
        @fs.relation("says hello", enforce=False)
        def hello(self) -> bool:
            return self.free == "hello"

    data = {"a": 1, "b": 2, "start": "2026-01-01", "end": "2026-01-01", "opens": "09:00", "free": "bye"}
    found = Soft.model_validate(data)
    assert [(v.name, v.outcome) for v in fs.check(found)] == [("says hello", "broken")]


def test_aggregates_compute_on_ordinary_values() -> None:
    assert fs.every(x > 0 for x in [1, 2])
    assert not fs.some(x > 2 for x in [1, 2])
    assert fs.total(fs.only(x, where=x > 1) for x in [1, 2, 3]) == 5
    assert fs.number(x > 1 for x in [1, 2, 3]) == 2
    assert (fs.least(x for x in [3, 1]), fs.most(x for x in [3, 1])) == (1, 3)
    assert fs.length([1, 2]) == 2
    assert fs.implies(False, False)
    assert fs.both(True, True)
    assert fs.either(False, True)
    assert fs.not_(False)
    assert fs.is_in(1, [1])
    assert fs.is_row((1, 2), [(1, 2)])
    assert fs.is_row(("a", 2), {"a": 2})
    assert fs.is_null(None)
    assert fs.is_present(0)
    assert (fs.least(3, 1, 2), fs.most(3, 1, 2)) == (1, 3)
    assert fs.length("Zoë") == 3
    assert (fs.quotient(-7, 2), fs.quotient(7, 2, mode="half_even"), fs.quotient(7, -2, mode="floor")) == (
        -4,
        4,
        -4,
    )
    assert (fs.rounded(12, 5), fs.rounded(25, 10), fs.rounded(25, 10, mode="half_even")) == (10, 30, 20)
    assert fs.abs_(-1) == 1
    assert fs.elapsed(datetime.time(9), datetime.time(10)) == 3600
    assert fs.elapsed(datetime.date(2026, 1, 1), datetime.date(2026, 1, 3)) == 2


def test_parameters_need_a_type() -> None:
    with pytest.raises(fs.TracingError, match="has no type"):

        class Untyped(Model):
            @fs.relation("untyped")
            def rule(self, given) -> bool:  # type: ignore[no-untyped-def]
                return self.a == given.x  # type: ignore[no-any-return]


def test_types_that_cannot_be_resolved_are_named() -> None:
    with pytest.raises(fs.TracingError, match="'Missing'"):

        class Unresolved(Model):
            @fs.relation("unresolved")
            def rule(self, given: Missing) -> bool:  # type: ignore[name-defined]  # noqa: F821
                return self.a == given.x  # type: ignore[no-any-return]
