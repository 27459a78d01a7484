"""Live sets of sequences (``graph/sequence.py``) against brute force: every number is read as a register."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from factorspec_sdk.automata.nodes import NodeStore
from factorspec_sdk.errors import DocumentError
from factorspec_sdk.graph import compile as compiling
from factorspec_sdk.graph import objective
from factorspec_sdk.graph.components import Component
from factorspec_sdk.graph.factors import Group
from factorspec_sdk.graph.unroll import Unrolled
from factorspec_sdk.wire import parse_document
from tests.differential.generate import document
from tests.differential.sequences import Json, sequence
from tests.differential.test_feasibility import compare_with_brute_force
from tests.differential.test_objective import check_certificates


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each sort of component was made, with everything wide."""
    found: Counter[str] = Counter()
    plain, optimise = compiling.make_component, objective.Optimiser._optimise

    def narrow(unrolled: Unrolled, store: NodeStore, budget: int, group: Group) -> tuple[Component, bool]:
        component, satisfiable = plain(unrolled, store, budget, group, 1)
        found[type(component).__name__] += 1
        return component, satisfiable

    def counted(self: objective.Optimiser, *args: object) -> object:
        result = optimise(self, *args)  # type: ignore[arg-type]
        found[type(result[1]).__name__] += 1
        return result

    monkeypatch.setattr(compiling, "make_component", narrow)
    monkeypatch.setattr(objective, "WIDE", 1)
    monkeypatch.setattr(objective.Optimiser, "_optimise", counted)
    return found


@pytest.mark.parametrize("block", range(6))
def test_live_sets_equal_brute_force(block: int, made: Counter[str]) -> None:
    compared = sum(compare_with_brute_force(sequence(block * 40 + n)) for n in range(40))
    assert compared > 100
    assert made["SequenceSearch"] >= 8


@pytest.mark.parametrize("block", range(6))
def test_live_sets_within_the_gap_of_an_objective_equal_brute_force(block: int, made: Counter[str]) -> None:
    for n in range(40):
        doc = sequence(50_000 + block * 40 + n, 1 + (n % 5 == 0))
        compare_with_brute_force(doc)
        check_certificates(parse_document(doc))
    assert made["SequenceSearch"] >= 8


@pytest.mark.parametrize("block", range(4))
@pytest.mark.usefixtures("made")
def test_live_sets_on_mixed_specs_equal_brute_force(block: int) -> None:
    kinds = ("ordered", "intension", "implies", "slide")
    for n in range(40):
        pair = (kinds[n % 4], kinds[(n + block) % 4]) if n % 2 else None
        doc = document(150_000 + block * 40 + n, pair, 400, n % 3 == 0)
        if accepted(doc):
            compare_with_brute_force(doc)


def accepted(doc: Json) -> bool:
    """False where a random objective mixes types."""
    try:
        parse_document(doc)
    except DocumentError:
        return False
    return True


def mandatory(seed: int) -> Json:
    """Three activities that must all be done, in the order of time, with windows, ways and an origin."""
    rng = random.Random(seed)
    names, places = ["a", "b", "c"], ["x", "y"]
    span = 2
    item = {
        "type": "object",
        "properties": {"what": {"enum": names}, "at": {"type": "integer", "minimum": 0, "maximum": span}},
        "required": ["what", "at"],
    }

    def look_up(table: str) -> Json:
        return {"op": "lookup", "table": table, "key": [{"ref": "t.what"}]}

    task = {
        "in": "$.l",
        "as": "t",
        "start": {"ref": "t.at"},
        "duration": look_up("long"),
        "place": look_up("where"),
    }
    early = {"op": "ge", "args": [{"ref": "t.at"}, look_up("opens")]}
    relations: list[Json] = [
        {"name": "once", "kind": "all_different", "over": ["$.l[*].what"]},
        {"name": "apart", "kind": "no_overlap", "tasks": [task], "travel": "ways", "in_order": True},
        {"name": "open", "kind": "slide", "over": "$.l", "as": ["t"], "expr": early},
    ]
    if rng.random() < 0.4:
        relations[1]["from"] = {"time": {"const": rng.randint(0, 1)}, "place": {"const": rng.choice(places)}}
    tables = {
        "long": [[name, rng.choice([0, 0, 1, 1, 2])] for name in names],
        "where": [[name, rng.choice(places)] for name in names],
        "opens": [[name, rng.randint(0, 1)] for name in names],
        "ways": [["x", "y", rng.choice([0, 1, 2])], ["y", "x", rng.choice([0, 1])]],
    }
    least = rng.choice([2, 3, 3])
    listed = {"type": "array", "items": item, "minItems": least, "maxItems": 3}
    vendor = {"version": 1, "relations": relations, "tables": tables}
    return {"type": "object", "properties": {"l": listed}, "required": ["l"], "x-factorspec": vendor}


def test_days_of_mandatory_activities_equal_brute_force(made: Counter[str]) -> None:
    for seed in range(20):
        compare_with_brute_force(mandatory(seed))
    assert made["SequenceSearch"] >= 8
