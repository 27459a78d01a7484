"""Starts of items in any order (``graph/timeline.py``) against brute force."""

from __future__ import annotations

import random
from typing import Any

import pytest

from factorspec_sdk.errors import Unsatisfiable
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.graph.timeline import Timeline
from factorspec_sdk.wire import parse_document
from tests.differential.test_feasibility import compare_with_brute_force

PLACES = ["a", "b", "c"]


def day(seed: int) -> dict[str, Any]:
    """Three or four starts: windows, lengths, travel times, an origin, booked blocks, single conditions."""
    rng = random.Random(seed)
    properties: dict[str, Any] = {}
    tasks: list[dict[str, Any]] = []
    travel = rng.random() < 0.7
    for number in range(rng.choice([3, 4, 4])):
        low, step = rng.randint(0, 6), rng.choice([1, 1, 1, 2, 3])
        bounds = {"minimum": step * (low // step), "maximum": step * (low // step) + step * rng.randint(2, 6)}
        properties[f"f{number}"] = {"type": "integer", **bounds, **({"multipleOf": step} if step > 1 else {})}
        if rng.random() < 0.2:
            properties[f"f{number}"] = {"enum": rng.sample(range(12), rng.randint(2, 5))}
        task: dict[str, Any] = {
            "start": {"ref": f"$.f{number}"},
            "duration": {"const": rng.choice([1, 1, 2, 3] if travel else [0, 1, 2, 3])},
        }
        if travel:
            task["place"] = {"const": rng.choice(PLACES)}
        tasks.append(task)
    if rng.random() < 0.3:
        tasks.append({"start": {"const": rng.randint(3, 8)}, "duration": {"const": 1}})
        if travel:
            tasks[-1]["place"] = {"const": rng.choice(PLACES)}
    rng.shuffle(tasks)
    relation: dict[str, Any] = {"name": "apart", "kind": "no_overlap", "tasks": tasks}
    tables: dict[str, Any] = {}
    if travel:
        relation["travel"] = "ways"
        pairs = [(a, b) for a in PLACES for b in PLACES if a != b or rng.random() < 0.2]
        tables["ways"] = [[a, b, rng.choice([0, 1, 1, 2, 5])] for a, b in pairs if rng.random() < 0.9]
        if rng.random() < 0.4:
            relation["from"] = {"time": {"const": rng.randint(0, 2)}, "place": {"const": rng.choice(PLACES)}}
    if rng.random() < 0.3:
        relation["booked"] = "busy"
        tables["busy"] = [[at, at + rng.randint(0, 2)] for at in rng.sample(range(10), 2)]
    relations = [relation]
    if rng.random() < 0.3:
        odd = {"op": "ne", "args": [{"ref": "$.f0"}, {"const": rng.randint(0, 8)}]}
        relations.append({"name": "odd", "kind": "intension", "expr": odd})
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        "x-factorspec": {"version": 1, "relations": relations, "tables": tables},
    }


@pytest.mark.parametrize("block", range(4))
def test_starts_in_any_order_equal_brute_force(block: int) -> None:
    for seed in range(block * 30, block * 30 + 30):
        compare_with_brute_force(day(seed))


def test_these_are_decided_by_sequences() -> None:
    made = 0
    for seed in range(100):
        try:
            compiled = compile_spec(parse_document(day(seed)))
        except Unsatisfiable:
            continue
        made += any(isinstance(component, Timeline) for component in compiled.feasibility.components)
    assert made > 40


def test_the_sequence_at_hand_is_followed_to_a_valid_end() -> None:
    for seed in range(60):
        spec = parse_document(day(seed))
        try:
            compiled = compile_spec(spec)
        except Unsatisfiable:
            continue
        for component in compiled.feasibility.components:
            state = component.start
            for layer in range(len(component.slots)):
                index = component.likely(layer, state)
                if index is None:
                    break
                assert index in component.values(layer, state)
                _, state = component.step(layer, state, index)
