"""Records that their spec determines: written without a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from factorspec_sdk.errors import Problem, TooLarge
from factorspec_sdk.wire import Spec

if TYPE_CHECKING:
    from factorspec_sdk.graph.compile import CompiledSpec

_HINT = "bind what decides it, or let a model choose: strategy='constrained'"


@dataclass(frozen=True, slots=True)
class Filled:
    """What a spec says of its record.

    Attributes:
        text: the only valid record, or what all valid records begin with.
        undecided: the first part that is not determined; None where the text is the record.
    """

    text: str
    undecided: Problem | None


def filled(spec: Spec) -> Filled:
    """The record as far as the spec determines it. Compiles the spec.

    Raises:
        Unsatisfiable: no record exists.
        TooLarge: the budget does not suffice to prove that no other record is valid.
    """
    # compiling brings the constraint core, which a client does without otherwise
    from factorspec_sdk.graph.compile import compile_spec

    compiled = compile_spec(spec)
    found = _walk(compiled)
    if not compiled.feasibility.exact:
        raise TooLarge("the budget does not suffice to prove that the spec determines the record")
    return found


def _walk(compiled: CompiledSpec) -> Filled:
    """Along the program while one value alone is feasible."""
    from factorspec_sdk.graph.program import Branch, End, Hole, Literal, Value

    program, feasibility = compiled.program, compiled.feasibility
    pc, state, text = program.start, feasibility.start(), ""
    while True:
        node = program.nodes[pc]
        match node:
            case End():
                return Filled(text, None)
            case Literal():
                text, pc = text + node.text, node.next
            case Hole():
                if program.holes[node.hole].max_length != 0:
                    place = program.holes[node.hole].path
                    return Filled(text, Problem(place, "is free text, which a model writes", hint=_HINT))
                pc = node.next
            case _:
                values, slot = feasibility.values(state, node.slot), program.slots[node.slot]
                if len(values) > 1:
                    message = f"may be one of {len(values)} values"
                    return Filled(text, Problem(slot.path, message, hint=_HINT))
                state = feasibility.assign(state, slot.id, values.first)
                if isinstance(node, Value):
                    text += slot.domain.text(values.first)
                pc = node.targets[values.first] if isinstance(node, Branch) else node.next
