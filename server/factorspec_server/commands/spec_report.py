"""``report``: what of a spec is enforced and how, its sizes, and its conflicts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from factorspec_sdk.errors import InfeasibleError, JsonValue, Problem, Unsatisfiable
from factorspec_sdk.graph.compile import CompiledSpec, compile_spec
from factorspec_sdk.graph.components import Tier
from factorspec_sdk.graph.objective import Certificate
from factorspec_sdk.wire import Spec
from factorspec_sdk.wire.schema import (
    ArrayNode,
    FiniteNode,
    FreeNode,
    ObjectNode,
    SchemaNode,
    TextNode,
    UnionNode,
    children,
)
from factorspec_server.http.report import certificate_json

Enforcement = Literal["enforced", "delegated", "validated only"]
_WIDEST = 5
_TIERS: Mapping[Tier, str] = {"search": "by search", "sets": "by sets of numbers", "cp_sat": "by CP-SAT"}


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the schema or one relation.

    Attributes:
        pointer: where it stands in the document.
        what: in words.
        enforcement: ``enforced`` exactly by us, ``delegated`` to the grammar library, or ``validated only``.
    """

    pointer: str
    what: str
    enforcement: Enforcement


@dataclass(frozen=True, slots=True)
class ComponentSize:
    """One independent group of relations. ``tier``: how it is decided; ``exact``: no budget cut it so far."""

    relations: tuple[str, ...]
    num_slots: int
    log10_assignments: float
    tier: Tier
    exact: bool


@dataclass(frozen=True, slots=True)
class SpecReport:
    """All that ``report`` says. Sizes are there only where records exist."""

    spec_hash: str
    parts: tuple[Part, ...]
    error: InfeasibleError | None = None
    num_slots: int = 0
    num_free: int = 0
    widest: tuple[tuple[str, int], ...] = ()
    components: tuple[ComponentSize, ...] = ()
    objective: tuple[Certificate, ...] = ()

    def as_json(self) -> dict[str, JsonValue]:
        """The report as a JSON value."""
        error = self.error
        return {
            "spec_hash": self.spec_hash,
            "satisfiable": None if error is not None and not _is_proof(error) else error is None,
            "parts": [_part_json(part) for part in self.parts],
            "slots": self.num_slots,
            "free_texts": self.num_free,
            "widest": [[path, size] for path, size in self.widest],
            "components": [_component_json(component) for component in self.components],
            "objective": [certificate_json(certificate) for certificate in self.objective],
            "conflict": [*error.conflict] if isinstance(error, Unsatisfiable) else [],
            "problems": [] if error is None else [_problem_json(problem) for problem in error.problems],
        }

    def lines(self) -> Iterator[str]:
        """The report for people."""
        yield f"spec {self.spec_hash}"
        yield ""
        width = max(len(part.enforcement) for part in self.parts)
        for part in self.parts:
            yield f"  {part.enforcement:{width}}  {part.pointer or '(root)'}  {part.what}"
        yield ""
        if self.error is not None:
            return
        yield f"{self.num_slots} decisions, {self.num_free} free texts"
        for path, num_values in self.widest:
            yield f"  {path}: {num_values} values"
        for component in self.components:
            names = ", ".join(component.relations) or "(no relations)"
            size = f"up to 10^{component.log10_assignments:.1f} assignments"
            how = _TIERS[component.tier] + ("" if component.exact else ", not exact")
            yield f"  together: {component.num_slots} decisions, {size}, {how}: {names}"
        for certificate in self.objective:
            yield f"  objective: {_certified(certificate)}"
        yield "satisfiable: yes"


def report_on(spec: Spec) -> SpecReport:
    """The report on a spec; an unsatisfiable one is reported, not raised."""
    parts = tuple(_parts(spec.root))
    try:
        compiled = compile_spec(spec)
    except InfeasibleError as error:
        return SpecReport(spec.hash, parts, error)
    return _sized(spec, parts, compiled)


def _sized(spec: Spec, parts: tuple[Part, ...], compiled: CompiledSpec) -> SpecReport:
    slots = compiled.program.slots
    widest = sorted(((slot.path, len(slot.domain)) for slot in slots), key=lambda pair: -pair[1])
    components = tuple(
        ComponentSize(
            relations=tuple(dict.fromkeys(factor.origin.label for factor in group.factors)),
            num_slots=len(group.slots),
            log10_assignments=sum(math.log10(len(slots[slot].domain)) for slot in group.slots),
            tier=component.tier,
            exact=component.exact,
        )
        for group, component in zip(compiled.groups, compiled.feasibility.components, strict=True)
    )
    return SpecReport(
        spec.hash,
        parts,
        num_slots=len(slots),
        num_free=len(compiled.program.holes),
        widest=tuple(widest[:_WIDEST]),
        components=components,
        objective=compiled.certificates,
    )


def _parts(node: SchemaNode) -> Iterator[Part]:
    if isinstance(node, ObjectNode):
        for relation, pointer in zip(node.relations, node.relation_pointers, strict=True):
            enforcement: Enforcement = "enforced" if relation.enforce else "validated only"
            yield Part(pointer, f"relation {relation.name!r} ({relation.kind})", enforcement)
    own = _own_part(node)
    if own is not None:
        yield own
    for inner in children(node):
        yield from _parts(inner)


def _own_part(node: SchemaNode) -> Part | None:
    match node:
        case ArrayNode():
            return Part(node.pointer, f"list of {node.min_items} to {node.max_items} items", "enforced")
        case FiniteNode():
            return Part(node.pointer, f"one of {len(node.domain)} values", "enforced")
        case TextNode():
            bound = "of any length" if node.max_length is None else f"of at most {node.max_length} characters"
            how: Enforcement = "enforced" if node.schema is None else "delegated"
            return Part(node.pointer, f"free text {bound}", how)
        case FreeNode():
            return Part(node.pointer, "free value by its JSON Schema", "delegated")
        case UnionNode():
            return Part(node.pointer, f"one of {len(node.branches)} branches", "enforced")
        case _:
            return None


def _certified(certificate: Certificate) -> str:
    goal = certificate.goal
    if certificate.proven:
        found = "no record has a value" if certificate.best is None else f"{certificate.best} is the optimum"
    else:
        found = f"{certificate.best} found, not proven (bound {certificate.bound})"
    name = f" ({goal.name})" if goal.name else ""
    return f"{goal.goal}{name}: {found}, gap {goal.gap}"


def _is_proof(error: InfeasibleError) -> bool:
    return error.code != "too_large"


def _part_json(part: Part) -> JsonValue:
    return {"pointer": part.pointer, "what": part.what, "enforcement": part.enforcement}


def _component_json(component: ComponentSize) -> JsonValue:
    return {
        "relations": [*component.relations],
        "slots": component.num_slots,
        "log10_assignments": round(component.log10_assignments, 3),
        "tier": component.tier,
        "exact": component.exact,
    }


def _problem_json(problem: Problem) -> JsonValue:
    return {"place": problem.place, "message": problem.message, "value": problem.value, "hint": problem.hint}
