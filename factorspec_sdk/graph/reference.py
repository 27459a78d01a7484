"""What is right, by brute force: all valid records, in one page. Everything faster is tested against it.

It shares nothing with the compiled form but the unrolled record and the program: relations are
evaluated by their meaning (``holds``) on whole records, and so is the objective.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from factorspec_sdk.graph.layout import lay_out
from factorspec_sdk.graph.program import Branch, End, Hole, Length, Literal, Program
from factorspec_sdk.graph.unroll import unroll
from factorspec_sdk.relations.objective import number_of
from factorspec_sdk.wire.check import check_spec, objective_values
from factorspec_sdk.wire.spec import Spec

Assignment = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A valid record: its decisions (slot, index) in writing order, and its text."""

    decisions: Assignment
    text: str


def all_candidates(program: Program, hole_text: str = "0") -> Iterator[Record]:
    """Every record that the layout can write, valid or not; holes hold ``hole_text``, one character, or as
    many of it as a length says.
    """
    stack: list[tuple[int, Assignment, str]] = [(program.start, (), "")]
    while stack:
        pc, decisions, text = stack.pop()
        match program.nodes[pc]:
            case End():
                yield Record(decisions, text)
            case Literal(text=literal, next=then):
                stack.append((then, decisions, text + literal))
            case Hole(next=then):
                behind = program.nodes[then]
                if isinstance(behind, Length):
                    domain = program.slots[behind.slot].domain
                    stack.extend(
                        (behind.next, (*decisions, (behind.slot, i)), text + hole_text * int(domain.text(i)))
                        for i in range(len(domain))
                    )
                else:
                    stack.append((then, decisions, text + hole_text))
            case Branch(slot=slot, targets=targets):
                stack.extend((t, (*decisions, (slot, i)), text) for i, t in enumerate(targets))
            case node:
                domain = program.slots[node.slot].domain
                stack.extend(
                    (node.next, (*decisions, (node.slot, i)), text + domain.text(i))
                    for i in range(len(domain))
                )


def all_records(spec: Spec, program: Program | None = None) -> list[Record]:
    """Every valid record of a spec without free text that its objective leaves, by enumeration.

    O(product of domain sizes).

    Decisions are those of ``program`` where it is given (a compiled spec's, which may have fewer slots).
    """
    program = lay_out(unroll(spec.root)) if program is None else program
    valid = [
        record
        for record in all_candidates(program)
        if not any(v.enforced and v.outcome == "broken" for v in check_spec(spec, json.loads(record.text)))
    ]
    return optimal(spec, valid)


def optimal(spec: Spec, records: list[Record]) -> list[Record]:
    """The records within the gap of the optimum at every level, each among those that the last one left."""
    values = {record: objective_values(spec, json.loads(record.text)) for record in records}
    for at, goal in enumerate(spec.objective):
        numbers = {record: number_of(values[record][at]) for record in records}
        ranked = [goal.sign * number for number in numbers.values() if number is not None]
        if ranked:
            least = max(ranked) - goal.gap
            records = [
                r for r, number in numbers.items() if number is not None and goal.sign * number >= least
            ]
    return records


def feasible_values(records: list[Record], decisions: Assignment, slot: int) -> set[int]:
    """Values of ``slot`` in the records that begin with ``decisions`` and decide ``slot`` next."""
    size = len(decisions)
    return {
        record.decisions[size][1]
        for record in records
        if record.decisions[:size] == decisions
        and len(record.decisions) > size
        and record.decisions[size][0] == slot
    }
