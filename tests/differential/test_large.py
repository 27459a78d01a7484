"""Specs too large to enumerate: the own tiers against CP-SAT (see ``large.py``)."""

from __future__ import annotations

import json
from functools import partial

import pytest

from tests.differential.large import compare, fails, large_document
from tests.differential.shrink import shrunk


@pytest.mark.parametrize("block", range(6))
def test_own_tiers_equal_cp_sat_on_large_specs(block: int) -> None:
    compared = 0
    for seed in range(2_000_000 + block * 50, 2_000_050 + block * 50):
        doc = large_document(seed)
        try:
            compared += compare(doc, seed)
        except AssertionError as error:
            small = shrunk(doc, partial(fails, seed=seed), 200)
            pytest.fail(f"seed {seed}: {error}; shrunk: {json.dumps(small, ensure_ascii=False)}")
    assert compared > 200
