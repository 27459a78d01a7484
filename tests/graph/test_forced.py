"""Values that follow without a choice, told at once: the same as asked for one by one."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from factorspec_sdk.errors import Unsatisfiable
from factorspec_sdk.graph.compile import CompiledSpec
from factorspec_sdk.graph.program import Branch, End, Value
from tests.graph.documents import compiled, integer

CITIES = ("Rome", "Oslo", "Bonn", "Lund")


def op(name: str, *args: Any) -> dict[str, Any]:
    return {"op": name, "args": [arg if isinstance(arg, dict) else {"const": arg} for arg in args]}


def trip(random: Random) -> CompiledSpec:
    """Stops whose days follow from each other and from the city."""
    stays = [[city, random.randint(1, 3)] for city in CITIES]
    flights = [[a, b] for a in CITIES for b in CITIES if a != b and random.random() < 0.6]
    stop = {
        "type": "object",
        "properties": {"city": {"enum": list(CITIES)}, "arrive": integer(1, 9), "leave": integer(1, 9)},
        "required": ["city", "arrive", "leave"],
        "additionalProperties": False,
    }
    stays_of = {"op": "lookup", "table": "stays", "key": [{"ref": "x.city"}]}
    length = op("add", op("sub", {"ref": "x.leave"}, {"ref": "x.arrive"}), 1)
    flight = {"op": "member", "table": "flights", "key": [{"ref": "a.city"}, {"ref": "b.city"}]}
    slide = {"kind": "slide", "over": "$.stops", "as": ["a", "b"]}
    relations: list[dict[str, Any]] = [
        {"kind": "all_different", "over": ["$.stops[*].city"]},
        {**slide, "expr": op("eq", {"ref": "a.leave"}, {"ref": "b.arrive"})},
        {**slide, "expr": flight},
        {
            "kind": "intension",
            "expr": {"op": "every", "in": "$.stops", "as": "x", "body": op("eq", length, stays_of)},
        },
        {"kind": "intension", "expr": op("eq", {"ref": "$.stops[0].arrive"}, 1)},
    ]
    if random.random() < 0.5:
        relations.append({"kind": "intension", "expr": op("eq", {"ref": "$.stops[-1].leave"}, 4)})
    stops = {"type": "array", "items": stop, "minItems": 1, "maxItems": 3}
    return compiled({"stops": stops}, relations, {"stays": stays, "flights": flights})


def next_slot(spec: CompiledSpec, pc: int) -> tuple[int, int] | None:
    """(node, slot) of the next decision from a node on."""
    nodes = spec.program.nodes
    while not isinstance(node := nodes[pc], Value | Branch | End):
        pc = node.next
    return None if isinstance(node, End) else (pc, node.slot)


def walk(spec: CompiledSpec, random: Random) -> int:
    """One random record, asked one by one; at each decision what is told at once. How much was told."""
    program, feasibility = spec.program, spec.feasibility
    state, place, told = feasibility.start(), next_slot(spec, spec.program.start), 0
    expected: list[int] = []
    behind: Any = None
    while place is not None:
        pc, slot = place
        if not expected:
            if behind is not None:
                assert feasibility.values(behind, slot) == feasibility.values(state, slot)
            indices, behind = feasibility.forced(state, slot)
            expected = list(indices)
            told += len(expected)
        values = feasibility.values(state, slot)
        index = random.choice(list(values))
        if expected:
            assert list(values) == [expected.pop(0)]
        else:
            behind = None
        state = feasibility.assign(state, slot, index)
        node = program.nodes[pc]
        assert isinstance(node, Value | Branch)
        place = next_slot(spec, node.targets[index] if isinstance(node, Branch) else node.next)
    assert not expected
    return told


@pytest.mark.parametrize("seed", range(20))
def test_what_is_told_at_once_is_what_is_answered_one_by_one(seed: int) -> None:
    random = Random(seed)
    try:
        spec = trip(random)
    except Unsatisfiable:
        pytest.skip("no record")
    assert sum(walk(spec, random) for _ in range(30)) > 30
