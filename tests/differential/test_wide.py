"""Register sets (``graph/wide.py``) against brute force: every integer slot is forced to be read as a set."""

from __future__ import annotations

from collections import Counter
from typing import NoReturn

import pytest

from factorspec_sdk.automata.nodes import NodeStore
from factorspec_sdk.graph import compile as compiling
from factorspec_sdk.graph.components import Component
from factorspec_sdk.graph.factors import Group
from factorspec_sdk.graph.sequence import NoSequence
from factorspec_sdk.graph.unroll import Unrolled
from tests.differential.generate import document
from tests.differential.test_feasibility import compare_with_brute_force

LINEAR = ("sum", "ordered", "intension", "implies", "count", "slide", "no_overlap")


def no_sequence(*_: object, **__: object) -> NoReturn:
    raise NoSequence


@pytest.mark.parametrize("block", range(6))
def test_register_sets_equal_brute_force(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made: Counter[str] = Counter()
    plain = compiling.make_component

    def narrow(unrolled: Unrolled, store: NodeStore, budget: int, group: Group) -> tuple[Component, bool]:
        component, satisfiable = plain(unrolled, store, budget, group, 1)
        made[type(component).__name__] += 1
        return component, satisfiable

    monkeypatch.setattr(compiling, "make_component", narrow)
    monkeypatch.setattr(compiling, "SequenceSearch", no_sequence)
    for n in range(40):
        kinds = (LINEAR[(n + block) % len(LINEAR)], LINEAR[n % len(LINEAR)]) if n % 2 else None
        compare_with_brute_force(document(100_000 + block * 40 + n, kinds, 500))
    assert made["WideSearch"] >= 3
