"""Rounded quotients, remainders, lengths of texts.

A quotient q of a and b is a number of its own, with a linear condition on what is left, ``rest = a - b·q``.
For a positive divisor (of a negative one, both signs turn)::

    floor       0 <= rest <= b - 1                 half_up     -b <= 2·rest <= b, the tie that a's sign takes
    ceiling     1 - b <= rest <= 0                 half_even   -b <= 2·rest <= b, a tie only if q is even
"""

from __future__ import annotations

from collections.abc import Sequence

from factorspec_sdk.automata.division import Modulo, Quotient
from factorspec_sdk.automata.nodes import Mark
from factorspec_sdk.automata.texts import TextLength
from factorspec_sdk.fields.rounding import Rounding, divided
from factorspec_sdk.graph.cp.encode_numbers import number_or_marks, product_of
from factorspec_sdk.graph.cp.encoded import Case, Made, Value, number_among
from factorspec_sdk.graph.cp.encoder import Encoder, of_value
from factorspec_sdk.graph.cp.model import AT_MOST_ZERO, FALSE, Affine, Lit, Model


def _quotient(encoder: Encoder, node: Quotient) -> Value:
    dividend, divisor = encoder.value(node.dividend), encoder.value(node.divisor)
    return _divided(encoder, dividend, divisor, node.mode)[0]


def _modulo(encoder: Encoder, node: Modulo) -> Value:
    dividend, divisor = encoder.value(node.dividend), encoder.value(node.divisor)
    quotient, rest = _divided(encoder, dividend, divisor, "floor")
    return Made(encoder.model, quotient.is_number, rest, quotient.cases)


def _divided(encoder: Encoder, dividend: Value, divisor: Value, mode: Rounding) -> tuple[Value, Affine]:
    """(quotient, what is left). A number divided by zero is MISSING."""
    model, a, b = encoder.model, dividend.number, divisor.number
    operands = number_or_marks(encoder, [dividend, divisor], a)
    by_zero = model.all_of([operands.is_number, model.equals(b, 0)])
    good = model.all_of([operands.is_number, ~by_zero])
    quotient = _quotient_number(model, a, b, mode)
    rest = model.total([(a, 1), (product_of(model, b, quotient), -1)])
    above = model.is_within(b, ((1, max(1, b.hi)),))
    for positive, sign in ((above, 1), (~above, -1)):
        if b.lo <= 0 or sign > 0:  # otherwise no divisor is negative
            _round(model, mode, [good, positive], (a, b, rest), quotient, sign)
    missing = model.any_of([operands.missing, by_zero])
    cases: dict[Case, Lit] = {Mark.MISSING: missing, Mark.UNKNOWN: operands.marked(Mark.UNKNOWN)}
    return Made(model, good, quotient, {c: lit for c, lit in cases.items() if lit != FALSE}), rest


def _quotient_number(model: Model, a: Affine, b: Affine, mode: Rounding) -> Affine:
    """A variable that can hold every quotient."""
    ends = {end for end in (b.lo, b.hi, 1, -1) if end and b.lo <= end <= b.hi}
    corners = [divided(number, end, mode) for number in (a.lo, a.hi) for end in ends] or [0]
    return model.of(model.new_variable(((min(corners), max(corners)),)))


def _round(
    model: Model,
    mode: Rounding,
    when: Sequence[Lit],
    parts: tuple[Affine, Affine, Affine],
    quotient: Affine,
    sign: int,
) -> None:
    """What the rest may be, for divisors of one sign."""
    number, size, rest = (model.total([(part, sign)]) for part in parts)
    match mode:
        case "floor":
            _between(model, rest, size, when, (0, 0), (1, -1))
        case "ceiling":
            _between(model, rest, size, when, (-1, 1), (0, 0))
        case "half_up":
            up = model.is_within(number, ((1, max(1, number.hi)),))
            twice = model.total([(rest, 2)])
            _between(model, twice, size, [*when, up], (-1, 0), (1, -1))
            _between(model, twice, size, [*when, ~up], (-1, 1), (1, 0))
        case "half_even":
            even = _is_even(model, quotient)
            twice = model.total([(rest, 2)])
            _between(model, twice, size, [*when, even], (-1, 0), (1, 0))
            _between(model, twice, size, [*when, ~even], (-1, 1), (1, -1))


def _between(
    model: Model,
    rest: Affine,
    size: Affine,
    when: Sequence[Lit],
    low: tuple[int, int],
    high: tuple[int, int],
) -> None:
    """``low <= rest <= high``, where each bound is factor · size + constant."""
    model.within(model.total([(size, low[0]), (rest, -1)], low[1]), AT_MOST_ZERO, when)
    model.within(model.total([(rest, 1), (size, -high[0])], -high[1]), AT_MOST_ZERO, when)


def _is_even(model: Model, number: Affine) -> Lit:
    """True where the number is even."""
    odd = model.new_literal()
    half = model.of(model.new_variable(((number.lo // 2, number.hi // 2),)))
    whole = model.total([(half, 2), (model.counted(odd), 1), (number, -1)])
    model.within(whole, ((0, 0),))
    return ~odd


def _text_length(encoder: Encoder, node: TextLength) -> Value:
    inner = encoder.value(node.inner)
    by_length: dict[int, list[Lit]] = {}
    for case, literal in inner.cases.items():
        if isinstance(case, tuple) and isinstance(case[1], str):
            by_length.setdefault(len(case[1]), []).append(literal)
    options = [(encoder.model.any_of(literals), length) for length, literals in by_length.items()]
    some = encoder.model.any_of([literal for literal, _ in options])
    return number_or_marks(encoder, [inner], number_among(encoder.model, options), is_number=some)


VALUES = (of_value(Quotient, _quotient), of_value(Modulo, _modulo), of_value(TextLength, _text_length))
