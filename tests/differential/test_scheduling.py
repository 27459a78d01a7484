"""Scheduling kinds alone against brute force: more seeds than ``test_feasibility`` spends on a pair."""

from __future__ import annotations

import pytest

from tests.differential.generate import document
from tests.differential.test_feasibility import compare_with_brute_force


@pytest.mark.parametrize("block", range(6))
def test_no_overlap_equals_brute_force(block: int) -> None:
    compared = sum(
        compare_with_brute_force(document(200_000 + 40 * block + n, ("no_overlap",), 300)) for n in range(40)
    )
    assert compared > 200
