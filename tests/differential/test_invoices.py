"""Sums of products, roundings and totals in any order against all records, at every decision."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.errors import Unsatisfiable
from factorspec_sdk.graph.compile import CompiledSpec, compile_spec
from factorspec_sdk.graph.contracted import Contracted
from factorspec_sdk.graph.feasibility import State
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import parse_document
from factorspec_sdk.wire.check import check_spec
from tests.decoding.tries import Trie
from tests.differential.invoices import Decisions, Family, Maker, decisions_of
from tests.differential.test_tokens import check_masks


def compare_with_all_records(family: Family) -> tuple[CompiledSpec | None, int]:
    """Compare at every reachable decision; returns what was compiled and the number of decisions."""
    spec = parse_document(family.document)
    try:
        compiled = compile_spec(spec)
    except Unsatisfiable:
        assert not family.records, "refused, but there are records"
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
            wrong = {**record, "net0": record["net0"] + 1}
            assert any(verdict.outcome == "broken" for verdict in check_spec(spec, wrong)), wrong


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


def test_masks_of_invoices_equal_all_records() -> None:
    canonical = Canonical(vocabulary_like("tricky"))
    seen = 0
    for seed in range(1_000, 1_040):
        family = Maker(seed, tight=0.6).family()
        if not 0 < len(family.records) <= 80:
            continue
        compiled = compile_spec(parse_document(family.document))
        texts = [json.dumps(record, ensure_ascii=False) for record in family.records]
        trie = Trie.of([canonical.vocabulary.encode(text) for text in texts])
        decoder = Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)
        seen += check_masks(decoder, trie)
    assert seen > 1_000
