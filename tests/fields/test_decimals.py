"""Texts of fixed-point decimals and their domains."""

from __future__ import annotations

from decimal import Decimal

import pytest

from factorspec_sdk.fields import DecimalDomain, EnumDomain, IntRange
from factorspec_sdk.fields.decimals import decimal_code, decimal_text, exact_decimal, read_decimal


@pytest.mark.parametrize("places", range(5))
def test_texts_and_codes_are_inverse(places: int) -> None:
    for code in [*range(-1_100, 1_101, 7), 10**17, -(10**17)]:
        text = decimal_text(code, places)
        assert decimal_code(text, places) == code
        assert Decimal(text) == Decimal(code).scaleb(-places)
        assert format(Decimal(code).scaleb(-places), "f") == text
        assert exact_decimal(text) == Decimal(text)


@pytest.mark.parametrize(
    "text", ["", "-", ".5", "5.", "+1", "1e3", "1,5", "--1", "1.2.3", "²", "٣", " 1", "1\n", "1" * 41]
)
def test_other_texts_are_no_decimals(text: str) -> None:
    assert read_decimal(text) is None
    assert decimal_code(text, 2) is None


def test_a_domain_takes_one_spelling_of_its_values() -> None:
    domain = DecimalDomain(2, IntRange(-10, 100, 5))
    assert [domain.text(index) for index in (0, 1, 2, 3, 22)] == [
        '"-0.10"',
        '"-0.05"',
        '"0.00"',
        '"0.05"',
        '"1.00"',
    ]
    assert [domain.index(domain.value(index)) for index in range(len(domain))] == list(range(len(domain)))
    for value in ("0.5", "0.500", "-0.00", "00.50", "0.51", "1.05", 0.5, None, True):
        assert domain.index(value) is None


def test_a_domain_of_numbers_takes_any_spelling_of_the_number() -> None:
    domain = DecimalDomain(2, IntRange(0, 100, 5), quoted=False)
    assert domain.text(10) == "0.50"
    assert [domain.index(value) for value in (0, 0.0, 0.5, 1, 1.0, 0.05)] == [0, 0, 10, 20, 20, 1]
    for value in ("0.50", 0.51, 0.501, 1e300, float("inf"), float("nan"), True, None):
        assert domain.index(value) is None


def test_codes_of_listed_decimals() -> None:
    domain = EnumDomain(("7.00", "19.00", None), "decimal2")
    assert [domain.code(index) for index in range(3)] == [700, 1900, None]
    assert domain.index_of_code(1900) == 1
