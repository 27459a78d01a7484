"""Masks and certain runs against the true trie of all records' tokens, at every node."""

from __future__ import annotations

import random

import pytest

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.errors import TokenLimitTooSmall
from factorspec_sdk.fields.domains import BranchDomain, IntRange
from factorspec_sdk.graph.program import Branch, End, Literal, Program, Slot, Value
from factorspec_sdk.testing import byte_vocabulary, vocabulary_like
from factorspec_sdk.testing.tokenizers import ALL
from factorspec_sdk.tokens import Canonical
from tests.decoding.brute import BruteFeasibility, Written, random_spec
from tests.decoding.tries import Trie, record_tokens

FAMILIES = (*ALL, "bytes")
SPECS_PER_FAMILY = 40


def canonical_like(name: str) -> Canonical:
    return Canonical(byte_vocabulary() if name == "bytes" else vocabulary_like(name))


@pytest.fixture(scope="module", params=FAMILIES)
def canonical(request: pytest.FixtureRequest) -> Canonical:
    return canonical_like(request.param)


def check_trie(decoder: Decoder, feasibility: BruteFeasibility) -> int:
    """Walk the whole true trie; returns the number of its nodes."""
    trie = Trie.of(record_tokens(decoder, feasibility.records))
    stack = [(trie, decoder.session())]
    num_nodes = 0
    while stack:
        node, session = stack.pop()
        num_nodes += 1
        assert set(session.allowed()) == set(node.children), (session.text, session.tokens)
        assert (session.state == "complete") == (not node.children)
        plan = session.plan()
        run, end = node.forced_run()
        assert list(plan.tokens) == run
        assert plan.complete == (not end.children)
        for token, child in node.children.items():
            after = session.copy()
            assert after.commit([token]) == 1
            stack.append((child, after))
    return num_nodes


@pytest.mark.parametrize("compact", [False, True])
def test_masks_are_the_true_tries(canonical: Canonical, compact: bool) -> None:
    checked = 0
    for seed in range(10_000):
        spec = random_spec(seed, 120, compact)
        if spec is None:
            continue
        program, feasibility = spec
        decoder = Decoder(program, feasibility, canonical.vocabulary, canonical=canonical)
        check_trie(decoder, feasibility)
        checked += 1
        if checked == SPECS_PER_FAMILY:
            break
    assert checked == SPECS_PER_FAMILY


@pytest.mark.parametrize("compact", [False, True])
def test_every_token_limit(canonical: Canonical, compact: bool) -> None:
    checked = 0
    for seed in range(20_000, 30_000):
        spec = random_spec(seed, 25, compact)
        if spec is None:
            continue
        program, feasibility = spec
        decoder = Decoder(program, feasibility, canonical.vocabulary, canonical=canonical)
        sequences = record_tokens(decoder, feasibility.records)
        trie = Trie.of(sequences)
        for limit in range(max(0, trie.shortest - 2), max(map(len, sequences)) + 3):
            check_limit(decoder, trie, limit)
        checked += 1
        if checked == 15:
            break
    assert checked == 15


def check_limit(decoder: Decoder, trie: Trie, limit: int) -> None:
    """Refused iff too small; no dead end, nothing outside the trie, everything while the limit is ample."""
    if trie.shortest > limit:
        with pytest.raises(TokenLimitTooSmall) as error:
            decoder.session(limit)
        assert error.value.shortest == trie.shortest
        return
    stack = [(trie, decoder.session(limit), limit)]
    while stack:
        node, session, left = stack.pop()
        allowed = set(session.allowed())
        assert session.report.exact
        if not node.children:
            assert session.state == "complete"
            continue
        fitting = {token for token, child in node.children.items() if child.shortest < left}
        assert allowed, (session.text, left)
        assert allowed <= fitting
        ample = session.report.ample
        assert ample is not None
        if left >= ample:
            assert allowed == set(node.children)
        for token in allowed:
            after = session.copy()
            assert after.commit([token]) == 1
            stack.append((node.children[token], after, left - 1))


def number_program(lo: int, hi: int, step: int) -> Program:
    """{"n": [number, number or nothing], "z": true}."""
    nodes = (
        Literal('{"n": [', 1),
        Value(0, 2),
        Branch(1, (3, 4)),
        Literal('], "z": true}', 6),
        Literal(", ", 5),
        Value(2, 3),
        End(),
    )
    number = IntRange(lo, hi, step)
    return Program(
        nodes, 0, (Slot(0, "a", number), Slot(1, "more", BranchDomain(2)), Slot(2, "b", number)), ()
    )


@pytest.mark.parametrize(
    ("lo", "hi", "step"), [(0, 120, 1), (-150, 1200, 7), (-9, 99_999, 613), (5, 5000, 1)]
)
def test_wide_numbers(canonical: Canonical, lo: int, hi: int, step: int) -> None:
    source = random.Random(lo)
    hi -= (hi - lo) % step
    program = number_program(lo, hi, step)
    size = len(program.slots[0].domain)
    pool = source.sample(range(size), min(size, 75))
    records = []
    for first in pool:
        records.append(Written(((0, first), (1, 0)), ((0, -1), (1, first), (2, 0), (3, -1), (6, -1))))
        for second in source.sample(range(size), 66) if first == pool[0] else source.sample(range(size), 1):
            path = ((0, -1), (1, first), (2, 1), (4, -1), (5, second), (3, -1), (6, -1))
            records.append(Written(((0, first), (1, 1), (2, second)), path))
    feasibility = BruteFeasibility(program, records)
    decoder = Decoder(program, feasibility, canonical.vocabulary, canonical=canonical)
    check_trie(decoder, feasibility)
    sequences = record_tokens(decoder, feasibility.records)
    trie = Trie.of(sequences)
    for limit in (trie.shortest - 1, trie.shortest, trie.shortest + 1, max(map(len, sequences)) - 1):
        check_limit(decoder, trie, limit)
