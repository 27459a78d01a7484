"""Objectives of generated specs against brute force: what is reached, and what the certificates say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from factorspec_sdk.errors import DocumentError, TooLarge, Unsatisfiable
from factorspec_sdk.graph import objective
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.graph.cp import optimum
from factorspec_sdk.graph.reference import all_records
from factorspec_sdk.relations.objective import number_of, shown_value
from factorspec_sdk.wire import Spec, parse_document
from factorspec_sdk.wire.check import objective_values
from tests.differential.generate import Json, document
from tests.differential.test_feasibility import compare_with_brute_force
from tests.differential.test_wide import no_sequence


def with_objective(seed: int, goals: int) -> Json | None:
    """A document with an objective; None where the seed makes none that type-checks."""
    doc = document(seed, None, 400, goals)
    try:
        return doc if parse_document(doc).objective else None
    except DocumentError:
        return None


def check_certificates(spec: Spec) -> None:
    """Every level is proven, and its best value is that of brute force."""
    try:
        certificates = compile_spec(spec).certificates
    except Unsatisfiable:
        return
    for at, (goal, certificate) in enumerate(zip(spec.objective, certificates, strict=True)):
        before = Spec(spec.document, spec.hash, spec.root, spec.objective[:at])
        values = [objective_values(spec, json.loads(record.text))[at] for record in all_records(before)]
        ranked = [v for v in values if number_of(v) is not None]
        best = max(ranked, key=lambda v: goal.sign * (number_of(v) or 0), default=None)
        expected = None if best is None else shown_value(best)
        assert certificate.proven
        assert (certificate.best, certificate.bound) == (expected, expected)


@pytest.mark.parametrize("block", range(10))
def test_what_an_objective_leaves_equals_brute_force(block: int) -> None:
    seen = compared = 0
    for n in range(60):
        doc = with_objective(900_000 + block * 60 + n, 1 + n % 3)
        if doc is not None:
            seen += 1
            compared += compare_with_brute_force(doc)
            check_certificates(parse_document(doc))
    assert seen >= 20 and compared > 100


def test_optima_by_register_sets_equal_brute_force(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every integer slot is read as a set, so that optima are found by bisection over sets."""
    monkeypatch.setattr(objective, "WIDE", 1)
    made = 0
    plain = objective.Optimiser._by_sets

    def counted(self: objective.Optimiser, *args: Any) -> Any:
        nonlocal made
        found = plain(self, *args)
        made += found is not None
        return found

    monkeypatch.setattr(objective.Optimiser, "_by_sets", counted)
    monkeypatch.setattr(objective, "SequenceSearch", no_sequence)
    for n in range(180):
        doc = with_objective(950_000 + n, 1 + n % 2)
        if doc is not None:
            compare_with_brute_force(doc)
            check_certificates(parse_document(doc))
    assert made >= 10


def test_an_additive_objective_leaves_independent_components_apart() -> None:
    fields = {f"f{n}": {"type": "integer", "minimum": 0, "maximum": 3} for n in range(4)}
    total = {"op": "add", "args": [{"ref": f"$.f{n}"} for n in range(4)]}
    doc: Json = {"type": "object", "properties": fields, "required": list(fields)}
    for gap, components in ((0, 4), (2, 1)):
        goal = {"goal": "maximize", "expr": total, "gap": gap}
        compiled = compile_spec(parse_document({**doc, "x-factorspec": {"version": 1, "objective": [goal]}}))
        assert len(compiled.feasibility.components) == components
        assert compiled.certificates[0].best == 12
        assert len(all_records(compiled.spec)) == {0: 1, 2: 15}[gap]


def test_an_unproven_optimum_is_refused_unless_the_best_bound_will_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Twelve products of pairs of fields with a sum that they share: far more than 300 steps to prove."""
    names = [f"f{n}" for n in range(12)]
    fields = {name: {"type": "integer", "minimum": 0, "maximum": 6} for name in names}
    pairs = [
        {"op": "mul", "args": [{"ref": f"$.{names[n]}"}, {"ref": f"$.{names[-1 - n]}"}]} for n in range(6)
    ]
    goal: Json = {"goal": "minimize", "expr": {"op": "add", "args": pairs}}
    total = {"name": "total", "kind": "sum", "over": [f"$.{name}" for name in names], "value": {"const": 43}}
    vendor: Json = {"version": 1, "relations": [total], "objective": [goal]}
    doc: Json = {"type": "object", "properties": fields, "required": names, "x-factorspec": vendor}
    (proven,) = compile_spec(parse_document(doc), 300).certificates  # by CP-SAT
    assert proven.proven
    monkeypatch.setattr(optimum, "OPTIMUM_LIMIT", 0.0)
    with pytest.raises(TooLarge) as refused:
        compile_spec(parse_document(doc), 300)
    assert refused.value.problems[0].place == "/x-factorspec/objective/0"
    goal["best_bound"] = True
    certificate = compile_spec(parse_document(doc), 300).certificates[0]
    assert not certificate.proven
    assert isinstance(certificate.best, int) and isinstance(certificate.bound, int)
    assert isinstance(proven.best, int)
    assert certificate.best >= proven.best > certificate.bound
