"""Logic, equality of any values, presence, and conditions read as values."""

from __future__ import annotations

from factorspec_sdk.automata.logic import And, AsBool, Indicator, IsTrue, Not, Occurs, Same
from factorspec_sdk.automata.nodes import Mark
from factorspec_sdk.fields.domains import typed_key
from factorspec_sdk.graph.cp.encoded import Case, Made, SlotCode, Truth, Value
from factorspec_sdk.graph.cp.encoder import Encoder, of_condition, of_value, required
from factorspec_sdk.graph.cp.model import FALSE, TRUE, ZERO, Lit


def _and(encoder: Encoder, node: And) -> Truth:
    parts = [encoder.truth(part) for part in node.parts]
    true = FALSE if node.unknown else encoder.model.all_of([part.true for part in parts])
    return Truth(true, encoder.model.any_of([part.false for part in parts]))


def _not(encoder: Encoder, node: Not) -> Truth:
    inner = encoder.truth(node.inner)
    return Truth(inner.false, inner.true)


def _same(encoder: Encoder, node: Same) -> Truth:
    """MISSING makes it false and dominates; absent and unknown make it unknown; a compound equals nothing."""
    model, sides = encoder.model, (encoder.value(node.left), encoder.value(node.right))
    equal = _equal(*sides)
    void = model.any_of([side.marked(Mark.ABSENT, Mark.UNKNOWN) for side in sides])
    missing = encoder.any_missing(sides)
    differ = model.all_of([~equal, ~void, ~missing])
    if node.positive:
        return Truth(equal, model.any_of([missing, differ]))
    return Truth(differ, model.any_of([missing, equal]))


def _equal(left: Value, right: Value) -> Lit:
    """True where both are the same scalar."""
    model = left.model
    if isinstance(left, SlotCode) and isinstance(right, SlotCode) and left.domain.key == right.domain.key:
        indices = model.total([(model.of(left.x), 1), (model.of(right.x), -1)])
        return model.all_of([left.present, right.present, model.is_within(indices, ZERO)])
    found: list[Lit] = []
    if FALSE not in (left.is_number, right.is_number):
        same = model.is_within(model.total([(left.number, 1), (right.number, -1)]), ZERO)
        found.append(model.all_of([left.is_number, right.is_number, same]))
    for case, own in left.cases.items():
        if not isinstance(case, Mark):
            found.append(model.all_of([own, right.cases.get(case, FALSE)]))
    return model.any_of(found)


def _occurs(encoder: Encoder, node: Occurs) -> Truth:
    taken = encoder.taken(node.slots.bit_length() - 1, node.index)
    return Truth(taken, ~taken)


def _is_true(encoder: Encoder, node: IsTrue) -> Truth:
    value = encoder.value(node.value)
    return Truth(value.equals(True), encoder.model.any_of([value.equals(False), value.missing]))


def _as_bool(encoder: Encoder, node: AsBool) -> Value:
    truth = encoder.truth(node.condition)
    unknown = encoder.model.all_of([~truth.true, ~truth.false])
    cases: dict[Case, Lit] = {
        typed_key(True): truth.true,
        typed_key(False): truth.false,
        Mark.UNKNOWN: unknown,
    }
    return Made(encoder.model, FALSE, None, {case: lit for case, lit in cases.items() if lit != FALSE})


def _indicator(encoder: Encoder, node: Indicator) -> Value:
    model = encoder.model
    return Made(model, TRUE, model.counted(encoder.truth(node.condition).true), {})


def _require_and(encoder: Encoder, node: And) -> None:
    for part in node.parts:
        encoder.require(part)


def _require_not(encoder: Encoder, node: Not) -> None:
    """The inner condition is not true; of a conjunction, some part is not."""
    inner = node.inner
    if not isinstance(inner, And):
        encoder.model.clause([~encoder.truth(inner).true])
    elif not inner.unknown:
        encoder.model.clause([~encoder.truth(part).true for part in inner.parts])


VALUES = (of_value(AsBool, _as_bool), of_value(Indicator, _indicator))
CONDITIONS = (
    of_condition(And, _and),
    of_condition(Not, _not),
    of_condition(Same, _same),
    of_condition(Occurs, _occurs),
    of_condition(IsTrue, _is_true),
)
REQUIREMENTS = (required(And, _require_and), required(Not, _require_not))
