"""Relations that name a field more than once, also by its place in a list, against brute force."""

from __future__ import annotations

import random
from typing import Any

import pytest

from factorspec_sdk.errors import DocumentError
from factorspec_sdk.wire import parse_document
from tests.differential.generate import document
from tests.differential.test_feasibility import compare_with_brute_force


def named_twice(doc: dict[str, Any], rng: random.Random) -> bool:
    """Repeat paths of a document's relations; False if no relation lists its paths."""
    changed = False
    for relation in doc["x-factorspec"]["relations"]:
        over = relation.get("over")
        if not isinstance(over, list):
            continue
        for _ in range(rng.choice([1, 1, 2])):
            path = rng.choice(over)
            if rng.random() < 0.5:
                path = path.replace("[*]", "[0]", 1)
            over.insert(rng.randrange(len(over) + 1), path)
        if relation.get("weights"):
            relation["weights"] = [rng.choice([-1, 1, 2]) for _ in over]
        changed = True
    return changed


#: kinds that list their paths, in any number
LISTING = (
    "all_different", "all_equal", "cardinality", "circuit", "count", "maximum", "minimum", "ordered",
    "permutation_of", "precedence", "regular", "subset_of", "sum",
)  # fmt: skip


def is_well_formed(doc: dict[str, Any]) -> bool:
    """False where a list has no first item."""
    try:
        parse_document(doc)
    except DocumentError:
        return False
    return True


@pytest.mark.parametrize("kind", LISTING)
def test_feasible_values_equal_brute_force(kind: str) -> None:
    compared = 0
    for seed in range(40):
        doc = document(seed, (kind,), 150)
        if named_twice(doc, random.Random(seed)) and is_well_formed(doc):
            compare_with_brute_force(doc)
            compared += 1
    assert compared > 5
