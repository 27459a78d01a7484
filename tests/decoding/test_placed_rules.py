"""States kept by their place in the grammar against a matcher that is moved for each token."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("xgrammar")

from factorspec_sdk.decoding.ebnf import Class, Name, UnknownSyntax, rules_of
from factorspec_sdk.decoding.grammar_ways import Ways
from factorspec_sdk.decoding.grammars import GrammarRules, GrammarState, grammar_text
from factorspec_sdk.decoding.placed_rules import PlacedRules, PlacedState, grammar_rules
from factorspec_sdk.graph.program import HoleSpec
from factorspec_sdk.testing import byte_vocabulary, vocabulary_like
from factorspec_sdk.tokens import Vocabulary, unpack_row

ADDRESS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "street": {"type": "string"},
        "country": {"enum": ["DE", "ES", "é"]},
        "n": {"type": "integer", "minimum": 3, "maximum": 1200},
        "x": {"type": "number"},
        "next": {"$ref": "#/$defs/a"},
    },
    "required": ["street", "n"],
    "additionalProperties": False,
}
NULLABLE: dict[str, Any] = {"anyOf": [{"type": "string"}, {"type": "null"}]}
SPECS: dict[str, HoleSpec] = {
    "number": HoleSpec("t", "json", {"type": "number"}),
    "integer": HoleSpec("t", "json", {"type": "integer"}),
    "texts": HoleSpec("t", "json", {"type": "array", "items": {"type": "string"}}),
    "nullable": HoleSpec("t", "json", {"type": "array", "items": NULLABLE, "minItems": 2}),
    "few": HoleSpec("t", "json", {"type": "array", "items": {"type": "boolean"}, "maxItems": 3}),
    "nested": HoleSpec("t", "json", {"type": "array", "items": ADDRESS, "$defs": {"a": ADDRESS}}),
    "any": HoleSpec("t", "json", {}),
    "pattern": HoleSpec("t", "string", {"pattern": "^[a-z é\"]*(-[0-9]{2}){1,3}$"}),
    "email": HoleSpec("t", "string", {"format": "email"}),
    "moment": HoleSpec("t", "string", {"format": "date-time"}),
}  # fmt: skip
ENDINGS = (b'"', b'",', b'"}', b"]", b"}", b",", b", ", b"},", b"]}")
VOCABULARIES: dict[str, Callable[[], Vocabulary]] = {
    "bytes": byte_vocabulary,
    "qwen": lambda: vocabulary_like("qwen"),
    "gpt2": lambda: vocabulary_like("gpt2"),
}


def both(name: str, vocabulary: Vocabulary) -> tuple[PlacedRules, GrammarRules]:
    text = grammar_text(SPECS[name])
    return PlacedRules(SPECS[name], vocabulary, text, Ways.of(text)), GrammarRules(
        SPECS[name], vocabulary, text
    )


def ids_of(rules: GrammarRules, state: GrammarState) -> set[int]:
    return set(unpack_row(rules.row(state)).tolist())


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("family", VOCABULARIES)
def test_masks_are_those_of_a_matcher_that_is_moved(name: str, family: str) -> None:
    vocabulary, source = VOCABULARIES[family](), random.Random(name)
    placed, plain = both(name, vocabulary)
    for _ in range(10):
        quick, slow = placed.start(), plain.start()
        for _ in range(24):
            going, closing = ids_of(plain, slow), {i for e in ENDINGS for i in plain.closing(slow, e)}
            assert set(placed.allowed(quick, ENDINGS)) == going | closing
            assert ids_of(placed, quick) == going
            assert {i for e in ENDINGS for i in placed.closing(quick, e)} == closing
            assert placed.complete(quick) == plain.complete(slow)
            if not going:
                break
            tokens = sorted(going)
            short = [token for token in tokens if len(vocabulary.token_bytes(token)) < 2]
            for token in source.sample(range(vocabulary.logit_width), 20):
                assert (placed.after(quick, token) is None) == (plain.after(slow, token) is None)
            token = source.choice(short if short and source.random() < 0.5 else tokens)
            on, behind = placed.after(quick, token), plain.after(slow, token)
            assert isinstance(on, PlacedState)
            assert behind is not None
            assert on.string.mode == behind.string.mode
            quick, slow = on, behind


@pytest.mark.parametrize("name", SPECS)
def test_the_way_to_finish_is_one_and_none_is_shorter(name: str) -> None:
    source, (placed, plain) = random.Random(name), both(name, byte_vocabulary())
    quick, slow = placed.start(), plain.start()
    for _ in range(60):
        cost = placed.finish_cost(quick)
        assert (cost == 0) == plain.complete(slow)
        assert cost <= plain.finish_cost(slow)
        if quick.finish:
            end = plain.walk(slow, quick.finish)
            assert end is not None
            assert plain.complete(end)
        tokens = sorted(ids_of(plain, slow))
        if not tokens:
            break
        token = source.choice(tokens)
        on, behind = placed.after(quick, token), plain.after(slow, token)
        assert on is not None
        assert behind is not None
        quick, slow = on, behind


def test_text_without_rules_stays_where_it_is() -> None:
    vocabulary = vocabulary_like("qwen")
    placed, _ = both("texts", vocabulary)
    inside = placed.walk(placed.start(), b'["a')
    assert inside is not None
    assert placed.walk(inside, b"some more words, and [brackets]") is inside
    assert placed.walk(inside, "Zürich".encode()) is inside
    assert placed.walk(placed.start(), b'["a", "b') is inside
    assert placed.walk(inside, b"\\") is not inside
    assert placed.walk(inside, b'"x') is None


def test_states_are_forgotten_before_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    from factorspec_sdk.decoding import placed_rules

    monkeypatch.setattr(placed_rules, "_MAX_STATES", 5)
    monkeypatch.setattr(placed_rules, "_MAX_DENSE", 1)
    placed, plain = both("nested", vocabulary_like("qwen"))
    text = json.dumps([{"street": "a b", "n": 7}, {"street": "c", "n": 1000, "x": -1.5e3}]).encode()
    quick, slow = placed.start(), plain.start()
    for at in range(len(text)):
        on, behind = placed.walk(quick, text[at : at + 1]), plain.walk(slow, text[at : at + 1])
        assert on is not None
        assert behind is not None
        assert set(placed.allowed(on, ENDINGS)) == set(plain.allowed(behind, ENDINGS))
        assert len(placed._states) <= 5
        quick, slow = on, behind
    assert placed.complete(quick)


def test_grammars_are_read_as_xgrammar_prints_them() -> None:
    read = rules_of(
        r'root ::= (("a\n" [^\x00-\x1f"] x{1, 2}) | ("" | y*)) (=("}"))' + '\nx ::= "x"\ny ::= [0-9]'
    )
    assert read["x"] == [(Class(((120, 120),)),)]
    assert read["y"] == [(Class(((48, 57),)),)]
    (group,) = read["root"][0]
    assert isinstance(group, Name)
    first, second = (alternative for row in read[group.name] for alternative in [row])
    assert first[:2] == (Class(((97, 97),)), Class(((10, 10),)))
    assert isinstance(second[0], Name)
    for unknown in (
        'root ::= Regex("a")',
        "root ::= other",
        'root ::= ("a"',
        "nonsense",
        "root ::= [a]{600}",
    ):
        with pytest.raises(UnknownSyntax):
            rules_of(unknown)


def test_what_cannot_be_read_goes_by_the_matcher_alone() -> None:
    long = HoleSpec("t", "json", {"type": "array", "items": {"type": "boolean"}, "maxItems": 600})
    rules = grammar_rules(long, byte_vocabulary())
    assert not isinstance(rules, PlacedRules)
    bounded = HoleSpec("t", "string", {"pattern": "^a*$"}, 0, 5)
    assert not isinstance(grammar_rules(bounded, byte_vocabulary()), PlacedRules)
    assert isinstance(grammar_rules(SPECS["number"], byte_vocabulary()), PlacedRules)
