"""What is held before a decision is one of the tails that costs are known for, so limits need no search."""

from __future__ import annotations

import random

import pytest

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.decoding.hypotheses import Opening, RowWalk
from factorspec_sdk.graph.feasibility import UNBOUNDED
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.testing.tokenizers import ALL
from factorspec_sdk.tokens import Canonical
from tests.decoding.brute import FreeFeasibility, random_spec
from tests.decoding.test_holes import note_program


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("name", ALL)
def test_every_place_on_the_way_has_a_sure_cost(name: str, compact: bool) -> None:
    canonical, source = Canonical(vocabulary_like(name)), random.Random(name)
    checked = 0
    for seed in range(60):
        spec = random_spec(seed, 120, compact)
        if spec is None:
            continue
        program, feasibility = spec
        decoder = Decoder(program, feasibility, canonical.vocabulary, canonical=canonical)
        start = Opening(feasibility.start(), program.start, canonical.start)
        shortest = decoder.shortest()
        assert shortest is not None and shortest <= decoder.bounds.sure(start) < UNBOUNDED
        opener, hypotheses = decoder.opener, decoder.start
        while walks := [found for found in hypotheses if isinstance(found, RowWalk)]:
            for walk in walks:
                assert decoder.bounds.sure(walk.source.at) < UNBOUNDED, walk.source.at
                checked += 1
            ids = sorted({token for walk in walks for token in walk.ids()})
            hypotheses = opener.advance(hypotheses, source.choice(ids))
    assert checked > 500


@pytest.mark.parametrize("name", ["tricky", "sentencepiece"])
def test_no_limit_is_ample_for_text_without_a_bound(name: str) -> None:
    """A leading mark does not add to what has no bound."""
    canonical, program = Canonical(vocabulary_like(name)), note_program()
    decoder = Decoder(program, FreeFeasibility(program), canonical.vocabulary, canonical=canonical)
    assert decoder.most_bytes == UNBOUNDED
    assert decoder.session(1000).report.ample is None
