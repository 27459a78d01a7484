"""The whole core against brute force: documents in, token masks out, for generated specs over all kinds.

Every valid record is enumerated by meaning, encoded by the tokenizer itself and put into a trie. At
every node of that trie the session's mask, certain run and state must be the trie's; at every token
limit from too small to ample it must stay inside the trie and finish within the limit (P1, P2).
"""

from __future__ import annotations

import random
from itertools import combinations_with_replacement

import pytest

from factorspec_sdk.decoding import Decoder, opening
from factorspec_sdk.errors import DocumentError, TokenLimitTooSmall, Unsatisfiable
from factorspec_sdk.graph.compile import CompiledSpec, compile_spec
from factorspec_sdk.graph.program import Branch, End, Literal, Value
from factorspec_sdk.graph.reference import Record, all_records
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import parse_document
from tests.decoding.tries import Trie
from tests.differential.generate import KINDS, document

PAIRS = list(combinations_with_replacement(KINDS, 2))
#: a look-ahead pre-tokeniser, digit groups of up to three, merges across every boundary
TOKENIZER = "tricky"


@pytest.fixture(scope="module")
def canonical() -> Canonical:
    return Canonical(vocabulary_like(TOKENIZER))


def written_text(compiled: CompiledSpec, canonical: Canonical, record: Record) -> str:
    """The record's text with every part made safe for the tokenizer by itself."""
    program, escape = compiled.program, canonical.vocabulary.escape
    chosen, pc, parts = dict(record.decisions), program.start, []
    while not isinstance(node := program.nodes[pc], End):
        if isinstance(node, Literal):
            parts.append(escape(node.text))
            pc = node.next
        elif isinstance(node, Branch):
            pc = node.targets[chosen[node.slot]]
        else:
            assert isinstance(node, Value)
            parts.append(escape(program.slots[node.slot].domain.text(chosen[node.slot])))
            pc = node.next
    return "".join(parts)


def compiled_with_trie(doc: dict[str, object], canonical: Canonical) -> tuple[Decoder, Trie] | None:
    """None where the document is unsatisfiable, which must then be true."""
    spec = parse_document(doc)
    records = all_records(spec)
    try:
        compiled = compile_spec(spec)
    except Unsatisfiable:
        assert not records
        return None
    everything = {record.text for record in records}
    records = all_records(spec, compiled.program)
    assert {record.text for record in records} == everything
    texts = [written_text(compiled, canonical, record) for record in records]
    trie = Trie.of([canonical.vocabulary.encode(text) for text in texts])
    decoder = Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)
    return decoder, trie


def check_masks(decoder: Decoder, trie: Trie) -> int:
    """Compare at every node; returns their number."""
    stack, seen = [(trie, decoder.session())], 0
    while stack:
        node, session = stack.pop()
        seen += 1
        assert set(session.allowed()) == set(node.children), session.text
        assert (session.state == "complete") == (not node.children)
        run, end = node.forced_run()
        plan = session.plan()
        assert list(plan.tokens) == run
        assert plan.complete == (not end.children)
        for token, child in node.children.items():
            after = session.copy()
            assert after.commit([token]) == 1
            stack.append((child, after))
    return seen


def check_limit(decoder: Decoder, trie: Trie, limit: int, rng: random.Random) -> None:
    """Refused exactly if no record fits; otherwise every walk completes within the limit."""
    if trie.shortest > limit:
        with pytest.raises(TokenLimitTooSmall) as caught:
            decoder.session(limit)
        assert caught.value.shortest in (None, trie.shortest)
        return
    for _ in range(3):
        session, node, used = decoder.session(limit), trie, 0
        while node.children:
            allowed = set(session.allowed())
            fitting = {t for t, child in node.children.items() if used + 1 + child.shortest <= limit}
            assert allowed and allowed <= fitting, (limit, session.text)
            token = rng.choice(sorted(allowed))
            session.commit([token])
            node, used = node.children[token], used + 1
        assert session.state == "complete" and used <= limit


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "+".join(pair))
def test_masks_and_limits_for_every_pair_of_kinds(pair: tuple[str, str], canonical: Canonical) -> None:
    rng = random.Random(PAIRS.index(pair))
    for n in range(10):
        made = compiled_with_trie(document(500_000 + n * 100 + PAIRS.index(pair), pair, 90), canonical)
        if made is not None:
            decoder, trie = made
            check_masks(decoder, trie)
            if n < 5:
                for limit in range(max(0, trie.shortest - 2), trie.longest + 2):
                    check_limit(decoder, trie, limit, rng)


@pytest.mark.parametrize("block", range(10))
def test_masks_on_mixed_specs(block: int, canonical: Canonical) -> None:
    seen = 0
    for n in range(40):
        made = compiled_with_trie(document(700_000 + block * 40 + n, None, 150), canonical)
        seen += 0 if made is None else check_masks(*made)
    assert seen > 2_000


def test_masks_where_decimals_and_dates_are_walked(
    canonical: Canonical, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every decimal, date and time is decided along its characters, as wide ones are."""
    monkeypatch.setattr(opening, "_LISTED_TEXTS", 0)
    rng, seen = random.Random(2), 0
    for n in range(60):
        made = compiled_with_trie(document(710_000 + n, None, 120), canonical)
        if made is not None:
            decoder, trie = made
            seen += check_masks(decoder, trie)
            if n % 5 == 0:
                for limit in range(max(0, trie.shortest - 2), trie.longest + 2):
                    check_limit(decoder, trie, limit, rng)
    assert seen > 2_000


@pytest.mark.parametrize("seed", range(6))
def test_masks_where_twenty_thousand_records_are_possible(seed: int, canonical: Canonical) -> None:
    """Large products: random walks instead of every node."""
    rng = random.Random(seed)
    docs = (document(800_000 + seed * 1_000 + n, None, 20_000) for n in range(200))
    made = next(
        m for m in (compiled_with_trie(d, canonical) for d in docs) if m is not None and m[1].leaves > 500
    )
    decoder, trie = made
    for _ in range(60):
        session, node = decoder.session(), trie
        while node.children:
            assert set(session.allowed()) == set(node.children)
            token = rng.choice(sorted(node.children))
            session.commit([token])
            node = node.children[token]
        assert session.state == "complete"


def test_masks_and_limits_within_the_gaps_of_an_objective(canonical: Canonical) -> None:
    rng, seen = random.Random(1), 0
    for n in range(80):
        doc = document(750_000 + n, None, 120, 1 + n % 2)
        try:
            made = compiled_with_trie(doc, canonical)
        except DocumentError:
            continue  # the seed's objective mixes types
        if made is not None:
            decoder, trie = made
            seen += check_masks(decoder, trie)
            if n % 4 == 0:
                for limit in range(max(0, trie.shortest - 2), trie.longest + 2):
                    check_limit(decoder, trie, limit, rng)
    assert seen > 1_000
