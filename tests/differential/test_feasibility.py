"""Feasible values, unsatisfiable answers and conflicts of generated specs against brute force."""

from __future__ import annotations

from itertools import combinations_with_replacement

import pytest

from factorspec_sdk.errors import Unsatisfiable
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.graph.feasibility import State
from factorspec_sdk.graph.reference import Record, all_records
from factorspec_sdk.wire import parse_document
from tests.differential.generate import KINDS, document

PAIRS = list(combinations_with_replacement(KINDS, 2))


def compare_with_brute_force(doc: dict[str, object]) -> int:
    """Compare at every reachable decision; returns the number of decisions compared."""
    spec = parse_document(doc)
    records = all_records(spec)
    refusal: Unsatisfiable | None = None
    try:
        compiled = compile_spec(spec)
    except Unsatisfiable as error:
        refusal = error
    if refusal is not None:
        assert not records, "refused, but there are records"
        assert refusal.minimal
        check_conflict(doc, refusal.conflict)
        return 0
    assert records, "not refused, but there is no record"
    everything = {record.text for record in records}
    records = all_records(spec, compiled.program)
    assert {record.text for record in records} == everything
    feasibility = compiled.feasibility
    stack: list[tuple[list[Record], int, State]] = [(records, 0, feasibility.start())]
    compared = 0
    while stack:
        group, depth, state = stack.pop()
        if len(group[0].decisions) == depth:
            assert len(group) == 1
            continue
        slot = group[0].decisions[depth][0]
        expected = {record.decisions[depth][1] for record in group}
        found = set(feasibility.values(state, slot))
        assert found == expected, (
            compiled.program.slots[slot].path,
            group[0].decisions[:depth],
            found,
            expected,
        )
        compared += 1
        indices, after = feasibility.forced(state, slot)
        for record in group:
            told = record.decisions[depth : depth + len(indices)]
            assert [index for _, index in told] == list(indices)
        if indices and compared % 2:
            stack.append((group, depth + len(indices), after))
            continue
        for index in sorted(expected):
            rest = [record for record in group if record.decisions[depth][1] == index]
            stack.append((rest, depth + 1, feasibility.assign(state, slot, index)))
    return compared


def check_conflict(doc: dict[str, object], names: tuple[str, ...]) -> None:
    """The named relations have no record together, and any of them left out leaves some."""

    def records_with(kept: set[str]) -> bool:
        vendor = dict(doc["x-factorspec"])  # type: ignore[call-overload]
        vendor["relations"] = [r for r in vendor["relations"] if r["name"] in kept]
        vendor.pop("objective", None)
        return bool(all_records(parse_document({**doc, "x-factorspec": vendor})))

    assert not records_with(set(names))
    for name in names:
        assert records_with(set(names) - {name})


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "+".join(pair))
def test_feasible_values_equal_brute_force_for_every_pair_of_kinds(pair: tuple[str, str]) -> None:
    for seed in range(8):
        compare_with_brute_force(document(seed * 1000 + PAIRS.index(pair), pair, 400))


@pytest.mark.parametrize("block", range(10))
def test_feasible_values_equal_brute_force_on_mixed_specs(block: int) -> None:
    compared = sum(compare_with_brute_force(document(block * 50 + n, None, 800)) for n in range(50))
    assert compared > 300
