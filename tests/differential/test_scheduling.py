"""Scheduling kinds alone against brute force: more seeds than ``test_feasibility`` spends on a pair."""

from __future__ import annotations

import pytest

from tests.differential.generate import document
from tests.differential.generate_schedules import SCHEDULING_KINDS
from tests.differential.test_feasibility import compare_with_brute_force


@pytest.mark.parametrize("kind", SCHEDULING_KINDS)
@pytest.mark.parametrize("block", range(4))
def test_each_kind_equals_brute_force(kind: str, block: int) -> None:
    compared = sum(
        compare_with_brute_force(document(200_000 + 40 * block + n, (kind,), 300)) for n in range(40)
    )
    assert compared > 100
