"""Live sets of sequences (``graph/sequence.py``) against brute force: every number is read as a register."""

from __future__ import annotations

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
