"""The report on a spec: what is enforced and by whom, sizes and their cost, objective, conflicts."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from factorspec_sdk.errors import DocumentError, InfeasibleError, JsonValue, Problem, Unsatisfiable
from factorspec_sdk.explaining.keywords_of import Keywords, keywords_of
from factorspec_sdk.explaining.subject import model_of
from factorspec_sdk.graph.compile import CompiledSpec, compile_spec
from factorspec_sdk.graph.components import Tier
from factorspec_sdk.graph.objective import Certificate
from factorspec_sdk.records import document as document_of
from factorspec_sdk.wire import Spec, parse_document
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

Enforcement = Literal["enforced", "delegated", "validated only", "refused"]
_WIDEST = 5
_PLACE = re.compile(r" \(([^()]*\[\d+\][^()]*)\)$")
_TIERS: Mapping[Tier, str] = {
    "computed": "computed from earlier fields",
    "search": "by search",
    "sets": "by sets of numbers",
    "cp_sat": "by CP-SAT",
}


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the schema or one relation.

    Attributes:
        pointer: where it stands in the document.
        what: in words.
        enforcement: ``enforced`` exactly by us, ``delegated`` to the grammar library, ``validated only``
            where a relation asks for that, or ``refused``.
        keywords: of JSON Schema that stand there and say it.
    """

    pointer: str
    what: str
    enforcement: Enforcement
    keywords: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = f"  [{', '.join(self.keywords)}]" if self.keywords else ""
        return f"{self.pointer or '(root)'}  {self.what}{said}"


@dataclass(frozen=True, slots=True)
class ComponentReport:
    """One independent group of relations.

    Attributes:
        relations: their names.
        num_slots: decisions that they join.
        log10_assignments: decimal logarithm of the number of ways to make them.
        tier: how it is decided (see ``graph/components.py``).
        exact: False once a budget cut an answer.
        steps: what proving took.
    """

    relations: tuple[str, ...]
    num_slots: int
    log10_assignments: float
    tier: Tier
    exact: bool
    steps: int

    def __str__(self) -> str:
        names = "; ".join(_folded(self.relations)) or "(no relations)"
        size = f"up to 10^{self.log10_assignments:.1f} assignments"
        how = _TIERS[self.tier] + ("" if self.exact else ", not exact (masks leave out some valid records),")
        return f"together: {self.num_slots} decisions, {size}, {how} in {self.steps} steps: {names}"


def _folded(labels: Sequence[str]) -> Iterator[str]:
    """The labels; those that differ by their place alone become one: ``adds up (a[0] and 2 more)``."""
    places = dict[str, list[str]]()
    for label in labels:
        found = _PLACE.search(label)
        places.setdefault(label[: found.start()] if found else label, []).append(found[1] if found else "")
    for name, (first, *more) in places.items():
        others = f" and {len(more)} more" if more else ""
        yield f"{name} ({first}{others})" if first or more else name


@dataclass(frozen=True, slots=True)
class SpecReport:
    """All that ``report`` says. Sizes are there only where records exist.

    Attributes:
        spec_hash: None where the document is refused.
        parts: of the schema and its relations, with refused ones.
        error: why there is nothing to compile.
        num_slots, num_free: decisions and free parts of the unrolled record.
        widest: (path, number of values) of the largest domains.
        components: independent groups of relations.
        objective: what is proven, level by level.
        compile_s: seconds that compiling took, here and now.
    """

    spec_hash: str | None
    parts: tuple[Part, ...]
    error: DocumentError | InfeasibleError | None = None
    num_slots: int = 0
    num_free: int = 0
    widest: tuple[tuple[str, int], ...] = ()
    components: tuple[ComponentReport, ...] = ()
    objective: tuple[Certificate, ...] = ()
    compile_s: float = 0.0

    @property
    def satisfiable(self) -> bool | None:
        """Whether records exist; None where that is not known."""
        if isinstance(self.error, DocumentError) or (
            self.error is not None and self.error.code == "too_large"
        ):
            return None
        return self.error is None

    def as_json(self) -> dict[str, JsonValue]:
        """The report as a JSON value."""
        error = self.error
        return {
            "spec_hash": self.spec_hash,
            "satisfiable": self.satisfiable,
            "parts": [_part_json(part) for part in self.parts],
            "slots": self.num_slots,
            "free_texts": self.num_free,
            "widest": [[path, size] for path, size in self.widest],
            "components": [_component_json(component) for component in self.components],
            "objective": [certificate_json(certificate) for certificate in self.objective],
            "compile_s": round(self.compile_s, 6),
            "conflict": [*error.conflict] if isinstance(error, Unsatisfiable) else [],
            "problems": [] if error is None else [_problem_json(problem) for problem in error.problems],
        }

    def lines(self) -> Iterator[str]:
        """The report for people."""
        yield f"spec {self.spec_hash or '(refused)'}"
        yield ""
        width = max((len(part.enforcement) for part in self.parts), default=0)
        for part in self.parts:
            yield f"  {part.enforcement:{width}}  {part}"
        yield ""
        if self.error is not None:
            return
        cost = f"compiled in {self.compile_s * 1e3:.1f} ms"
        yield f"{self.num_slots} decisions, {self.num_free} free texts, {cost}"
        for path, num_values in self.widest:
            yield f"  {path}: {num_values} values"
        for component in self.components:
            yield f"  {component}"
        for certificate in self.objective:
            yield f"  objective: {_certified(certificate)}"
        yield "satisfiable: yes"

    def __str__(self) -> str:
        text = "\n".join(self.lines())
        return text if self.error is None else f"{text}\nerror: {self.error}"


def report(subject: Spec | type[BaseModel] | dict[str, JsonValue] | str) -> SpecReport:
    """What of a spec, a model or a document (as JSON or its text) is enforced and how; sizes and conflicts.

    What cannot be enforced, and a spec without records, is reported, not raised. Compiles the spec.

    Raises:
        DeclarationError: neither a spec, a model nor a document.
        FactorspecError: a model without a document: parameters are not bound, fields have no form.
    """
    if isinstance(subject, Spec):
        return _report(subject)
    document = subject if isinstance(subject, dict | str) else document_of(model_of(subject))
    try:
        return _report(parse_document(document))
    except DocumentError as error:
        refused = tuple(Part(p.place, p.message, "refused") for p in error.problems)
        return SpecReport(None, refused, error)


def _report(spec: Spec) -> SpecReport:
    parts = tuple(_parts(spec))
    started = time.perf_counter()
    try:
        compiled = compile_spec(spec)
    except InfeasibleError as error:
        return SpecReport(spec.hash, parts, error, compile_s=time.perf_counter() - started)
    return _sized(spec, parts, compiled, time.perf_counter() - started)


def _sized(spec: Spec, parts: tuple[Part, ...], compiled: CompiledSpec, compile_s: float) -> SpecReport:
    slots = compiled.program.slots
    widest = sorted(((slot.path, len(slot.domain)) for slot in slots), key=lambda pair: -pair[1])
    components = tuple(
        ComponentReport(
            relations=tuple(dict.fromkeys(factor.origin.label for factor in group.factors)),
            num_slots=len(group.slots),
            log10_assignments=sum(math.log10(len(slots[slot].domain)) for slot in group.slots),
            tier=component.tier,
            exact=component.exact,
            steps=component.steps,
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
        compile_s=compile_s,
    )


def _parts(spec: Spec) -> Iterator[Part]:
    """Relations and nodes with their keywords; then the keywords that went into other nodes."""
    keywords = {found.pointer: found for found in keywords_of(spec.document)}
    said: set[str] = set()
    free: list[str] = []
    for part in _of_node(spec.root, keywords):
        said.add(part.pointer)
        if part.enforcement == "delegated":
            free.append(part.pointer + "/")
        yield part
    for found in keywords.values():
        is_used = not found.pointer.startswith(("/$defs/", "/definitions/")) or any(
            pointer.startswith("/".join(found.pointer.split("/")[:3])) for pointer in said
        )
        if found.pointer not in said and is_used and not found.pointer.startswith(tuple(free)):
            yield Part(found.pointer, "joined with what is around it", "enforced", found.names)


def _of_node(node: SchemaNode, keywords: dict[str, Keywords]) -> Iterator[Part]:
    if isinstance(node, ObjectNode):
        for relation, pointer in zip(node.relations, node.relation_pointers, strict=True):
            enforcement: Enforcement = "enforced" if relation.enforce else "validated only"
            yield Part(pointer, f"relation {relation.name!r} ({relation.kind})", enforcement)
    own = _own_part(node)
    if own is not None:
        found = keywords.get(node.pointer)
        yield Part(node.pointer, *own, () if found is None else found.names)
    for inner in children(node):
        yield from _of_node(inner, keywords)


def _own_part(node: SchemaNode) -> tuple[str, Enforcement] | None:
    match node:
        case ObjectNode():
            return f"object of {len(node.properties)} properties", "enforced"
        case ArrayNode():
            return f"list of {node.min_items} to {node.max_items} items", "enforced"
        case FiniteNode():
            return f"one of {len(node.domain)} values", "enforced"
        case TextNode():
            bound = "of any length" if node.max_length is None else f"of at most {node.max_length} characters"
            ours = node.schema is None or (node.min_length, node.max_length) != (0, None)
            return f"free text {bound}", "enforced" if ours else "delegated"
        case FreeNode():
            return "free value by its JSON Schema", "delegated"
        case UnionNode():
            return f"one of {len(node.branches)} branches", "enforced"
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


def certificate_json(certificate: Certificate) -> dict[str, JsonValue]:
    """What is proven about a level of the objective."""
    return {
        "name": certificate.name,
        "goal": certificate.goal.goal,
        "best": certificate.best,
        "bound": certificate.bound,
        "proven": certificate.proven,
        "gap": certificate.goal.gap,
    }


def _part_json(part: Part) -> JsonValue:
    return {
        "pointer": part.pointer,
        "what": part.what,
        "enforcement": part.enforcement,
        "keywords": [*part.keywords],
    }


def _component_json(component: ComponentReport) -> JsonValue:
    return {
        "relations": [*component.relations],
        "slots": component.num_slots,
        "log10_assignments": round(component.log10_assignments, 3),
        "tier": component.tier,
        "exact": component.exact,
        "steps": component.steps,
    }


def _problem_json(problem: Problem) -> JsonValue:
    return {"place": problem.place, "message": problem.message, "value": problem.value, "hint": problem.hint}
