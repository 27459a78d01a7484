"""Costs of completions against all completions, with the length of the text as cost."""

from __future__ import annotations

import pytest

from factorspec_sdk.errors import Unsatisfiable
from factorspec_sdk.graph.compile import CompiledSpec, compile_spec
from factorspec_sdk.graph.feasibility import Costs
from factorspec_sdk.graph.program import Branch, End, Literal, Value
from factorspec_sdk.graph.reference import Record, all_records
from factorspec_sdk.wire import parse_document
from tests.differential.generate import document


class CharCost:
    """Every character costs 1."""

    def __init__(self, spec: CompiledSpec) -> None:
        self.program = spec.program

    def of_value(self, pc: int, index: int) -> tuple[int, int]:
        node = self.program.nodes[pc]
        assert isinstance(node, Value)
        size = len(self.program.slots[node.slot].domain.text(index))
        return size, size

    def of_node(self, pc: int) -> tuple[int, int, int]:
        node = self.program.nodes[pc]
        if isinstance(node, Literal):
            return (len(node.text),) * 3
        assert isinstance(node, Value)
        domain = self.program.slots[node.slot].domain
        sizes = [len(domain.text(i)) for i in range(len(domain))]
        return min(sizes), min(sizes), max(sizes)


@pytest.mark.parametrize("block", range(4))
def test_cheapest_and_dearest_completion_at_every_decision(block: int) -> None:
    compared = 0
    for seed in range(block * 20, block * 20 + 20):
        spec = parse_document(document(seed, None, 200))
        try:
            compiled = compile_spec(spec)
        except Unsatisfiable:
            continue
        records = all_records(spec, compiled.program)
        costs = compiled.feasibility.with_costs(CharCost(compiled))
        for record in records[:: max(1, len(records) // 15)]:
            compared += _walk(compiled, costs, record.decisions, records)
    assert compared > 50


def _walk(
    compiled: CompiledSpec, costs: Costs, decisions: tuple[tuple[int, int], ...], records: list[Record]
) -> int:
    pc, state, done, written = compiled.program.start, compiled.feasibility.start(), 0, 0
    chosen = dict(decisions)
    compared = 0
    exact = _one_place_each(compiled)
    while not isinstance(node := compiled.program.nodes[pc], End):
        group = [r for r in records if r.decisions[:done] == decisions[:done]]
        rest = [len(r.text) - written for r in group]
        least, sure, most = costs.least(state, pc), costs.sure(state, pc), costs.most(state, pc)
        assert [costs.fits(state, pc, sure + by) for by in (-1, 0, 1)] == [False, True, True]
        assert least <= min(rest) <= sure and max(rest) <= most
        if exact:
            assert least == min(rest) == sure
        compared += 1
        if isinstance(node, Literal):
            written += len(node.text)
            pc = node.next
            continue
        assert isinstance(node, Branch | Value)
        index = chosen[node.slot]
        state = compiled.feasibility.assign(state, node.slot, index)
        done += 1
        if isinstance(node, Branch):
            pc = node.targets[index]
        else:
            written += len(compiled.program.slots[node.slot].domain.text(index))
            pc = node.next
    return compared


def _one_place_each(compiled: CompiledSpec) -> bool:
    """False where separators differ with what was written before (optional first properties)."""
    slots = [node.slot for node in compiled.program.nodes if isinstance(node, Branch | Value)]
    return len(slots) == len(set(slots))
