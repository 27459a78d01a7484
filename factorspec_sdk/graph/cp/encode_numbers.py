"""Sums, comparisons, products, magnitudes, extremes, choices."""

from __future__ import annotations

from collections.abc import Sequence

from factorspec_sdk.automata.linear import Compare, Linear
from factorspec_sdk.automata.nodes import Mark
from factorspec_sdk.automata.values import Choose, Extreme, Magnitude, OrZero, Product, Rescaled
from factorspec_sdk.fields.intervals import Span
from factorspec_sdk.graph.cp.encoded import Case, Made, Truth, Value, known, select
from factorspec_sdk.graph.cp.encoder import Encoder, of_condition, of_value, required
from factorspec_sdk.graph.cp.model import AT_MOST_ZERO, FALSE, NOT_ZERO, TRUE, ZERO, Affine, Lit, Model

_SPANS: dict[str, tuple[Span, ...]] = {"le": AT_MOST_ZERO, "eq": ZERO, "ne": NOT_ZERO}


def number_or_marks(
    encoder: Encoder, parts: Sequence[Value], number: Affine, *, is_number: Lit | None = None
) -> Value:
    """A value computed from others: MISSING if one of them is, else a number where ``is_number`` (default:
    where all of them are), else UNKNOWN.
    """
    model = encoder.model
    if is_number is None:
        is_number = model.all_of([part.is_number for part in parts])
    missing = encoder.any_missing(parts)
    good = model.all_of([is_number, ~missing])
    cases: dict[Case, Lit] = {Mark.MISSING: missing, Mark.UNKNOWN: model.all_of([~good, ~missing])}
    return Made(model, good, number, {case: literal for case, literal in cases.items() if literal != FALSE})


def _linear(encoder: Encoder, node: Linear) -> Value:
    parts = [encoder.value(term) for term, _ in node.terms]
    factors = [factor for _, factor in node.terms]
    number = encoder.model.total(
        [(part.number, factor) for part, factor in zip(parts, factors, strict=True)], node.constant
    )
    return number_or_marks(encoder, parts, number, is_number=FALSE if node.poison else None)


def _compare(encoder: Encoder, node: Compare) -> Truth:
    model, value = encoder.model, encoder.value(node.value)
    if value.is_number == FALSE:
        return Truth(FALSE, value.missing)
    holds = model.is_within(value.number, _SPANS[node.op])
    true = model.all_of([value.is_number, holds])
    return Truth(true, model.any_of([value.missing, model.all_of([value.is_number, ~holds])]))


def _require_compare(encoder: Encoder, node: Compare) -> None:
    value = encoder.value(node.value)
    encoder.model.within(value.number, _SPANS[node.op], [value.is_number])
    encoder.model.clause([~value.missing])


def _choose(encoder: Encoder, node: Choose) -> Value:
    truth, model = encoder.truth(node.condition), encoder.model
    unknown = model.all_of([~truth.true, ~truth.false])
    options = [(truth.true, encoder.value(node.yes)), (truth.false, encoder.value(node.no))]
    return select(model, [*options, (unknown, known(model, Mark.UNKNOWN))])


def _or_zero(encoder: Encoder, node: OrZero) -> Value:
    model, inner = encoder.model, encoder.value(node.inner)
    nothing = model.all_of([~inner.is_number, ~inner.missing])
    zero, missing = known(model, 0), known(model, Mark.MISSING)
    number = Made(model, TRUE, inner.number, {})
    return select(model, [(inner.is_number, number), (nothing, zero), (inner.missing, missing)])


def _rescaled(encoder: Encoder, node: Rescaled) -> Value:
    """Numbers in finer units; what is no number stays what it is."""
    model, inner = encoder.model, encoder.value(node.inner)
    finer = Made(model, TRUE, model.total([(inner.number, node.factor)]), {})
    return select(model, [(inner.is_number, finer), (~inner.is_number, inner)])


def _product(encoder: Encoder, node: Product) -> Value:
    parts = [encoder.value(node.left), encoder.value(node.right)]
    return number_or_marks(encoder, parts, product_of(encoder.model, parts[0].number, parts[1].number))


def product_of(model: Model, left: Affine, right: Affine) -> Affine:
    """The product of two expressions."""
    for one, other in ((left, right), (right, left)):
        if not one.terms:
            return model.total([(other, one.constant)])
    corners = [a * b for a in (left.lo, left.hi) for b in (right.lo, right.hi)]
    target = new_number(model, min(corners), max(corners))
    factors = [model.affine_form(factor) for factor in (left, right)]
    constraint = model.add().int_prod
    model.write(constraint.target, target)
    for factor in factors:
        model.write(constraint.exprs.add(), factor)
    return target


def new_number(model: Model, lo: int, hi: int) -> Affine:
    """A variable within bounds."""
    model.check(lo, hi)
    return model.of(model.new_variable(((lo, hi),)))


def _magnitude(encoder: Encoder, node: Magnitude) -> Value:
    model, inner = encoder.model, encoder.value(node.inner)
    opposite = model.total([(inner.number, -1)])
    return number_or_marks(encoder, [inner], greatest(model, [inner.number, opposite]))


def greatest(model: Model, numbers: Sequence[Affine]) -> Affine:
    """The greatest of some expressions."""
    if len(numbers) == 1:
        return numbers[0]
    target = new_number(model, max(n.lo for n in numbers), max(n.hi for n in numbers))
    constraint = model.add().lin_max
    model.write(constraint.target, target)
    for number in numbers:
        model.write(constraint.exprs.add(), number)
    return target


def _extreme(encoder: Encoder, node: Extreme) -> Value:
    """Numbers that are not there stand below all others, so that they never are the greatest."""
    model = encoder.model
    parts = [encoder.value(part) for part in node.open]
    numbers = [model.total([(part.number, -node.sign)]) for part in parts]
    best = [] if node.best is None else [model.constant(-node.sign * node.best)]
    least = min(number.lo for number in [*numbers, *best])
    absent = known(model, least)
    kept = [
        select(model, [(part.is_number, Made(model, TRUE, number, {})), (~part.is_number, absent)]).number
        for part, number in zip(parts, numbers, strict=True)
    ]
    number = model.total([(greatest(model, [*kept, *best]), -node.sign)])
    some = TRUE if best else model.any_of([part.is_number for part in parts])
    return number_or_marks(encoder, parts, number, is_number=some)


VALUES = (
    of_value(Linear, _linear),
    of_value(Choose, _choose),
    of_value(OrZero, _or_zero),
    of_value(Rescaled, _rescaled),
    of_value(Product, _product),
    of_value(Magnitude, _magnitude),
    of_value(Extreme, _extreme),
)
CONDITIONS = (of_condition(Compare, _compare),)
REQUIREMENTS = (required(Compare, _require_compare),)
