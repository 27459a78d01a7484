"""The sizes benchmark: its cases are found, and their checkers find faults."""

from __future__ import annotations

from typing import Any

import pytest

import factorspec_sdk as fs
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.wire import parse_document
from tests.benchmarks import sizes_day_plan, sizes_enum_5000, sizes_roster
from tests.benchmarks.invoices import RATES, check
from tests.benchmarks.size_case import SizeCase
from tests.benchmarks.size_cp_sat import cp_sat_judge
from tests.benchmarks.sizes import case_named, names

SELECTION: dict[str, Any] = {
    "positions": [{"article": name} for name in sizes_enum_5000.articles()[: sizes_enum_5000.NUM_ITEMS]]
}


@pytest.mark.parametrize("name", names())
def test_every_file_makes_a_case_of_its_name(name: str) -> None:
    case = case_named(name)
    assert isinstance(case, SizeCase)
    assert case.name == name


def test_the_checker_of_the_large_enum_finds_repeats_and_strangers() -> None:
    assert sizes_enum_5000.check(SELECTION) == []
    assert len(set(sizes_enum_5000.articles())) == sizes_enum_5000.NUM_ARTICLES
    broken = {"positions": [*SELECTION["positions"][:-1], SELECTION["positions"][0]]}
    assert sizes_enum_5000.check(broken) == ["an article stands twice"]
    assert sizes_enum_5000.check({"positions": [{"article": "no such thing"}]}) != []


def test_the_checker_of_invoices_finds_what_does_not_add_up() -> None:
    line = {"quantity": 3, "unit_price": 50, "rate": "reduced", "net": 150}
    rows = {"none": (0, 0), "reduced": (30 * 150, 315), "standard": (0, 0)}
    taxes = [
        {"rate": rate, "percent": RATES[rate], "net": net, "vat": vat} for rate, (net, vat) in rows.items()
    ]
    right = {"lines": [line] * 30, "taxes": taxes, "net": 4_500, "vat": 315, "total": 4_815}
    assert check(right) == []
    for wrong in (
        {**right, "total": 4_814},
        {**right, "lines": [{**line, "net": 151}, *[line] * 29]},
        {**right, "lines": [line] * 29},
        {**right, "taxes": [taxes[0], {**taxes[1], "vat": 314}, taxes[2]], "vat": 314, "total": 4_814},
    ):
        assert check(wrong) != []


def test_the_checker_of_rosters_finds_gaps_and_tired_people() -> None:
    """Everybody has the same fortnight, each two days after the one before."""
    row = ["early", "early", "late", "late", "night", "off", "off"] * 2
    people = [{"days": row[at % 7 :] + row[: at % 7]} for at in range(0, 60, 2)]
    right = {"people": people}
    assert [p for p in sizes_roster.check(right) if p.startswith("person")] == []
    for days, problem in (
        (["night", "early", *row[2:]], "no rest after a night"),
        (["early"] * 6 + row[6:], "too many days in a row"),
        (["early", "early", "early", "early", "off"] * 2 + ["late"] * 4, "too many shifts"),
        (["dawn", *row[1:]], "unknown shift 'dawn'"),
    ):
        found = sizes_roster.check({"people": [{"days": days}, *people[1:]]})
        assert f"person 0: {problem}" in found
    uncovered = {"people": [{"days": ["off"] * 14} for _ in range(30)]}
    assert "day 0: 0 people in the night shift" in sizes_roster.check(uncovered)
    assert sizes_roster.check({"people": people[1:]}) != []


def test_the_checkers_of_the_day_find_what_cannot_be_done() -> None:
    plan = sizes_day_plan.day(count=4)
    one, two = plan.activities[0], plan.activities[1]
    at = {
        name: plan.activities[k].first for k, name in enumerate(("task_00", "task_01", "task_02", "task_03"))
    }
    late = {**at, "task_00": one.last + 1}
    assert f"{one.name} at {one.last + 1}" in sizes_day_plan.check_starts(plan, late)
    clash = [(one, one.first), (two, one.first + 1)]
    assert any("too soon after" in problem for problem in sizes_day_plan.check(plan, clash))
    backwards = {"stops": [{"activity": two.name, "start": 9}, {"activity": one.name, "start": 8}]}
    problems = sizes_day_plan.check_order(plan, backwards)
    assert problems[0] == "not in the order of time"
    assert "not every activity once" in problems


def test_the_day_of_50_activities_needs_no_cp_sat_in_either_order() -> None:
    plan = sizes_day_plan.day()
    for model in (sizes_day_plan.starts_model(plan), sizes_day_plan.order_model(plan)):
        components = compile_spec(fs.spec(model)).feasibility.components
        assert [component.tier for component in components if component.tier == "cp_sat"] == []


def test_cp_sat_tells_a_broken_record() -> None:
    document = {
        "type": "object",
        "properties": {name: {"type": "integer", "minimum": 0, "maximum": 999} for name in "abc"},
        "required": ["a", "b", "c"],
        "additionalProperties": False,
        "x-factorspec": {
            "version": 1,
            "relations": [
                {"name": "sum", "kind": "sum", "over": ["$.a", "$.b"], "op": "eq", "value": {"ref": "$.c"}}
            ],
        },
    }
    judge = cp_sat_judge(parse_document(document))
    assert judge is not None
    assert judge({"a": 400, "b": 2, "c": 402})
    assert not judge({"a": 400, "b": 2, "c": 403})
