"""``@relation`` methods: what is recorded."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from pydantic import BaseModel

import factorspec_sdk as fs
from tests.records.traced import (
    Body,
    Given,
    Level,
    Limits,
    Model,
    ref,
    traced,
)

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
