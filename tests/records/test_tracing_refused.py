"""``@relation`` methods that are refused, because they cannot be recorded."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import factorspec_sdk as fs
from tests.records import named_elsewhere
from tests.records.named_elsewhere import is_missing
from tests.records.traced import (
    Body,
    Model,
    traced,
)


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


ELSEWHERE: list[Callable[[Any], Any]] = [
    lambda s: s.a == 1 if is_missing(s.maybe) else s.b == 1,
    lambda s: s.a == 1 if named_elsewhere.is_missing(s.maybe) else s.b == 1,
]


def test_all_and_any_of_known_values_are_no_identity() -> None:
    def rule(s: Any, g: Any) -> Any:
        return s.a == int(all(n > 0 for n in (1, 2))) + int(any(n > 1 for n in (1, 2)))

    assert traced(rule) == {"op": "eq", "args": [{"ref": "$.a"}, {"const": 2}]}


@pytest.mark.parametrize("body", ELSEWHERE)
def test_identity_in_a_helper_of_another_module_is_refused(body: Callable[[Any], Any]) -> None:
    with pytest.raises(fs.TracingError, match=r"fs\.is_null"):
        traced(lambda s, g: body(s))


def test_identity_in_a_helper_that_is_a_default_is_refused() -> None:
    def rule(s: Any, g: Any, is_gone: Callable[[Any], bool] = is_missing) -> Any:
        return s.a == 1 if is_gone(s.maybe) else s.b == 1

    with pytest.raises(fs.TracingError, match=r"fs\.is_null"):
        traced(rule)


def test_helpers_of_other_modules_may_be_used() -> None:
    expected = {"op": "eq", "args": [{"ref": "$.a"}, {"const": 1}]}
    assert traced(lambda s, g: named_elsewhere.is_first(s.a)) == expected
    assert traced(lambda s, g: s.a == json.loads("1")) == expected, "a library may use 'is' as it likes"


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
