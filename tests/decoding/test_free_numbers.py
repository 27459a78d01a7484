"""Free numbers by their automaton against XGrammar's grammar with the same bounds."""

from __future__ import annotations

import json
import random

import pytest

pytest.importorskip("xgrammar")

from factorspec_sdk.decoding.free_numbers import FreeNumbers, NumberKind, automaton_of, free_numbers
from factorspec_sdk.decoding.grammars import GrammarRules, GrammarState, grammar_text
from factorspec_sdk.decoding.text_rules import TextState
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.graph.program import HoleSpec
from factorspec_sdk.testing import byte_vocabulary, vocabulary_like
from factorspec_sdk.tokens import Vocabulary, unpack_row

ENDINGS = (b",", b", ", b"}", b"},", b"]", b"e", b"0", b"1}")
KINDS: tuple[NumberKind, ...] = ("integer", "number")


@pytest.fixture(scope="module", params=("bytes", "qwen", "gpt2", "sentencepiece"))
def vocabulary(request: pytest.FixtureRequest) -> Vocabulary:
    return byte_vocabulary() if request.param == "bytes" else vocabulary_like(request.param)


def both(vocabulary: Vocabulary, kind: NumberKind) -> tuple[FreeNumbers, GrammarRules]:
    spec = HoleSpec("t", "json", {"type": kind})
    return free_numbers(vocabulary, kind), GrammarRules(spec, vocabulary, grammar_text(spec))


def check_same(quick: FreeNumbers, slow: GrammarRules, at: TextState, place: GrammarState) -> set[int]:
    going = set(unpack_row(slow.row(place)).tolist())
    closing = {ending: set(slow.closing(place, ending)) for ending in ENDINGS}
    assert set(unpack_row(quick.row(at)).tolist()) == going
    assert {ending: set(quick.closing(at, ending)) for ending in ENDINGS} == closing
    assert set(quick.allowed(at, ENDINGS)) == going.union(*closing.values())
    assert quick.complete(at) == slow.complete(place)
    assert quick.mode(at) == slow.mode(place)
    assert quick.finish_cost(at) <= slow.finish_cost(place)
    end = slow.walk(place, quick.way_out(at) or b"")
    assert end is not None
    assert slow.complete(end)
    return going


@pytest.mark.parametrize("kind", KINDS)
def test_masks_are_those_of_the_bounded_grammar(vocabulary: Vocabulary, kind: NumberKind) -> None:
    source, (quick, slow) = random.Random(kind), both(vocabulary, kind)
    for _ in range(12):
        at: TextState = quick.start()
        place = slow.start()
        for _ in range(44):
            going = check_same(quick, slow, at, place)
            if not going:
                break
            token = source.choice(sorted(going))
            for other in source.sample(range(vocabulary.logit_width), 20):
                assert (quick.after(at, other) is None) == (slow.after(place, other) is None)
            after, behind = quick.after(at, token), slow.after(place, token)
            assert after is not None
            assert behind is not None
            assert quick.may_go_on(at, quick.bytes_of(token))
            assert quick.walk(at, quick.bytes_of(token)) == after
            at, place = after, behind


@pytest.mark.parametrize("kind", KINDS)
def test_first_tokens_are_those_of_the_bounded_grammar(vocabulary: Vocabulary, kind: NumberKind) -> None:
    quick, slow = both(vocabulary, kind)
    for prefix in (b" ", b"-", b"1", b"["):
        assert quick.first_ids(prefix, ENDINGS) == slow.first_ids(prefix, ENDINGS)


@pytest.mark.parametrize("kind", KINDS)
def test_near_the_limit_what_is_kept_can_be_ended(vocabulary: Vocabulary, kind: NumberKind) -> None:
    rules, _ = both(vocabulary, kind)
    for state in range(len(automaton_of(kind).ways)):
        going = set(unpack_row(rules.row(state)).tolist())
        for left in (-1, 0, 1, 2):
            kept = set(unpack_row(rules.row_within(state, left)).tolist())
            ends = {token for token in going if rules.finish_cost(rules.after(state, token)) <= left}
            assert kept == ends
            assert not rules.leaves_all(state, left) or kept == going
        assert rules.complete(state) == (not rules.strides(state))


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_of_the_automaton_is_read_back(kind: NumberKind) -> None:
    automaton, source = automaton_of(kind), random.Random(kind)
    for _ in range(300):
        state, text = 0, b""
        while state not in automaton.ends or source.random() < 0.9:
            on = [(byte, step[state]) for byte, step in automaton.steps.items() if step[state] >= 0]
            if not on:
                break
            byte, state = source.choice(on)
            text += bytes((byte,))
        text += automaton.ways[state]
        found = json.loads(text)
        assert isinstance(found, int) or (kind == "number" and abs(found) < 1e117)
        assert kind == "number" or abs(found) < 10**19


def test_rules_stay_with_the_vocabulary_and_are_those_of_free_numbers_alone() -> None:
    vocabulary = vocabulary_like("qwen")
    for kind in KINDS:
        kept = FreeNumbers.of(vocabulary, HoleSpec("t", "json", {"type": kind}))
        assert kept is not None
        assert FreeNumbers.of(vocabulary, HoleSpec("other", "json", {"type": kind})) is kept
    others: tuple[dict[str, JsonValue], ...] = ({"type": "integer", "minimum": 3}, {"type": "string"}, {})
    for schema in others:
        assert FreeNumbers.of(vocabulary, HoleSpec("t", "json", schema)) is None
    assert FreeNumbers.of(vocabulary, HoleSpec("t", "string", {"type": "number"})) is None
