"""Records of real sessions, guessed by each policy in chains: what token by token decoding writes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import get_args

import pytest

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import parse_document
from factorspec_server.drafting import DraftingSpec, PolicyName
from factorspec_server.engines.remembering import remember
from factorspec_server.sglang.plan_source import LocalPlans
from factorspec_server.sglang.policies import Policies
from tests.decoding.brute import random_spec
from tests.server.sglang.steps import END, ROW_WORDS, Decoded, by_token_of, step

PROMPT = "Go to Oslo or Rome, not São Paulo, for 12 days"
NOTE = {
    "type": "object",
    "properties": {"note": {"type": "string", "maxLength": 12}, "city": {"enum": ["Oslo", "Rome", "Lima"]}},
    "required": ["note", "city"],
    "additionalProperties": False,
}


def decoders(family: str, count: int) -> Iterator[Decoder]:
    canonical = Canonical(vocabulary_like(family))
    assert canonical.vocabulary.logit_width <= 32 * ROW_WORDS
    assert canonical.vocabulary.logit_width <= END
    compiled = compile_spec(parse_document(NOTE))
    yield Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)
    for seed in range(count):
        spec = random_spec(seed, 120, seed % 2 == 0)
        if spec is not None:
            yield Decoder(*spec, canonical.vocabulary, canonical=canonical)


@pytest.mark.parametrize("name", get_args(PolicyName))
def test_chains_of_every_policy_write_what_token_by_token_decoding_writes(name: PolicyName) -> None:
    source = random.Random(3)
    guessed = 0
    for seed, decoder in enumerate(decoders("tricky", 20)):
        spec = DraftingSpec(name=name, width=31, breadth=1, places=source.choice((1, 3, 7)), patience_s=None)
        words = (decoder.vocabulary.logit_width + 31) // 32
        plans, prompt = LocalPlans(words, Policies.of_spec(spec)), decoder.vocabulary.encode(PROMPT)
        requests = [Decoded(decoder.session(400), seed * 3 + at) for at in range(3)]
        while left := [one for one in requests if not one.is_done]:
            width = source.choice((None, 33))
            chains = step(left, plans, most=32, width=width, prompt=prompt, guesses=source.random() < 0.9)
            guessed += sum(not chain.is_certain for chain in chains)
        for one in requests:
            assert one.tokens == by_token_of(decoder.session(400), one.seed), (seed, name)
    assert (guessed > 0) == spec.guesses


@pytest.mark.parametrize("name", ["branches", "text", "tree"])
def test_what_earlier_records_wrote_changes_steps_and_nothing_else(name: PolicyName) -> None:
    steps: dict[int, int] = {}
    for seed, decoder in enumerate(decoders("tricky", 20)):
        spec = DraftingSpec(name=name, width=31, breadth=1, places=7, patience_s=None)
        words = (decoder.vocabulary.logit_width + 31) // 32
        plans, prompt = LocalPlans(words, Policies.of_spec(spec)), decoder.vocabulary.encode(PROMPT)
        for time in range(3):
            requests = [Decoded(decoder.session(400), seed * 3 + at) for at in range(3)]
            while left := [one for one in requests if not one.is_done]:
                step(left, plans, most=32, width=None, prompt=prompt)
            for one in requests:
                assert one.tokens == by_token_of(decoder.session(400), one.seed), (seed, name, time)
                steps[time] = steps.get(time, 0) + one.steps
                remember(one.session)
    assert steps[2] < steps[0]


@pytest.mark.parametrize("name", get_args(PolicyName))
def test_while_guesses_rest_nothing_is_guessed(name: PolicyName) -> None:
    spec = DraftingSpec(name=name, breadth=1).resting
    for decoder in decoders("tricky", 5):
        session = decoder.session()
        policy = spec.policy(decoder.vocabulary, decoder.vocabulary.encode(PROMPT))
        while session.state == "open":
            plan = policy.plan(session)
            assert all(plan.certain)
            session.commit(plan.tokens)
            if plan.choices:
                session.commit([int(plan.choices[0].allowed.ids()[0])])
