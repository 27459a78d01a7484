"""Sums of products, roundings and totals in any order against all records, at every decision."""

from __future__ import annotations

import json
import random
from collections import Counter
from functools import partial

import pytest

from factorspec_sdk.automata.nodes import NodeStore
from factorspec_sdk.decoding import Decoder
from factorspec_sdk.errors import TooLarge, Unsatisfiable
from factorspec_sdk.fields.sumsets import WINDOW
from factorspec_sdk.graph import compile as compiling
from factorspec_sdk.graph.compile import CompiledSpec, compile_spec
from factorspec_sdk.graph.components import Component, OverBudget
from factorspec_sdk.graph.contracted import Contracted
from factorspec_sdk.graph.factors import Group
from factorspec_sdk.graph.feasibility import State
from factorspec_sdk.graph.layers import Layers
from factorspec_sdk.graph.ledger import Ledger
from factorspec_sdk.graph.unroll import Unrolled
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import parse_document
from factorspec_sdk.wire.check import check_spec
from tests.decoding.tries import Trie
from tests.differential.invoices import Decisions, Family, Maker, decisions_of
from tests.differential.test_tokens import check_limit, check_masks


def compare_with_all_records(family: Family) -> tuple[CompiledSpec | None, int]:
    """Compare at every reachable decision; returns what was compiled and the number of decisions."""
    spec = parse_document(family.document)
    try:
        compiled = compile_spec(spec)
    except Unsatisfiable:
        assert not family.records, "refused, but there are records"
        return None, 0
    except TooLarge:
        return None, 0
    assert family.records, "not refused, but there is no record"
    feasibility = compiled.feasibility
    everything = [decisions_of(compiled.program, record) for record in family.records]
    stack: list[tuple[list[Decisions], int, State]] = [(everything, 0, feasibility.start())]
    compared = 0
    while stack:
        group, depth, state = stack.pop()
        if len(group[0]) == depth:
            continue
        slot = group[0][depth][0]
        expected = {decisions[depth][1] for decisions in group}
        found = feasibility.values(state, slot)
        if not feasibility.exact:  # a budget ran out: proven values only
            assert found and set(found) <= expected
            break
        assert set(found) == expected, (compiled.program.slots[slot].path, group[0][:depth], found, expected)
        compared += 1
        for index in sorted(expected):
            rest = [decisions for decisions in group if decisions[depth][1] == index]
            stack.append((rest, depth + 1, feasibility.assign(state, slot, index)))
    return compiled, compared


def test_the_records_of_the_families_are_those_that_the_relations_mean() -> None:
    for seed in range(12):
        family = Maker(seed, tight=0.2).family()
        spec = parse_document(family.document)
        for record in family.records[:40]:
            assert not any(verdict.outcome == "broken" for verdict in check_spec(spec, record)), record
            wrong = {**record, "net0": record.get("net0", 0) + 1}
            broken = any(verdict.outcome == "broken" for verdict in check_spec(spec, wrong))
            assert broken == ("net0" in record), wrong


@pytest.mark.parametrize("block", range(8))
def test_feasible_values_of_invoices_equal_all_records(block: int) -> None:
    made: Counter[str] = Counter()
    compared = 0
    for seed in range(block * 25, block * 25 + 25):
        compiled, decisions = compare_with_all_records(Maker(seed).family())
        compared += decisions
        if compiled is not None:
            made.update(type(component).__name__ for component in compiled.feasibility.components)
    assert compared > 500
    assert made[Contracted.__name__] >= 5


@pytest.fixture
def ledgers(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Every integer slot counts as wide, and windows of sums are as narrow as the test says."""
    made: Counter[str] = Counter()
    plain = compiling.make_component

    def narrow(unrolled: Unrolled, store: NodeStore, budget: int, group: Group) -> tuple[Component, bool]:
        component, satisfiable = plain(unrolled, store, budget, group, 1)
        parts = component.parts if isinstance(component, Contracted) else (component,)
        made.update(type(part).__name__ for part in parts)
        return component, satisfiable

    def refused(layers: Layers, unrolled: Unrolled, cut: OverBudget, *_: object) -> tuple[Component, bool]:
        raise cut

    monkeypatch.setattr(compiling, "make_component", narrow)
    monkeypatch.setattr(compiling, "by_cp_sat", refused)  # tested by itself, and slow
    return made


@pytest.mark.parametrize("window", [WINDOW, 40, 12, 0])
@pytest.mark.parametrize("block", range(2))
def test_sums_of_items_equal_all_records(
    window: int, block: int, ledgers: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "Ledger", partial(Ledger, window=window))
    for seed in range(2_000 + block * 60, 2_000 + block * 60 + 60):
        compare_with_all_records(Maker(seed, tight=0.3, wide=True).family())
    assert ledgers["Ledger"] >= 4


def test_masks_and_limits_of_invoices_equal_all_records(ledgers: Counter[str]) -> None:
    canonical = Canonical(vocabulary_like("tricky"))
    seen, rng = 0, random.Random(0)
    for seed in range(1_000, 1_060):
        family = Maker(seed, tight=0.6).family()
        if not 0 < len(family.records) <= 80:
            continue
        try:
            compiled = compile_spec(parse_document(family.document))
        except TooLarge:
            continue
        texts = [json.dumps(record, ensure_ascii=False) for record in family.records]
        trie = Trie.of([canonical.vocabulary.encode(text) for text in texts])
        decoder = Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)
        seen += check_masks(decoder, trie)
        for limit in range(trie.shortest - 1, trie.longest + 1, 3):
            check_limit(decoder, trie, limit, rng)
    assert seen > 1_000
    assert ledgers["Ledger"] >= 3
