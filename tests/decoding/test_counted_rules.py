"""Strings of a pattern with bounds on their length, against all texts and grammars that spell them."""

from __future__ import annotations

import json
import random
from itertools import product

import pytest

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.decoding.counted_rules import CountedRules, CountedState
from factorspec_sdk.decoding.json_bytes import JsonBytes
from factorspec_sdk.decoding.placed_rules import grammar_rules
from factorspec_sdk.decoding.string_masks import StringMasks
from factorspec_sdk.errors import TokenLimitTooSmall
from factorspec_sdk.fields.domains import EnumDomain
from factorspec_sdk.graph.feasibility import UNBOUNDED
from factorspec_sdk.graph.program import End, Hole, HoleSpec, Literal, Program, Slot, Value
from factorspec_sdk.testing import byte_vocabulary, vocabulary_like
from factorspec_sdk.tokens import Vocabulary, unpack_row
from factorspec_sdk.wire.languages.lengths import lengths_of
from factorspec_sdk.wire.languages.regex import search
from tests.decoding.brute import FreeFeasibility
from tests.decoding.test_canonical_text import check_trie
from tests.decoding.tries import Trie

ENDINGS = (b'"', b'",', b'"}', b'"]', b'", "')
FAMILIES = ("tricky", "gpt2", "gemma", "bytes")
#: pattern, its characters, bounds
SMALL = (
    ("^(ab)*$", "ab", 0, 5),
    ("^(ab)*$", "ab", 3, 6),
    ("^(aa|bbb)*$", "ab", 4, 7),
    ("^(aaa|bb)*c?$", "abc", 5, 6),
    ("^a{2,}b$|^bb(aaaa)*$", "ab", 3, 7),
    ("^[ab]*b[ab]*$", "ab", 2, 5),
    ('^[é"\\n]*東?$', 'é"\n東', 2, 4),
    ("^(\\u{1f600}a)*é$", "\U0001f600aé", 2, 5),
    ("^(the |in )*$", "thein ", 4, 7),
    ("^a{3}$", "a", 0, 9),
    ("^[ab]*$", "ab", 0, 0),
)


def rules_of(vocabulary: Vocabulary, pattern: str, least: int, most: int | None) -> CountedRules:
    automaton = search(pattern)
    return CountedRules(vocabulary, automaton, lengths_of(automaton, most), least, most)


def vocabulary_of(family: str) -> Vocabulary:
    return byte_vocabulary() if family == "bytes" else vocabulary_like(family)


def spelled_texts(pattern: str, characters: str, least: int, most: int) -> list[bytes]:
    automaton = search(pattern)
    texts = ("".join(t) for size in range(least, most + 1) for t in product(characters, repeat=size))
    return [json.dumps(t, ensure_ascii=False)[1:-1].encode() for t in texts if automaton.holds(t)]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("pattern", "characters", "least", "most"), SMALL)
def test_masks_are_those_of_all_texts(
    family: str, pattern: str, characters: str, least: int, most: int
) -> None:
    vocabulary, source = vocabulary_of(family), random.Random(pattern)
    rules = rules_of(vocabulary, pattern, least, most)
    texts = spelled_texts(pattern, characters, least, most)
    ids = {i: vocabulary.token_bytes(i) for i in vocabulary.text_ids}
    masks = StringMasks.of(vocabulary)
    for _ in range(4):
        state, written = rules.start(), b""
        while True:
            left = [text[len(written) :] for text in texts if text.startswith(written)]
            begun = {text[:end] for text in left for end in range(1, len(text) + 1)}
            closed = {text + ending for text in left for ending in ENDINGS}
            going = {i for i, data in ids.items() if data in begun}
            if family != "bytes":
                going = {
                    i for i in going if (e := rules.walk(state, ids[i])) and masks.may_end_in(rules.mode(e))
                }
            assert set(unpack_row(rules.row(state)).tolist()) == going
            closing = {i for i, data in ids.items() if data in closed}
            assert set(rules.allowed(state, ENDINGS)) == going | closing
            assert rules.complete(state) == (b"" in left)
            check_costs(rules, state, left, ids, going)
            if not going:
                break
            token = source.choice(sorted(going))
            after = rules.after(state, token)
            assert after is not None
            state, written = after, written + ids[token]


def check_costs(
    rules: CountedRules, state: CountedState, left: list[bytes], ids: dict[int, bytes], going: set[int]
) -> None:
    cost = rules.finish_cost(state)
    assert min(map(len, left)) <= cost < UNBOUNDED
    way = rules.way_out(state)
    assert way in left
    assert len(way) <= cost
    for limit in (0, 2, cost, rules.needed(state)):
        kept = set(unpack_row(rules.row_within(state, limit)).tolist())
        assert kept == {
            i for i in going if (end := rules.walk(state, ids[i])) and rules.finish_cost(end) <= limit
        }
    assert rules.leaves_all(state, rules.needed(state))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("pattern", "least", "most", "spelled"),
    [
        ("^[a-zé ]*[0-9]$", 0, 9, "^[a-zé ]{0,8}[0-9]$"),
        ("^[a-zé ]*[0-9]$", 5, 30, "^[a-zé ]{4,29}[0-9]$"),
        ("^(?:[A-Z][a-z] )+$", 7, 17, "^(?:[A-Z][a-z] ){3,5}$"),
        ('^[^x]*"$', 30, None, '^[^x]{29,}"$'),
        ("^(?:ab)*$", 20, 41, "^(?:ab){10,20}$"),
        ("^.*$", 0, 40, "^.{0,40}$"),
    ],
)
def test_masks_are_those_of_the_spelled_grammar(
    family: str, pattern: str, least: int, most: int | None, spelled: str
) -> None:
    pytest.importorskip("xgrammar")
    vocabulary, source = vocabulary_of(family), random.Random(pattern)
    rules = rules_of(vocabulary, pattern, least, most)
    plain = grammar_rules(HoleSpec("t", "string", {"pattern": spelled}), vocabulary)
    for _ in range(4):
        quick, slow = rules.start(), plain.start()
        for _ in range(45):
            assert set(rules.allowed(quick, ENDINGS)) == set(plain.allowed(slow, ENDINGS))
            assert rules.complete(quick) == plain.complete(slow)
            going = unpack_row(plain.row(slow)).tolist()
            if not going:
                break
            token = source.choice(going)
            on, behind = rules.after(quick, token), plain.after(slow, token)
            assert on is not None
            assert behind is not None
            quick, slow = on, behind


def test_large_limits_share_the_masks_of_small_ones() -> None:
    vocabulary = vocabulary_like("qwen")
    rules = rules_of(vocabulary, "^[a-z ]*$", 50_000, 100_000)
    token = max(unpack_row(rules.row(rules.start())).tolist(), key=lambda i: len(vocabulary.token_bytes(i)))
    early = rules.allowed(rules.start(), ENDINGS)
    after = rules.after(rules.start(), token)
    assert after is not None
    assert rules.allowed(after, ENDINGS) is early
    ample = [rules.allowed(CountedState(0, length), ENDINGS) for length in (50_000, 60_000, 99_000)]
    assert ample[0] is ample[1] is ample[2]
    last = set(rules.allowed(CountedState(0, 99_999), ENDINGS))
    assert last < set(ample[0])
    assert all(vocabulary.token_bytes(i).find(b'"') in (-1, 0, 1) for i in last)


def test_any_character_is_read_byte_by_byte() -> None:
    source = random.Random(5)
    for pattern in ("^[^x]*$", "\\p{L}", "^[\\u0100-\\u{10fff}]*é?$", "^[\\s\\S]{0,3}$"):
        automaton = search(pattern)
        table = JsonBytes(automaton)
        for _ in range(2_000):
            code = source.randrange(source.choice((0x80, 0x3000, 0xD800)))
            code = source.choice((code, source.randrange(0xE000, 0x110000)))
            place = source.randrange(len(automaton.edges))
            data = json.dumps(chr(code), ensure_ascii=False)[1:-1].encode()
            target = automaton.after(place, chr(code))
            assert table.walk(place, data) == (None if target is None else (target, 1))


#: pattern, its characters, bounds
SESSIONS = {
    "letters": ("^[ab e]*$", "ab e", 0, 4),
    "wide": ("^[é中 a]*$", "é中 a", 2, 4),
    "pairs": ("^(?:[a.][' ])*$", "a.' ", 3, 6),
    "quotes": ('^["\\\\n]*\\n?$', '"\\n\n', 0, 3),
}


def program_of(name: str) -> Program:
    """{"note": <text>, "day": 1 | "Mon"}."""
    pattern, _, least, most = SESSIONS[name]
    hole = HoleSpec("note", "string", {"type": "string", "pattern": pattern}, least, most)
    nodes = (
        Literal('{"note": "', 1),
        Hole(0, 2),
        Literal('", "day": ', 3),
        Value(0, 4),
        Literal("}", 5),
        End(),
    )
    return Program(nodes, 0, (Slot(0, "day", EnumDomain((1, "Mon"))),), (hole,))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", SESSIONS)
def test_canonical_sessions_admit_the_true_tokens(family: str, name: str) -> None:
    vocabulary, program = vocabulary_of(family), program_of(name)
    records = [
        f'{{"note": "{text.decode()}", "day": {day}}}'
        for text in spelled_texts(*SESSIONS[name])
        for day in ("1", '"Mon"')
    ]
    trie = Trie.of([vocabulary.encode(text) for text in records])
    check_trie(Decoder(program, FreeFeasibility(program), vocabulary), trie, 60)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", SESSIONS)
def test_records_keep_token_limits(family: str, name: str) -> None:
    vocabulary, source, program = vocabulary_of(family), random.Random(name), program_of(name)
    decoder = Decoder(program, FreeFeasibility(program), vocabulary)
    pattern, _, least, most = SESSIONS[name]
    shortest = decoder.shortest()
    assert shortest is not None
    with pytest.raises(TokenLimitTooSmall):
        decoder.session(shortest - 1)
    for limit in range(shortest, 60, 3):
        session = decoder.session(limit)
        while session.state != "complete":
            session.commit([source.choice(session.allowed().ids().tolist())])
        assert len(session.tokens) <= limit
        note = json.loads(vocabulary.decode(session.tokens))["note"]
        assert least <= len(note) <= most
        assert search(pattern).holds(note)
