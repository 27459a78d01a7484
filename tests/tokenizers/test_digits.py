"""Walks along the digits of real tokenizers agree with listing every value, merged digits included."""

from __future__ import annotations

import random

import pytest

from factorspec_sdk.fields import IndexSet
from factorspec_sdk.tokens import Canonical, Held
from tests.tokenizers.real import REAL, missing, vocabulary
from tests.tokens.test_forms import compare as compare_form
from tests.tokens.test_forms import random_domain
from tests.tokens.test_numbers import compare as compare_numbers
from tests.tokens.test_numbers import random_values

HELD = ("", " ", "[", ":", '",', '"},')


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_numbers_dates_and_decimals_equal_enumeration(name: str) -> None:
    reason = missing(name)
    if reason is not None:
        pytest.skip(reason)
    canonical, source = Canonical(vocabulary(name)), random.Random(7)
    for _ in range(6):
        text = source.choice(HELD)
        numbers, values, lo, hi = random_values(source)
        held = Held(text, source.randint(0, len(canonical.stable(text))))
        assert compare_numbers(canonical, held, numbers, values, lo, hi) > 0
        domain = random_domain(source)
        spans = [(at, min(len(domain) - 1, at + source.choice((0, 9, 600)))) for at in (0, len(domain) // 2)]
        assert compare_form(canonical, Held(text, 0), domain, IndexSet.union_of(spans)) > 0
