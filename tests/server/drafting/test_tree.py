"""What trees draft: texts as prompts have them, branches that prompts support, and no more than pays."""

from __future__ import annotations

from functools import cache

import pytest

from factorspec_sdk.decoding import Decoder, Plan
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical, Vocabulary
from factorspec_sdk.wire import parse_document
from factorspec_server.drafting import Tree, TreeOptions, drafting_policy
from factorspec_server.drafting.history import History, Match

NOTE: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"note": {"type": "string"}, "city": {"enum": ["Oslo", "Rome", "Lima"]}},
    "required": ["note", "city"],
    "additionalProperties": False,
}
PROMPT = "Say that the night train leaves late from Rome, then choose."


@cache
def decoder() -> Decoder:
    compiled = compile_spec(parse_document(NOTE))
    canonical = Canonical(vocabulary_like("gpt2"))
    return Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)


def vocabulary() -> Vocabulary:
    return decoder().vocabulary


def tree(**options: object) -> Tree:
    return Tree(TreeOptions(**options), vocabulary(), vocabulary().encode(PROMPT))  # type: ignore[arg-type]


def paths(plan: Plan) -> set[str]:
    """The texts of all branches, from what is committed on."""
    found: list[tuple[int, ...]] = []
    for token, parent in zip(plan.tokens, plan.parents, strict=True):
        found.append((found[parent] if parent >= 0 else ()) + (token,))
    return {vocabulary().decode(path, errors="replace") for path in found}


def test_text_is_guessed_as_the_prompt_has_it_and_through_its_end() -> None:
    session = decoder().session()
    assert session.commit(vocabulary().encode('{"note": "the night')) > 0
    drafted = paths(tree(width=60).plan(session))
    assert " train leaves late from" in drafted
    assert any(path.startswith('", "city": "') for path in drafted)
    assert set(tree(width=60, branches=False).plan(session).kinds) == {"text"}


def test_the_first_word_of_a_text_needs_no_space_before_it() -> None:
    session = decoder().session()
    session.commit(vocabulary().encode('{"note": "night'))
    assert any(path.startswith(" train leaves") for path in paths(tree(width=60).plan(session)))


def test_a_text_may_begin_as_words_of_the_prompt_do_names_first() -> None:
    session = decoder().session()
    session.commit(vocabulary().encode('{"note": "'))
    plan = tree(width=60).plan(session)
    assert {"Rome", "late from Rome"} <= paths(plan)
    first = vocabulary().decode(plan.tokens[:1])
    assert any(name.startswith(first) for name in ("Rome", "Say"))
    assert not tree(width=60, text=False).plan(session).tokens


def test_a_word_of_several_tokens_is_drafted_whole() -> None:
    session = decoder().session()
    session.commit(vocabulary().encode('{"note": "'))
    prompt = vocabulary().encode("Write to Zyxwabc about it.")
    drafter = Tree(TreeOptions(width=60), vocabulary(), prompt)
    assert any(path.startswith("Zyxwabc about") for path in paths(drafter.plan(session)))


def test_branches_are_drafted_with_what_is_certain_behind_them_the_likeliest_first() -> None:
    session = decoder().session()
    session.commit(vocabulary().encode('{"note": "x", "city": "'))
    plan = tree(width=60).plan(session)
    assert {'Oslo"}', 'Rome"}', 'Lima"}'} <= paths(plan)
    assert paths(tree(width=60, breadth=1).plan(session)) & {'Oslo"}', 'Rome"}', 'Lima"}'} == {'Rome"}'}
    assert {'Oslo"}', 'Rome"}'}.isdisjoint(paths(tree(width=60, branches=False).plan(session)))


def test_few_guesses_at_a_place_are_spent_on_choices_and_not_on_text() -> None:
    for written, most in (('{"note": "the night', 1), ('{"note": "x", "city": "', 2)):
        session = decoder().session()
        session.commit(vocabulary().encode(written))
        for breadth, wanted in ((2, most), (None, 2)):
            plan = tree(width=60, breadth=breadth).plan(session)
            sizes = [len(choice.children) for choice in plan.choices if choice.free == (most == 1)]
            assert max(sizes) == wanted or (breadth is None and max(sizes) > 2)


def test_no_text_is_guessed_where_that_is_switched_off() -> None:
    session = decoder().session()
    session.commit(vocabulary().encode('{"note": "the night'))
    assert not tree(width=60, text=False).plan(session).tokens


def test_a_costly_step_gets_a_smaller_plan() -> None:
    session = decoder().session()
    session.commit(vocabulary().encode('{"note": "the night'))
    free = tree(width=60).plan(session)
    dear = tree(width=60, cost=lambda size: 1.0 + 0.2 * size).plan(session)
    assert 0 < len(dear.tokens) < len(free.tokens)
    assert dear.tokens == free.tokens[: len(dear.tokens)]


def test_rates_follow_what_the_model_does() -> None:
    """A model that never writes as the prompt does is soon guessed less."""
    session, drafter = decoder().session(), tree(width=8, cost=lambda size: 1.0 + 0.1 * size)
    session.commit(vocabulary().encode('{"note": "'))
    sizes = []
    for other in ("air", "sky", "bus", "owl", "fog", "cap", "life", "club"):
        session.commit(vocabulary().encode(" the night"))
        sizes.append(len(drafter.plan(session).tokens))
        session.commit(vocabulary().encode(f" {other}"))
        drafter.plan(session)
    assert sizes[0] > sizes[-1]


def test_no_patience_drafts_what_is_certain() -> None:
    session = decoder().session()
    session.commit(vocabulary().encode('{"note": "the night'))
    plan = tree(width=60, patience_s=-1.0).plan(session)
    assert plan == session.plan(60)


def test_history_prefers_the_longest_match_then_the_latest() -> None:
    letters = {ord(letter): letter.encode() for letter in "abcdxyz"} | {1: b" a"}
    history = History(letters.__getitem__)
    history.extend([*map(ord, "abcx"), *map(ord, "bcy"), *map(ord, "cz")])
    found = history.matches([*map(ord, "abc")])
    assert found == [Match(3, 3), Match(6, 2), Match(8, 1)]
    history.extend([1, *map(ord, "bd")])
    assert history.matches([*map(ord, "ab")])[0] == Match(11, 2)
    assert history.matches([ord("z")]) == [Match(9, 1)]


@pytest.mark.parametrize("name", ["breadth", "width"])
def test_sizes_below_one_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be at least 1"):
        tree(**{name: 0})


def test_policies_by_name() -> None:
    for name, branches, text in (("branches", True, False), ("text", False, True), ("tree", True, True)):
        policy = drafting_policy(name, vocabulary(), (), width=9)  # type: ignore[arg-type]
        assert isinstance(policy, Tree)
        assert (policy.options.branches, policy.options.text, policy.options.width) == (branches, text, 9)


def test_a_free_number_is_guessed_to_its_end() -> None:
    document: dict[str, JsonValue] = {
        "type": "object",
        "properties": {"size": {"type": "integer"}, "city": {"enum": ["Oslo", "Rome"]}},
        "required": ["size", "city"],
        "additionalProperties": False,
    }
    compiled, canonical = compile_spec(parse_document(document)), Canonical(vocabulary())
    session = Decoder(
        compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical
    ).session()
    session.commit(vocabulary().encode('{"size": 4'))
    assert any(path.startswith(', "city": "') for path in paths(tree(width=60).plan(session)))
