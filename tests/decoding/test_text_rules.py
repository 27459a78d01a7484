"""The quick ways through free text against the plain ones, token by token, for each kind of rules."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from factorspec_sdk.decoding.counted_rules import counted_rules
from factorspec_sdk.decoding.grammars import GrammarRules, GrammarState
from factorspec_sdk.decoding.json_strings import PLAIN, StringState
from factorspec_sdk.decoding.piece_rules import PieceRules
from factorspec_sdk.decoding.placed_rules import grammar_rules
from factorspec_sdk.decoding.string_masks import StringMasks
from factorspec_sdk.decoding.string_rules import StringRules
from factorspec_sdk.decoding.text_rules import TextRules, TextState
from factorspec_sdk.graph.program import HoleSpec
from factorspec_sdk.testing import byte_vocabulary, vocabulary_like
from factorspec_sdk.tokens import Vocabulary, unpack_row

FAMILIES = ("tricky", "gpt2", "qwen", "sentencepiece", "gemma", "bytes")
ENDINGS = (b'"', b'",', b'"}', b"]", b"},")
SOURCES = ('He said "no".', "Zürich, 東京 👩", "a\\b")

RULES: dict[str, Callable[[Vocabulary], TextRules]] = {
    "string": lambda v: StringRules.of(v, 0, None),
    "string 7..": lambda v: StringRules.of(v, 7, None),
    "string ..5": lambda v: StringRules.of(v, 0, 5),
    "string 3..9": lambda v: StringRules.of(v, 3, 9),
    "string ..100000": lambda v: StringRules.of(v, 0, 100_000),
    "pieces": lambda v: PieceRules.of(v, SOURCES, 2, 9),
    "pattern": lambda v: grammar_rules(HoleSpec("t", "string", {"pattern": "^[a-z é]*[0-9]$"}, 0, None), v),
    "pattern ..9": lambda v: grammar_rules(HoleSpec("t", "string", {"pattern": "^[a-z é]*$"}, 0, 9), v),
    "counted ..9": lambda v: counted_rules(v, "^[a-z é]*[0-9]$", None, 0, 9),
    "counted 90..100000": lambda v: counted_rules(v, "é", None, 90, 100_000),
    "object": lambda v: grammar_rules(HoleSpec("t", "json", {"type": "object"}, 0, None), v),
}


@pytest.fixture(scope="module", params=FAMILIES)
def vocabulary(request: pytest.FixtureRequest) -> Vocabulary:
    return byte_vocabulary() if request.param == "bytes" else vocabulary_like(request.param)


def states_of(rules: TextRules, source: random.Random, number: int) -> list[TextState]:
    """States along random texts."""
    found = [rules.start()]
    while len(found) < number:
        ids = unpack_row(rules.row(found[-1])).tolist()
        after = rules.after(found[-1], source.choice(ids)) if ids else None
        found.append(rules.start() if after is None else after)
    return found


def same(left: TextState | None, right: TextState | None) -> bool:
    if isinstance(left, GrammarState) and isinstance(right, GrammarState):
        return left.string == right.string
    return left == right


@pytest.mark.parametrize("name", RULES)
def test_going_on_is_walking_its_bytes(vocabulary: Vocabulary, name: str) -> None:
    rules = RULES[name](vocabulary)
    slow = isinstance(rules, GrammarRules)
    for state in states_of(rules, random.Random(name), 6 if slow else 20):
        going = set(unpack_row(rules.row(state)).tolist())
        for token in range(-1, vocabulary.logit_width + 1):
            data = rules.bytes_of(token)
            plain = rules.walk(state, data) if data and rules.may_go_on(state, data) else None
            quick = rules.after(state, token)
            assert same(quick, plain)
            assert (quick is not None) == (token in going)


@pytest.mark.parametrize("name", RULES)
def test_allowed_is_what_goes_on_and_what_closes(vocabulary: Vocabulary, name: str) -> None:
    rules = RULES[name](vocabulary)
    for state in states_of(rules, random.Random(name), 20):
        going = set(unpack_row(rules.row(state)).tolist())
        closing = {token for ending in ENDINGS for token in rules.closing(state, ending)}
        assert set(rules.allowed(state, ENDINGS)) == going | closing


def test_a_text_without_limit_has_one_state_for_each_mode(vocabulary: Vocabulary) -> None:
    rules = StringRules.of(vocabulary, 3, None)
    token = vocabulary.token_id(b"a")
    assert token is not None
    state: TextState | None = rules.start()
    for _ in range(9):
        state = rules.after(state, token)
    assert state == StringState(PLAIN, 3)
    assert rules.after(state, token) is state
    one, other = (rules.allowed(state, ENDINGS) for _ in range(2))
    assert one is other


def test_far_from_its_limit_a_text_shares_its_mask(vocabulary: Vocabulary) -> None:
    """Whatever the limit and the length: no row is made for either."""
    free = StringRules.of(vocabulary, 0, None).allowed(StringState(), ENDINGS)
    rules = StringRules.of(vocabulary, 0, 100_000)
    for length in (0, 1, 777, 50_000, 99_000):
        assert rules.allowed(StringState(PLAIN, length), ENDINGS) == free
        assert rules.allowed(StringState(PLAIN, length), ENDINGS) is rules.allowed(StringState(), ENDINGS)


def test_rows_by_number_of_characters(vocabulary: Vocabulary) -> None:
    """Against the definition: characters are counted in each token's text."""
    masks = StringMasks.of(vocabulary)
    texts = {i: vocabulary.token_bytes(i).decode(errors="ignore") for i in vocabulary.text_ids}
    whole = {
        i: text
        for i, text in texts.items()
        if text.encode() == vocabulary.token_bytes(i) and not set(text) & set('"\\') and min(text) >= " "
    }
    for most, least in ((0, 0), (1, 0), (3, 2), (None, 0), (None, 4)):
        row = set(unpack_row(masks.row(PLAIN, most, 0, least)).tolist())
        longest = len(vocabulary.all_bytes) if most is None else most
        wanted = {i for i, text in whole.items() if least <= len(text) <= longest}
        assert row & set(whole) == wanted
        assert all("\\" in texts[i] for i in row - set(whole))
