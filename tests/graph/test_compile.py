"""Refusals of the compiler, and feasibility at sizes that cannot be enumerated."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from factorspec_sdk.errors import EmptyDomain, TooLarge, Unsatisfiable
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.graph.cp import conflict, model
from factorspec_sdk.wire import Spec, parse_document
from tests.graph.documents import Json, compiled, feasible, integer, record

REF = {"a": {"ref": "$.a"}, "b": {"ref": "$.b"}, "c": {"ref": "$.c"}}


def less(left: str, right: str) -> dict[str, object]:
    return {"kind": "intension", "expr": {"op": "lt", "args": [REF[left], REF[right]]}}


def test_a_conflict_names_a_minimal_set_of_relations() -> None:
    fields = {name: integer(1, 5) for name in "abc"}
    noise = {"kind": "intension", "expr": {"op": "ne", "args": [REF["a"], {"const": 3}]}}
    with pytest.raises(Unsatisfiable) as caught:
        compiled(fields, [less("a", "b"), noise, less("b", "c"), less("c", "a")])
    assert caught.value.conflict == ("r0", "r2", "r3")
    assert caught.value.minimal
    assert [problem.place for problem in caught.value.problems] == [
        f"/x-factorspec/relations/{n}" for n in (0, 2, 3)
    ]


def test_a_single_impossible_relation_is_named_alone() -> None:
    with pytest.raises(Unsatisfiable, match="this relation cannot be satisfied") as caught:
        compiled(
            {"a": integer(1, 5)},
            [{"kind": "intension", "expr": {"op": "gt", "args": [REF["a"], {"const": 9}]}}],
        )
    assert caught.value.conflict == ("r0",)


def test_relations_of_different_components_do_not_enter_a_conflict() -> None:
    fields = {name: integer(1, 5) for name in "abc"}
    impossible = {"kind": "intension", "expr": {"op": "eq", "args": [REF["c"], {"const": 7}]}}
    with pytest.raises(Unsatisfiable) as caught:
        compiled(fields, [less("a", "b"), impossible])
    assert caught.value.conflict == ("r1",)


def test_an_empty_domain_is_refused_by_name() -> None:
    with pytest.raises(EmptyDomain, match="/properties/a"):
        compiled({"a": integer(5, 1)}, [])


def test_a_list_that_unrolls_too_far_is_refused_with_its_pointer() -> None:
    inner = {"type": "array", "items": integer(1, 3), "minItems": 0, "maxItems": 200}
    item = {"type": "array", "items": inner, "minItems": 0, "maxItems": 200}
    with pytest.raises(TooLarge, match="/properties/a"):
        compiled({"a": item}, [{"kind": "sum", "over": ["$.a[*][*]"], "value": {"const": 5}}])


def unreachable_product(most: int) -> Spec:
    """Six numbers whose product shall be one that has prime factors above 200."""
    fields = {f"f{n}": integer(0, most) for n in range(6)}
    product = product_of([f"$.f{n}" for n in range(6)])
    unreachable = {"kind": "intension", "expr": {"op": "eq", "args": [product, {"const": 211 * 223 * 227}]}}
    return parse_document(record(fields, [unreachable]))


def test_a_component_over_every_budget_is_refused_with_relations_and_domain_sizes() -> None:
    with pytest.raises(TooLarge, match=r"numbers are too large.*r0.*6 fields.*200001 values"):
        compile_spec(unreachable_product(200_000), step_budget=2_000)


def test_without_cp_sat_a_component_over_budget_is_refused_with_the_extra_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python.cp_model", None)
    with pytest.raises(TooLarge, match=r"r0.*6 fields.*201 values.*pip install 'factorspec\[solver\]'"):
        compile_spec(unreachable_product(200), step_budget=2_000)


def test_a_model_that_grows_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MAX_SIZE", 10)
    with pytest.raises(TooLarge, match=r"more than 10 variables and constraints.*r0.*6 fields.*201 values"):
        compile_spec(unreachable_product(200), step_budget=2_000)


def test_a_conflict_too_large_to_be_made_minimal_is_named_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(*arguments: object) -> None:
        raise model.NotEncodable("too large")

    monkeypatch.setattr(conflict, "Solver", too_large)
    fields = {name: integer(1, 100_000) for name in "abc"}
    square = {"op": "eq", "args": [product_of(["$.a", "$.b"]), REF["c"]]}
    larger = {"op": "gt", "args": [REF["a"], REF["c"]]}
    harmless = {"op": "le", "args": [REF["b"], {"const": 90_000}]}
    with pytest.raises(Unsatisfiable) as caught:
        compiled(fields, [{"kind": "intension", "expr": expr} for expr in (square, larger, harmless)])
    assert (caught.value.conflict, caught.value.minimal) == (("r0", "r1", "r2"), False)


def test_components_share_one_budget() -> None:
    """Where the budget of all is used up, CP-SAT is not asked either."""
    fields = {f"f{n}": integer(0, 100_000) for n in range(6)}
    relations = [
        {
            "kind": "intension",
            "expr": {"op": "eq", "args": [product_of([f"$.f{n}", f"$.f{n + 1}"]), {"ref": f"$.f{n + 2}"}]},
        }
        for n in (0, 3)
    ]
    spec = parse_document(record(fields, relations))
    assert [component.tier for component in compile_spec(spec).feasibility.components] == ["cp_sat"] * 2
    with pytest.raises(TooLarge, match="r0"):
        compile_spec(spec, step_budget=0)


def product_of(names: list[str]) -> dict[str, Any]:
    product: dict[str, Any] = {"ref": names[0]}
    for name in names[1:]:
        product = {"op": "mul", "args": [product, {"ref": name}]}
    return product


def test_what_the_search_does_not_finish_cp_sat_refutes() -> None:
    with pytest.raises(Unsatisfiable) as caught:
        compile_spec(unreachable_product(200), step_budget=2_000)
    assert caught.value.conflict == ("r0",)


def test_a_sum_over_ten_million_cents_is_read_as_sets() -> None:
    amounts = {"type": "array", "items": integer(0, 10_000_000), "minItems": 3, "maxItems": 3}
    spec = compiled(
        {"total": integer(0, 10_000_000), "parts": amounts},
        [{"kind": "sum", "over": ["$.parts[*]"], "value": {"ref": "$.total"}}],
    )
    assert feasible(spec, 100, 30, 20, 50) == [[0, 10_000_000], [0, 100], [0, 70], [50]]


def test_a_weighted_sum_with_gaps_is_exact() -> None:
    fields = {"a": integer(0, 1000), "b": integer(0, 1000), "c": integer(0, 5_000)}
    spec = compiled(
        fields, [{"kind": "sum", "over": ["$.a", "$.b"], "weights": [2, 3], "value": {"ref": "$.c"}}]
    )
    state = spec.feasibility.start()
    for slot, index in ((0, 10), (1, 20)):
        assert index in spec.feasibility.values(state, slot)
        state = spec.feasibility.assign(state, slot, index)
    assert list(spec.feasibility.values(state, 2)) == [80]


def test_total_before_a_list_of_any_length_is_exact() -> None:
    amounts = {"type": "array", "items": integer(100, 5_000), "minItems": 0, "maxItems": 20}
    spec = compiled(
        {"total": integer(0, 1_000_000), "parts": amounts},
        [{"kind": "sum", "over": ["$.parts[*]"], "value": {"ref": "$.total"}}],
    )
    start = spec.feasibility.start()
    totals = spec.feasibility.values(start, 0)
    assert 0 in totals and 99 not in totals and 100 in totals
    assert totals.last == 100_000
    state = spec.feasibility.assign(start, 0, 5_001)
    assert list(spec.feasibility.values(state, 1)) == [1]  # one more item: yes
    state = spec.feasibility.assign(state, 1, 1)
    # 5,001 in all, each item 100..5,000: one item alone cannot be it, so 1..4,901 or nothing is left to pay
    first = spec.program.slots[2].domain
    assert [
        first.value(i)
        for i in (spec.feasibility.values(state, 2).first, spec.feasibility.values(state, 2).last)
    ] == [
        100,
        4_901,
    ]


def test_dates_of_a_century_keep_order() -> None:
    day = {
        "type": "string",
        "format": "date",
        "x-factorspec": {"domain": {"min": "1950-01-01", "max": "2049-12-31"}},
    }
    spec = compiled({"a": day, "b": day}, [{"kind": "ordered", "over": ["$.a", "$.b"], "op": "lt"}])
    last = len(spec.program.slots[0].domain) - 1
    assert feasible(spec, last - 1, last) == [[0, last - 1], [last]]


def test_twenty_of_many_distinct_values_need_no_enumeration_of_sets() -> None:
    names = {"enum": [f"n{n}" for n in range(300)]}
    items = {"type": "array", "items": names, "minItems": 20, "maxItems": 20}
    spec = compiled({"a": items}, [{"kind": "all_different", "over": ["$.a[*]"]}])
    assert len(spec.feasibility.values(spec.feasibility.start(), 0)) == 300


def test_pigeonholes_are_refused_quickly() -> None:
    items = {"type": "array", "items": {"enum": [f"n{n}" for n in range(19)]}, "minItems": 20, "maxItems": 20}
    with pytest.raises(Unsatisfiable):
        compiled({"a": items}, [{"kind": "all_different", "over": ["$.a[*]"]}])


def test_a_product_over_wide_fields_is_asked_between_bounds() -> None:
    fields = {name: integer(0, 100_000) for name in "abc"}
    product = {"op": "mul", "args": [REF["a"], REF["b"]]}
    spec = compiled(fields, [{"kind": "intension", "expr": {"op": "eq", "args": [product, REF["c"]]}}])
    assert spec.feasibility.components[0].tier == "cp_sat"
    first = spec.feasibility.values(spec.feasibility.start(), 0)
    assert first.any_in(99_000, 100_000)
    state = spec.feasibility.assign(spec.feasibility.start(), 0, 31_000)
    assert [first.complete, *spec.feasibility.values(state, 1)] == [True, 0, 1, 2, 3]
    state = spec.feasibility.assign(state, 1, 3)
    assert list(spec.feasibility.values(state, 2)) == [93_000]


def test_dates_of_a_century_in_conditions_are_asked_between_bounds() -> None:
    day = {
        "type": "string",
        "format": "date",
        "x-factorspec": {"domain": {"min": "1950-01-01", "max": "2049-12-31"}},
    }
    gap = {"op": "abs", "args": [{"op": "sub", "args": [REF["a"], REF["b"]]}]}
    spec = compiled(
        {"a": day, "b": day}, [{"kind": "intension", "expr": {"op": "eq", "args": [gap, {"const": 7}]}}]
    )
    state = spec.feasibility.assign(spec.feasibility.start(), 0, 500)
    assert list(spec.feasibility.values(state, 1)) == [493, 507]
    assert list(spec.feasibility.values(state, 1).listed()) == [493, 507]


def test_many_different_values_of_a_large_enum_need_no_search() -> None:
    names = [f"v{number}" for number in range(5_000)]
    items = {"type": "array", "items": {"enum": names}, "minItems": 20, "maxItems": 20}
    spec = compiled({"l": items}, [{"kind": "all_different", "over": ["$.l[*]"]}])
    assert feasible(spec, 7, 8) == [[0, 4_999]] * 3
    state = spec.feasibility.start()
    for slot in range(20):
        values = spec.feasibility.values(state, slot)
        assert list(values.complement(5_000)) == list(range(slot))
        state = spec.feasibility.assign(state, slot, slot)
    (component,) = spec.feasibility.components
    assert component.steps < 100


def test_a_relation_that_is_impossible_by_itself_elsewhere_is_all_that_is_named() -> None:
    """Its conditions on ``a`` contradict another relation, but those on ``b`` contradict themselves."""
    member = {"kind": "member_of", "over": ["$.a", "$.b"], "table": "t"}
    other = {"kind": "intension", "expr": {"op": "eq", "args": [{"ref": "$.a"}, {"const": "y"}]}}
    with pytest.raises(Unsatisfiable) as caught:
        compiled({"a": {"enum": ["x", "y"]}, "b": {"enum": ["z"]}}, [other, member], {"t": [["x"]]})
    assert (caught.value.conflict, caught.value.minimal) == (("r1",), True)


def test_values_whose_steps_are_dear_are_within_the_budget_too() -> None:
    """Each value of ``a`` is decided in one step, but a mask of 800 values is tried for it."""
    args: list[Json] = [{"ref": "$.a"}, {"ref": "$.b"}, {"ref": "$.c"}]
    left = {"op": "mod", "args": [{"op": "add", "args": args}, {"const": 300}]}
    relation = {"kind": "intension", "expr": {"op": "eq", "args": [left, {"const": 7}]}}
    doc = record({name: integer(0, 800) for name in "abc"}, [relation])
    budget = 20_000
    (component,) = compile_spec(parse_document(doc), budget).feasibility.components
    assert component.steps < 3 * budget
