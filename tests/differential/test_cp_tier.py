"""The CP-SAT tier against brute force and against the other tiers: forced where they would not need it."""

from __future__ import annotations

import random

import pytest

from factorspec_sdk.automata.nodes import NodeStore
from factorspec_sdk.decoding import opening
from factorspec_sdk.graph import compile as compiling
from factorspec_sdk.graph.components import Component, OverBudget
from factorspec_sdk.graph.cp import component as tier
from factorspec_sdk.graph.cp.tier import by_cp_sat
from factorspec_sdk.graph.factors import Group
from factorspec_sdk.graph.layers import Layers
from factorspec_sdk.graph.unroll import Unrolled
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical
from tests.differential.generate import document
from tests.differential.test_feasibility import PAIRS, compare_with_brute_force
from tests.differential.test_tokens import TOKENIZER, check_limit, check_masks, compiled_with_trie


def forced(
    unrolled: Unrolled, store: NodeStore, budget: int, group: Group, wide: int = 0
) -> tuple[Component, bool]:
    """``make_component`` without the tiers before CP-SAT."""
    return by_cp_sat(Layers(group, unrolled, store), unrolled, OverBudget())


@pytest.mark.parametrize("listed", [256, 1], ids=["listed", "asked between bounds"])
@pytest.mark.parametrize("block", range(4))
def test_feasible_values_equal_brute_force_on_mixed_specs(
    block: int, listed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "make_component", forced)
    monkeypatch.setattr(tier, "LISTED", listed)
    compared = sum(compare_with_brute_force(document(930_000 + block * 25 + n, None, 150)) for n in range(25))
    assert compared > 150


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "+".join(pair))
def test_feasible_values_equal_brute_force_for_every_pair_of_kinds(
    pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "make_component", forced)
    for seed in range(3):
        compare_with_brute_force(document(940_000 + seed * 1000 + PAIRS.index(pair), pair, 100))


def test_masks_and_limits_equal_brute_force(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens: every node of the trie of all records, and every token limit; numbers digit by digit."""
    monkeypatch.setattr(compiling, "make_component", forced)
    monkeypatch.setattr(tier, "LISTED", 1)
    monkeypatch.setattr(opening, "_LISTED_INTEGERS", 1)
    rng, canonical = random.Random(5), Canonical(vocabulary_like(TOKENIZER))
    seen = 0
    for n in range(40):
        made = compiled_with_trie(document(950_000 + n, None, 60), canonical)
        if made is not None:
            decoder, trie = made
            seen += check_masks(decoder, trie)
            if n % 4 == 0:
                for limit in range(max(0, trie.shortest - 2), trie.longest + 2):
                    check_limit(decoder, trie, limit, rng)
    assert seen > 300
