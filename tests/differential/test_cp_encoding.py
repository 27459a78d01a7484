"""What CP-SAT is told equals what relations mean: solutions of encoded components against brute force."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from factorspec_sdk.automata.linear import linear
from factorspec_sdk.automata.nodes import NodeStore, SlotValue, ValueNode
from factorspec_sdk.fields.decimals import decimal_text
from factorspec_sdk.graph.cp import families
from factorspec_sdk.graph.cp.encoder import Families
from factorspec_sdk.graph.cp.solving import Solution, Solver
from factorspec_sdk.graph.factors import Group, connect, lower_relations
from factorspec_sdk.graph.layout import lay_out
from factorspec_sdk.graph.reference import all_records
from factorspec_sdk.graph.unroll import Unrolled, unroll
from factorspec_sdk.wire import parse_document
from tests.differential.generate import document
from tests.differential.test_feasibility import PAIRS
from tests.graph.documents import integer, record

RESIDUALS_ONLY = Families({}, {}, {}, families.FAMILIES.any_value, families.FAMILIES.any_condition)


def components(doc: dict[str, object]) -> Iterator[tuple[Group, Unrolled, NodeStore, set[Solution]]]:
    """Each component of a document that has records, with its solutions by brute force."""
    spec = parse_document(doc)
    unrolled, store = unroll(spec.root), NodeStore()
    found = [dict(one.decisions) for one in all_records(spec, lay_out(unrolled))]
    if found:
        for group in connect(lower_relations(unrolled, store), unrolled):
            solutions = {tuple(one.get(slot, -1) for slot in group.slots) for one in found}
            yield group, unrolled, store, solutions


def solver_of(group: Group, unrolled: Unrolled, kinds: Families = families.FAMILIES) -> Solver:
    domains = {slot: unrolled.slots[slot].domain for slot in group.slots}
    conditions = [factor.condition for factor in group.factors]
    return Solver(domains, unrolled.controllers, conditions, kinds)


def solutions_of(solver: Solver, group: Group, unrolled: Unrolled) -> set[Solution]:
    """All solutions, slot by slot, value by value."""
    found: set[Solution] = set()
    stack: list[Solution] = [()]
    while stack:
        taken = stack.pop()
        if len(taken) == len(group.slots):
            found.add(taken)
            continue
        slot = group.slots[len(taken)]
        fixed = {group.slots[at]: ((index, index),) for at, index in enumerate(taken)}
        for index in range(-1 if unrolled.controllers[slot] else 0, len(unrolled.slots[slot].domain)):
            answer = solver.solve({**fixed, slot: ((index, index),)}, 5.0)
            assert answer.proved
            if answer.solution is not None:
                assert answer.solution[: len(taken) + 1] == (*taken, index)
                stack.append((*taken, index))
    return found


def compare(doc: dict[str, object], kinds: Families = families.FAMILIES) -> int:
    compared = 0
    for group, unrolled, _, expected in components(doc):
        found = solutions_of(solver_of(group, unrolled, kinds), group, unrolled)
        assert found == expected, (sorted(found - expected)[:3], sorted(expected - found)[:3])
        compared += len(expected)
    return compared


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "+".join(pair))
def test_solutions_equal_brute_force_for_every_pair_of_kinds(pair: tuple[str, str]) -> None:
    for seed in range(5):
        compare(document(900_000 + seed * 1000 + PAIRS.index(pair), pair, 60))


@pytest.mark.parametrize("kinds", [families.FAMILIES, RESIDUALS_ONLY], ids=["by class", "by residuals"])
def test_solutions_equal_brute_force_on_mixed_specs(kinds: Families) -> None:
    assert sum(compare(document(910_000 + n, None, 60), kinds) for n in range(150)) > 200


@pytest.mark.parametrize("mode", ["floor", "ceiling", "half_up", "half_even"])
def test_divisions_equal_brute_force(mode: str) -> None:
    """Both signs of both operands, zero and null among them."""
    rng = random.Random(mode)
    for _ in range(60):
        least, divisor = rng.randint(-8, 3), rng.randint(-4, 2)
        fields = {
            "a": perhaps_null(rng, integer(least, least + rng.randint(0, 9))),
            "b": perhaps_null(rng, integer(divisor, divisor + rng.randint(0, 4))),
            "q": integer(-9, 9),
        }
        by = rng.choice([{"ref": "$.b"}, {"const": rng.choice([-3, -2, -1, 1, 2, 3, 4])}])
        made = rng.choice([{"op": "quotient", "mode": mode}, {"op": "rounded", "mode": mode}, {"op": "mod"}])
        left = {**made, "args": [{"ref": "$.a"}, by]}
        op = rng.choice(["eq", "le", "ne"])
        compare(record(fields, [{"kind": "intension", "expr": {"op": op, "args": [left, {"ref": "$.q"}]}}]))


@pytest.mark.parametrize("op", ["eq", "ne", "lt", "ge"])
def test_decimals_of_different_places_equal_brute_force(op: str) -> None:
    """One of them in finer units than the other, null among the values."""
    rng, compared = random.Random(op), 0
    for _ in range(25):
        places = rng.sample((0, 1, 2), 2)
        fields = {
            name: perhaps_null(rng, decimal(p, rng.randint(-4, 0)))
            for name, p in zip("ab", places, strict=True)
        }
        sides = [{"ref": "$.a"}, {"ref": "$.b"}]
        compared += compare(record(fields, [{"kind": "intension", "expr": {"op": op, "args": sides}}]))
    assert compared > 10


def decimal(places: int, first: int) -> dict[str, object]:
    """A decimal of five values."""
    ends = [decimal_text(code, places) for code in (first, first + 4)]
    domain = {"places": places, "min": ends[0], "max": ends[1]}
    return {"type": "string", "x-factorspec": {"domain": domain}}


def perhaps_null(rng: random.Random, schema: dict[str, object]) -> dict[str, object]:
    return schema if rng.random() < 0.5 else {"anyOf": [schema, {"type": "null"}]}


def test_optima_equal_brute_force() -> None:
    """The greatest weighted sum of a component's numbers, with some of its slots fixed."""
    asked = 0
    for seed in range(120):
        for group, unrolled, store, expected in components(document(920_000 + seed, None, 60)):
            numbers = _numbers(group, unrolled, store)
            if not numbers:
                continue
            goal = linear(store, [(node, 1 - 2 * (at % 2)) for at, node in enumerate(numbers)])
            solver, first = solver_of(group, unrolled), min(expected)
            fixed = {group.slots[0]: ((first[0], first[0]),)}
            answer = solver.solve(fixed, 5.0, maximise=goal)
            best = max(_number(goal, s, group, unrolled) for s in expected if s[0] == first[0])
            assert answer.proved and answer.solution is not None
            assert answer.solution in expected
            assert answer.value == answer.bound == best
            asked += 1
    assert asked > 40


def _numbers(group: Group, unrolled: Unrolled, store: NodeStore) -> list[SlotValue]:
    """The component's slots that always are numbers."""
    slots = [s for s in group.slots if unrolled.controllers[s] is None]
    nodes = [store.slot(slot, unrolled.slots[slot].domain, False) for slot in slots]
    return [node for node in nodes if node.definite]


def _number(goal: ValueNode, solution: Solution, group: Group, unrolled: Unrolled) -> int:
    for slot, index in zip(group.slots, solution, strict=True):
        if index >= 0:
            goal = goal.assign(slot, index, unrolled.slots[slot].domain.code(index))
    assert goal.lo is not None and goal.lo == goal.hi
    return goal.lo
