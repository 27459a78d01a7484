"""Rounded division against Python's ``decimal``, and inverse images against enumeration."""

from __future__ import annotations

import decimal
from typing import get_args

import pytest

from factorspec_sdk.fields.rounding import Rounding, divided, numerators

MODES: tuple[Rounding, ...] = get_args(Rounding)


@pytest.mark.parametrize("mode", MODES)
def test_quotients_are_those_of_decimal(mode: Rounding) -> None:
    for number in range(-60, 61):
        for divisor in (1, 2, 3, 4, 7, 10, -1, -4, -7):
            exact = decimal.Decimal(number) / divisor
            expected = exact.to_integral_value(getattr(decimal, f"ROUND_{mode.upper()}"))
            assert divided(number, divisor, mode) == expected


@pytest.mark.parametrize("mode", MODES)
def test_numerators_are_the_inverse_image(mode: Rounding) -> None:
    for divisor in (-5, -4, -2, -1, 1, 2, 3, 4, 10):
        for least in range(-3, 4):
            for most in range(least, 4):
                first, last = numerators(least, most, divisor, mode)
                found = [n for n in range(-60, 61) if least <= divided(n, divisor, mode) <= most]
                assert found == list(range(first, last + 1))


def test_gross_amounts_that_no_net_amount_has() -> None:
    """At 19 % tax, rounded half-up, 479 of the first 3,000 gross amounts cannot occur."""
    gross = {net + divided(net * 19, 100, "half_up") for net in range(3_000)}
    assert len(set(range(3_000)) - gross) == 479
