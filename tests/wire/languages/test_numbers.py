"""Numbers as automata against arithmetic."""

import json
import random
from fractions import Fraction

import pytest

from factorspec_sdk.wire.languages.automaton import TooManyStates
from factorspec_sdk.wire.languages.numbers import compared, integers, multiples, number_text, numbers

OPERATIONS = {
    "lt": Fraction.__lt__,
    "le": Fraction.__le__,
    "gt": Fraction.__gt__,
    "ge": Fraction.__ge__,
}


def some_number(rng: random.Random) -> Fraction:
    return Fraction(rng.randint(-2000, 2000), 10 ** rng.randint(0, 4))


def text_of(value: Fraction) -> str:
    text = number_text(float(value))
    assert text is not None
    return text


@pytest.mark.parametrize("op", OPERATIONS)
def test_comparisons_are_those_of_numbers(op: str) -> None:
    rng = random.Random(op)
    for _ in range(12):
        bound = rng.choice((Fraction(0), some_number(rng), Fraction(rng.randint(-9, 9))))
        found = compared(op, bound)
        for _ in range(40):
            near = bound + Fraction(rng.randint(-3, 3), 10 ** rng.randint(0, 4))
            value = rng.choice((near, some_number(rng)))
            assert found.holds(text_of(value)) is OPERATIONS[op](value, bound), (bound, value)


def test_multiples_are_divided_exactly() -> None:
    rng = random.Random(1)
    for step in map(Fraction, ("1", "3", "0.01", "0.25", "1.5", "7", "0.0001")):
        found = multiples(step)
        for _ in range(60):
            value = rng.choice((some_number(rng), step * rng.randint(-99, 99)))
            assert found.holds(text_of(value)) is ((value / step).denominator == 1), (step, value)


def test_each_number_has_one_text() -> None:
    for text in ("0", "-1", "10", "0.5", "-0.25", "100.01", "9" * 19, "0." + "0" * 14 + "1"):
        assert numbers().holds(text), text
        assert number_text(json.loads(text)) == text or "e" in repr(json.loads(text))
    for text in (
        "",
        "-",
        "-0",
        "0.0",
        "1.0",
        "0.10",
        "01",
        "1.",
        ".5",
        "1e3",
        "+1",
        "9" * 20,
        "0." + "1" * 16,
    ):
        assert not numbers().holds(text), text
    assert number_text(1.0) == "1" and number_text(1e300) is None


def test_integers_have_no_fraction() -> None:
    assert integers().holds("-120") and not integers().holds("0.5") and not integers().holds("-0")


def test_what_cannot_be_divided_by_is_refused() -> None:
    with pytest.raises(TooManyStates):
        multiples(Fraction("0.123456789"))
