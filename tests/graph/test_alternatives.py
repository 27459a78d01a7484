"""Several specs as one, with text around each record: masks, costs and limits against enumeration."""

from __future__ import annotations

import gc

import pytest

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.graph.alternatives import Alternative, any_of
from factorspec_sdk.graph.envelope import enveloped
from factorspec_sdk.graph.program import Branch, End, Hole, Length, Literal, Program, Value
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.testing.tokenizers import ALL
from factorspec_sdk.tokens import Canonical
from tests.decoding.brute import BruteFeasibility, Written, enumerate_records, random_spec
from tests.decoding.test_masks import check_limit, check_trie
from tests.decoding.tries import Trie, record_tokens
from tests.graph.documents import compiled, integer

# Line breaks are added tokens of some tokenizers, which no program can write.
AROUND = (
    ("a", '<tool_call> {"name": "a", "arguments": ', "} </tool_call>"),
    ("ab", '<tool_call> {"name": "ab", "arguments": ', "} </tool_call>"),
    ("no", "<refusal>", "</refusal>"),
    ("plain", "", ""),
)


def records_of(program: Program, kept: set[tuple[tuple[int, int], ...]]) -> list[Written]:
    found = enumerate_records(program, 10_000)
    assert found is not None
    return [record for record in found if record.decisions in kept]


def random_alternatives(seed: int, limit: int) -> tuple[list[Alternative], list[Written], Program] | None:
    """Alternatives, all records of the whole, and its program."""
    alternatives: list[Alternative] = []
    kept: set[tuple[tuple[int, int], ...]] = set()
    first_slot = 1
    for number, (name, before, after) in enumerate(AROUND[seed % 2 : seed % 2 + 1 + seed % 3]):
        spec = random_spec(7 * seed + number, limit, seed % 2 == 0)
        if spec is None:
            return None
        program, feasibility = spec
        decisions = {record.decisions for record in feasibility.records}
        around = enveloped(program, before, after)
        inner = BruteFeasibility(around, records_of(around, decisions))
        alternatives.append(Alternative(name, around, inner))
        kept |= {((0, number), *((slot + first_slot, at) for slot, at in each)) for each in decisions}
        first_slot += len(program.slots)
    whole = any_of(alternatives).program
    return alternatives, records_of(whole, kept), whole


@pytest.mark.parametrize("family", ALL)
def test_masks_are_the_true_tries(family: str) -> None:
    canonical, checked = Canonical(vocabulary_like(family)), 0
    for seed in range(1, 60):
        made = random_alternatives(seed, 60)
        if made is None:
            continue
        alternatives, records, program = made
        whole = any_of(alternatives)
        decoder = Decoder(whole.program, whole.feasibility, canonical.vocabulary, canonical=canonical)
        check_trie(decoder, BruteFeasibility(program, records))
        checked += 1
    assert checked > 5


@pytest.mark.parametrize("family", ["tricky", "smollm2", "sentencepiece"])
def test_every_token_limit(family: str) -> None:
    canonical, checked = Canonical(vocabulary_like(family)), 0
    for seed in range(100, 160):
        made = random_alternatives(seed, 15)
        if made is None:
            continue
        alternatives, records, _ = made
        whole = any_of(alternatives)
        decoder = Decoder(whole.program, whole.feasibility, canonical.vocabulary, canonical=canonical)
        sequences = record_tokens(decoder, records)
        trie = Trie.of(sequences)
        for limit in range(trie.shortest - 1, max(map(len, sequences)) + 2):
            check_limit(decoder, trie, limit)
        checked += 1
        if checked == 6:
            break
    assert checked == 6


def test_no_literal_follows_a_literal() -> None:
    for seed in range(1, 40):
        made = random_alternatives(seed, 60)
        nodes = () if made is None else made[2].nodes
        for node in nodes:
            if isinstance(node, Literal):
                assert not isinstance(nodes[node.next], Literal)


@pytest.mark.parametrize("last", [Value(0, 1), Branch(0, (1, 1)), Hole(0, 1), Length(0, 1)])
def test_a_record_that_ends_without_a_literal_gets_the_text_behind_it(
    last: Value | Branch | Hole | Length,
) -> None:
    program = enveloped(Program((last, End()), 0, (), ()), "<", ">")
    first = program.nodes[program.start]
    assert first == Literal("<", 0)
    node = program.nodes[0]
    targets = node.targets if isinstance(node, Branch) else (node.next,)  # type: ignore[union-attr]
    for target in targets:
        behind = program.nodes[target]
        assert isinstance(behind, Literal) and behind.text == ">"
        assert isinstance(program.nodes[behind.next], End)


def test_a_graph_with_text_around_it_outlives_the_one_that_it_shares_with() -> None:
    relations = [{"kind": "all_different", "over": ["$.a", "$.b"]}]
    spec = compiled({"a": integer(1, 3), "b": integer(1, 3)}, relations)
    graph = spec.feasibility.around("<", ">")
    del spec
    gc.collect()
    canonical = Canonical(vocabulary_like("smollm2"))
    whole = any_of([Alternative("x", graph.program, graph)])
    decoder = Decoder(whole.program, whole.feasibility, canonical.vocabulary, canonical=canonical)
    session, texts = decoder.session(), set()
    stack = [session]
    while stack:
        at = stack.pop()
        if at.state == "complete":
            texts.add(at.text)
        for token in at.allowed():
            twin = at.copy()
            twin.commit([token])
            stack.append(twin)
    assert texts == {f'<{{"a": {a}, "b": {b}}}>' for a in (1, 2, 3) for b in (1, 2, 3) if a != b}
    assert [slot.path for slot in whole.program.slots] == ["|", "x.a", "x.b"]
