"""What is set aside because it follows from earlier fields, and what is not."""

from __future__ import annotations

from typing import Any

import pytest

from factorspec_sdk.automata.nodes import NodeStore
from factorspec_sdk.errors import Unsatisfiable
from factorspec_sdk.graph import factor_graph
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.graph.contracted import Contracted
from factorspec_sdk.graph.dependents import contract
from factorspec_sdk.graph.factors import connect, lower_relations
from factorspec_sdk.graph.unroll import unroll
from factorspec_sdk.wire import parse_document
from tests.graph.documents import compiled, feasible, integer, record

Json = dict[str, Any]


def op(name: str, *args: Json) -> Json:
    return {"op": name, "args": list(args)}


def holds(name: str, *args: Json) -> Json:
    return {"kind": "intension", "expr": op(name, *args)}


def ref(name: str) -> Json:
    return {"ref": f"$.{name}"}


def set_aside(properties: Json, relations: list[Json]) -> list[str]:
    """Paths of the dependents."""
    unrolled = unroll(parse_document(record(properties, relations)).root)
    groups = connect(lower_relations(unrolled, NodeStore()), unrolled)
    return [unrolled.slots[d.slot].path for group in groups for d in contract(group, unrolled).dependents]


A_B = {"a": integer(1, 9), "b": integer(1, 9)}
PRODUCT = holds("eq", ref("c"), op("mul", ref("a"), ref("b")))


def test_a_product_is_set_aside_where_its_field_takes_all_of_it() -> None:
    assert set_aside({**A_B, "c": integer(1, 81)}, [PRODUCT]) == ["c"]
    assert set_aside({**A_B, "c": integer(1, 80)}, [PRODUCT]) == []
    assert set_aside({**A_B, "c": integer(2, 81)}, [PRODUCT]) == []


def test_a_field_that_comes_before_its_factors_is_not_set_aside() -> None:
    assert set_aside({"c": integer(1, 81), **A_B}, [PRODUCT]) == []


def test_ranges_of_computed_fields_bound_what_is_computed_from_them() -> None:
    fields = {**A_B, "c": integer(0, 1_000), "d": integer(0, 162)}
    twice = holds("eq", ref("d"), op("mul", ref("c"), {"const": 2}))
    assert set_aside(fields, [PRODUCT, twice]) == ["c", "d"]
    assert set_aside({**fields, "d": integer(0, 161)}, [PRODUCT, twice]) == []


def test_a_null_operand_leaves_a_field_free_so_its_range_is_its_domain() -> None:
    perhaps = {"anyOf": [integer(1, 9), {"type": "null"}]}
    fields = {"a": integer(1, 9), "b": perhaps, "c": integer(0, 1_000), "d": integer(0, 162)}
    twice = holds("eq", ref("d"), op("mul", ref("c"), {"const": 2}))
    assert set_aside(fields, [PRODUCT, twice]) == []
    assert set_aside({**fields, "d": integer(0, 2_000)}, [PRODUCT, twice]) == ["c", "d"]


def test_steps_must_meet() -> None:
    even = {"type": "integer", "minimum": 0, "maximum": 100, "multipleOf": 2}
    twice = holds("eq", ref("c"), op("add", ref("a"), ref("a")))
    assert set_aside({"a": integer(1, 9), "c": even}, [twice]) == ["c"]
    same = holds("eq", ref("c"), op("add", ref("a"), {"const": 0}))
    assert set_aside({"a": integer(1, 9), "c": even}, [same]) == []
    halved = holds("eq", op("mul", ref("c"), {"const": 2}), ref("a"))
    assert set_aside({"a": even, "c": integer(0, 50)}, [halved]) == ["c"]
    assert set_aside({"a": integer(0, 100), "c": integer(0, 50)}, [halved]) == []


def test_a_bound_of_its_own_narrows_the_field() -> None:
    fields = {**A_B, "c": integer(1, 1_000)}
    assert set_aside(fields, [PRODUCT, holds("le", ref("c"), {"const": 81})]) == ["c"]
    assert set_aside(fields, [PRODUCT, holds("le", ref("c"), {"const": 80})]) == []


def test_rounding_written_as_two_inequalities_is_a_window() -> None:
    tax = op("mul", ref("c"), {"const": 100})
    owed = op("mul", ref("a"), {"const": 19})
    above = holds("lt", op("mul", {"const": 2}, op("sub", owed, tax)), {"const": 100})
    below = holds("le", op("mul", {"const": 2}, op("sub", tax, owed)), {"const": 100})
    assert set_aside({"a": integer(1, 900), "c": integer(0, 171)}, [above, below]) == ["c"]
    narrow = holds("lt", op("mul", {"const": 2}, op("sub", tax, owed)), {"const": 99})
    assert set_aside({"a": integer(1, 900), "c": integer(0, 171)}, [above, narrow]) == []
    spec = compiled({"a": integer(1, 900), "c": integer(0, 171)}, [above, below])
    assert feasible(spec, 49) == [[0, 899], [10]]  # 50 at 19 % are 9.5, rounded half-up


def test_an_end_after_a_start_is_set_aside_where_there_always_is_one() -> None:
    later = holds("le", ref("a"), ref("c"))
    assert set_aside({"a": integer(1, 9), "c": integer(1, 9)}, [later]) == ["c"]
    assert set_aside({"a": integer(1, 9), "c": integer(1, 8)}, [later]) == []


def test_a_copy_is_set_aside() -> None:
    copied = holds("eq", ref("a"), ref("c"))
    assert set_aside({"a": {"enum": ["x", "y"]}, "c": {"enum": ["y", "z", "x"]}}, [copied]) == ["c"]
    assert set_aside({"a": {"enum": ["x", "y"]}, "c": {"enum": ["y", "z"]}}, [copied]) == []


@pytest.mark.parametrize("least", [0, 3])
def test_lines_of_a_list_and_their_total_need_no_search(least: int) -> None:
    line = {"a": integer(1, 999), "b": integer(1, 1_000_000), "c": integer(0, 999_000_000)}
    item = {"type": "object", "properties": line, "required": list(line), "additionalProperties": False}
    lines = {"type": "array", "items": item, "minItems": least, "maxItems": 3}
    body = op("eq", {"ref": "s.c"}, op("mul", {"ref": "s.a"}, {"ref": "s.b"}))
    every = {"kind": "intension", "expr": {"op": "every", "in": "$.l", "as": "s", "body": body}}
    total = {"kind": "sum", "over": ["$.l[*].c"], "value": ref("t")}
    (component,) = compiled(
        {"l": lines, "t": integer(0, 3 * 999_000_000)}, [every, total]
    ).feasibility.components
    assert isinstance(component, Contracted)
    assert component.parts == () and component.steps == 0


def test_a_contradiction_beside_dependents_is_named() -> None:
    """Also where CP-SAT is asked about what remains."""
    fields = {**A_B, "c": integer(1, 81), "d": integer(1, 9)}
    clash = [holds("lt", ref("a"), ref("d")), holds("lt", ref("d"), ref("a"))]
    for steps in (100_000, 20):
        with pytest.raises(Unsatisfiable) as caught:
            compile_spec(parse_document(record(fields, [PRODUCT, *clash])), steps)
        assert caught.value.conflict == ("r1", "r2")


def test_what_sessions_derive_is_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factor_graph, "MAX_NODES", 60)
    spec = compiled({**A_B, "c": integer(1, 81)}, [PRODUCT])
    graph = spec.feasibility
    for a in range(9):
        for b in range(9):
            state = graph.assign(graph.assign(graph.start(), 0, a), 1, b)
            assert list(graph.values(state, 2)) == [(a + 1) * (b + 1) - 1]
            assert len(graph._store) <= 80
