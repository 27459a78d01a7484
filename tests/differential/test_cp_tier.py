"""The CP-SAT tier against brute force and against the other tiers: forced where they would not need it."""

from __future__ import annotations

import json
import random
from datetime import date
from typing import Any

import pytest

from factorspec_sdk.decoding import Decoder, opening
from factorspec_sdk.graph import compile as compiling
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.graph.components import OverBudget
from factorspec_sdk.graph.cp import component as tier
from factorspec_sdk.graph.cp.backed import BackedSearch
from factorspec_sdk.graph.layers import LayerState
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import parse_document
from tests.differential.generate import document
from tests.differential.large import by_cp_sat_alone, only_cp_sat
from tests.differential.test_feasibility import PAIRS, compare_with_brute_force
from tests.differential.test_objective import check_certificates, with_objective
from tests.differential.test_tokens import TOKENIZER, check_limit, check_masks, compiled_with_trie
from tests.graph.documents import integer, record


@pytest.mark.parametrize("listed", [256, 1], ids=["listed", "asked between bounds"])
@pytest.mark.parametrize("block", range(4))
def test_feasible_values_equal_brute_force_on_mixed_specs(
    block: int, listed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "make_component", by_cp_sat_alone)
    monkeypatch.setattr(tier, "LISTED", listed)
    compared = sum(compare_with_brute_force(document(930_000 + block * 25 + n, None, 150)) for n in range(25))
    assert compared > 150


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "+".join(pair))
def test_feasible_values_equal_brute_force_for_every_pair_of_kinds(
    pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "make_component", by_cp_sat_alone)
    for seed in range(3):
        compare_with_brute_force(document(940_000 + seed * 1000 + PAIRS.index(pair), pair, 100))


def test_masks_and_limits_equal_brute_force(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens: every node of the trie of all records, and every token limit; numbers digit by digit."""
    monkeypatch.setattr(compiling, "make_component", by_cp_sat_alone)
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


@pytest.mark.sources
def test_values_that_the_search_leaves_undecided_are_asked_of_cp_sat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a record is begun, the search has no step left."""
    asked = 0
    plain = BackedSearch._asked

    def counted(self: BackedSearch, *arguments: Any) -> tuple[int, bool]:
        nonlocal asked
        asked += 1
        return plain(self, *arguments)

    class Spent(BackedSearch):
        spent = False

        def is_satisfiable(self) -> bool:
            satisfiable = super().is_satisfiable()
            self.spent = True
            return satisfiable

        def _is_live(self, layer: int, state: LayerState, limit: int) -> bool:
            if self.spent:
                raise OverBudget
            return super()._is_live(layer, state, limit)

    monkeypatch.setattr(BackedSearch, "_asked", counted)
    monkeypatch.setattr(compiling, "BackedSearch", Spent)
    for n in range(120):
        compare_with_brute_force(document(960_000 + n, None, 100))
    assert asked > 60


def test_optima_equal_brute_force() -> None:
    seen = 0
    with only_cp_sat():
        for n in range(60):
            doc = with_objective(970_000 + n, 1 + n % 2)
            if doc is not None:
                seen += 1
                compare_with_brute_force(doc)
                check_certificates(parse_document(doc))
    assert seen > 20


DAY = {
    "type": "string",
    "format": "date",
    "x-factorspec": {"domain": {"min": "1950-01-01", "max": "2049-12-31"}},
}


@pytest.mark.parametrize("family", ["smollm2", "cl100k"])
def test_wide_fields_are_written_character_by_character_within_a_limit(family: str) -> None:
    """Dates of a century whose distance has a remainder, and a product, decoded at random."""
    rng, canonical = random.Random(family), Canonical(vocabulary_like(family))
    gap = {"op": "abs", "args": [{"op": "sub", "args": [{"ref": "$.a"}, {"ref": "$.b"}]}]}
    rest = {"op": "mod", "args": [gap, {"const": 1_000}]}
    area = {"op": "mul", "args": [{"ref": "$.c"}, {"ref": "$.d"}]}
    fields = {"a": DAY, "b": DAY, **{name: integer(1, 500_000) for name in "cde"}}
    same = [(rest, {"const": 7}), (area, {"ref": "$.e"})]
    relations = [{"kind": "intension", "expr": {"op": "eq", "args": [*sides]}} for sides in same]
    compiled = compile_spec(parse_document(record(fields, relations)))
    assert [component.tier for component in compiled.feasibility.components] == ["cp_sat"] * 2
    decoder = Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)
    sure = decoder.bounds.costs.sure(compiled.feasibility.start(), compiled.program.start)
    for limit in (None, sure, sure + 2):
        session = decoder.session(limit)
        while session.state == "open":
            session.commit([rng.choice(sorted(session.allowed()))])
        made = json.loads(session.text)
        days = [date.fromisoformat(made[name]).toordinal() for name in "ab"]
        assert abs(days[0] - days[1]) % 1_000 == 7
        assert made["c"] * made["d"] == made["e"]
        assert session.report.exact and (limit is None or session.num_tokens <= limit)
        assert canonical.vocabulary.encode(session.text) == session.tokens
