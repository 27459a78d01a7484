"""Records that come again are drafted from what earlier ones wrote; what never comes again is let be."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest

from factorspec_sdk.decoding import Decoder, Earlier, Plan, Session
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.testing.scripted_model import ScriptedModel
from factorspec_sdk.tokens import Allowed, Canonical
from factorspec_sdk.wire import parse_document
from factorspec_server.drafting import DraftingSpec, Guess, Off, Tree, TreeOptions, drafting_policy
from factorspec_server.drafting.earlier_guesses import EarlierGuesses, mixed
from factorspec_server.engines import Request, Sampling, generate_batch
from factorspec_server.engines.remembering import earlier_of, remember
from tests.decoding.brute import random_spec

CALL: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 60},
        "unit": {"enum": ["celsius", "kelvin", "fahrenheit"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 90},
        "to": {"enum": ["Oslo", "Rome", "Lima"]},
        "from": {"enum": ["Oslo", "Rome", "Lima"]},
    },
    "required": ["city", "unit", "days", "to", "from"],
    "additionalProperties": False,
    "x-factorspec": {
        "version": 1,
        "relations": [{"name": "away", "kind": "all_different", "over": ["$.from", "$.to"]}],
    },
}
POLICIES = (
    TreeOptions(width=6),
    TreeOptions(width=40),
    TreeOptions(width=24, breadth=1, places=3),
    TreeOptions(width=30, text=False),
    TreeOptions(width=30, branches=False),
)
PROMPT = "How warm will it be?"


def decoder_of(document: dict[str, JsonValue], family: str = "gpt2") -> Decoder:
    compiled, canonical = compile_spec(parse_document(document)), Canonical(vocabulary_like(family))
    return Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)


def tokens_of(decoder: Decoder, **changes: JsonValue) -> tuple[int, ...]:
    record = {
        "city": "San Lorenzo de El Escorial",
        "unit": "kelvin",
        "days": 12,
        "to": "Rome",
        "from": "Lima",
    }
    return decoder.vocabulary.encode(json.dumps(record | changes))


def written(decoder: Decoder, tokens: Sequence[int], tree: Tree) -> list[Plan]:
    """The plans along a record, which is remembered at its end."""
    session, plans = decoder.session(), list[Plan]()
    while session.state == "open":
        plan = tree.plan(session)
        plans.append(plan)
        rest, node = tokens[session.num_tokens :], -1
        for token in rest:
            behind = [at for at, parent in enumerate(plan.parents) if parent == node]
            node = next((at for at in behind if plan.tokens[at] == token), -2)
            assert session.commit((token,)) == 1
            if node < 0:
                break
    remember(session)
    return plans


def tree_of(decoder: Decoder, earlier: Earlier | None, **options: Any) -> Tree:
    return Tree(TreeOptions(**options), decoder.vocabulary, decoder.vocabulary.encode(PROMPT), earlier)


def kinds_of(plans: Sequence[Plan]) -> Counter[str]:
    return Counter(kind for plan in plans for kind in plan.kinds)


def test_a_record_that_comes_again_takes_few_steps() -> None:
    decoder = decoder_of(CALL)
    tokens = tokens_of(decoder)
    first = written(decoder, tokens, tree_of(decoder, decoder.earlier, width=60))
    again = written(decoder, tokens, tree_of(decoder, decoder.earlier, width=60))
    later = [written(decoder, tokens, tree_of(decoder, decoder.earlier, width=120)) for _ in range(6)]
    assert len(first) > 2 * len(again)
    assert len(later[-1]) == 1
    assert kinds_of(first)["earlier"] == 0
    assert kinds_of(again)["earlier"] > 10
    assert later[-1][0].ends


def test_a_chain_of_few_guesses_follows_the_record_too() -> None:
    decoder = decoder_of(CALL)
    tokens = tokens_of(decoder)
    first = written(decoder, tokens, tree_of(decoder, decoder.earlier, width=60, breadth=1, places=7))
    again = written(decoder, tokens, tree_of(decoder, decoder.earlier, width=60, breadth=1, places=7))
    assert len(again) <= len(first) // 2
    for plan in again:
        assert sum(not sure for sure in plan.certain) <= 7
        assert all(len(choice.children) <= 1 for choice in plan.choices)


def test_where_a_record_differs_the_rest_is_found_again() -> None:
    decoder = decoder_of(CALL)
    for city in ("Oslo", "Rome", "Lima"):
        written(decoder, tokens_of(decoder, city=city), tree_of(decoder, decoder.earlier, width=60))
    tokens = tokens_of(decoder, city="Vancouver")
    with_memory = written(decoder, tokens, tree_of(decoder, decoder.earlier, width=60))
    without = written(decoder, tokens, tree_of(decoder, None, width=60))
    assert len(with_memory) < len(without)


def test_what_relations_forbid_is_not_guessed() -> None:
    decoder = decoder_of(CALL)
    decoder.earlier.remember(tokens_of(decoder))
    tokens = tokens_of(decoder, to="Lima", **{"from": "Rome"})
    session = decoder.session()
    tree = tree_of(decoder, decoder.earlier, width=60)
    for token in tokens:
        if session.state == "open":
            plan = tree.plan(session)
            for choice in plan.choices:
                assert all(plan.tokens[child] in choice.allowed for child in choice.children)
            session.commit((token,))


def test_a_record_that_is_not_complete_is_not_remembered() -> None:
    decoder = decoder_of(CALL)
    session = decoder.session()
    tokens = tokens_of(decoder)
    session.commit(tokens[:-1])
    remember(session)
    assert len(decoder.earlier) == 0
    session.commit((tokens[0],))
    assert session.state == "refused"
    remember(session)
    assert len(decoder.earlier) == 0
    session.rollback(0)
    session.commit(tokens[-1:])
    remember(session)
    assert len(decoder.earlier) == 1
    assert earlier_of(session) is decoder.earlier


def test_what_is_remembered_counts_as_the_spec_s() -> None:
    decoder = decoder_of(CALL)
    before = decoder.num_bytes
    decoder.earlier.remember(tokens_of(decoder))
    assert decoder.num_bytes - before == decoder.earlier.num_bytes - Earlier().num_bytes > 0


class Place:
    """A position at which all may come, seen by itself."""

    allowed = Allowed.of(range(1000))
    free, note, chance = True, None, 1.0

    def __init__(self, tokens: Sequence[int]) -> None:
        self._tokens = [*tokens]

    def tokens(self) -> Sequence[int]:
        return self._tokens

    def run(self, token: int) -> Sequence[int] | None:
        return None


def test_specs_whose_records_never_repeat_stop_proposing_until_they_do() -> None:
    earlier = Earlier()

    def proposes(record: Sequence[int]) -> bool:
        guesses = EarlierGuesses(earlier, None)
        found = [guesses.guesses(Place(record[:at])) for at in range(3, len(record), 4)]
        guesses.learn(record)
        earlier.remember(record)
        return any(found)

    def record(number: int) -> list[int]:
        return [token for at in range(5) for token in (1, 2, 3, 10 + (7 * number + 3 * at) % 900)]

    told = [proposes(record(number)) for number in range(60)]
    assert told[0] is False  # nothing was written yet
    assert all(told[1:4])
    assert not any(told[-20:])
    assert any(proposes(record(1)) for _ in range(40))


def test_memories_of_specs_are_their_own() -> None:
    one, other = decoder_of(CALL), decoder_of(CALL)
    one.earlier.remember(tokens_of(one))
    plans = written(other, tokens_of(other), tree_of(other, other.earlier, width=60))
    assert kinds_of(plans)["earlier"] == 0


def test_a_spec_says_whether_records_are_remembered() -> None:
    decoder = decoder_of(CALL)
    decoder.earlier.remember(tokens_of(decoder))
    for name, earlier, expected in (
        ("tree", True, True),
        ("tree", False, False),
        ("chain", True, False),
        ("off", True, False),
    ):
        spec = DraftingSpec(name=name, width=60, earlier=earlier, patience_s=None)  # type: ignore[arg-type]
        assert spec.remembers is expected
        plan = spec.policy(decoder.vocabulary, (), decoder.earlier).plan(decoder.session())
        assert ("earlier" in plan.kinds) is expected
    assert drafting_policy("tree", decoder.vocabulary, ()).plan(decoder.session()).kinds


def test_mixed_guesses_are_at_most_certain_and_each_token_comes_once() -> None:
    told = [Guess(1, 0.5, "earlier"), Guess(2, 0.25, "earlier")]
    others = [Guess(2, 0.8), Guess(3, 0.2), Guess(3, 0.1, "text")]
    assert mixed(told, others) == [
        Guess(1, 0.5, "earlier"),
        Guess(2, 0.25 + 0.25 * 0.8, "earlier"),
        Guess(3, 0.25 * 0.2),
    ]


def decoders(family: str, count: int) -> Iterator[tuple[int, Decoder]]:
    canonical = Canonical(vocabulary_like(family))
    for seed in range(1, 3 * count):
        spec = random_spec(seed, 120, seed % 2 == 0)
        if spec is not None:
            yield seed, Decoder(*spec, canonical.vocabulary, canonical=canonical)


def run(decoder: Decoder, seed: int, sampling: Sampling, policy: Tree | Off, limit: int) -> Session:
    session = decoder.session(limit)
    prompt = decoder.vocabulary.encode(PROMPT)
    request = Request(
        prompt_ids=prompt, token_limit=limit, session=session, sampling=sampling, drafting=policy
    )
    (completion,) = generate_batch(ScriptedModel(decoder.vocabulary.logit_width, seed=seed), [request])
    assert completion.error is None
    return session


@pytest.mark.parametrize("family", ["tricky", "smollm2", "sentencepiece"])
def test_output_is_token_identical_whatever_is_remembered(family: str) -> None:
    num_guessed = 0
    for seed, decoder in decoders(family, 12):
        for sampling in (Sampling(), Sampling(temperature=1.1, seed=seed), Sampling(temperature=1.1, seed=9)):
            reference = run(decoder, seed, sampling, Off(), 400).tokens
            for options in POLICIES:
                tree = Tree(options, decoder.vocabulary, decoder.vocabulary.encode(PROMPT), decoder.earlier)
                session = run(decoder, seed, sampling, tree, 400)
                assert session.tokens == reference
                remember(session)
                num_guessed += len(decoder.earlier)
    assert num_guessed


def test_guessing_is_the_same_for_the_same_history() -> None:
    def history() -> list[list[Plan]]:
        decoder, source = decoder_of(CALL), Random(3)
        cities = ["Oslo", "Rome is warm", "Lima", "Rome is cold"]
        return [
            written(
                decoder,
                tokens_of(decoder, city=source.choice(cities), days=source.randint(1, 4)),
                tree_of(decoder, decoder.earlier, width=40),
            )
            for _ in range(30)
        ]

    assert history() == history()


def test_records_that_are_open_when_all_is_forgotten_go_on() -> None:
    decoder = decoder_of(CALL)
    tokens = tokens_of(decoder)
    decoder.earlier.remember(tokens)
    session, tree = decoder.session(), tree_of(decoder, decoder.earlier, width=6)
    for token in tokens:
        assert session.state == "open"
        tree.plan(session)
        if session.num_tokens == 9:
            decoder.earlier.forget()
        session.commit((token,))
    assert session.state == "complete"
