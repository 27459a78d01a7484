"""P3 with the real session: specs over small vocabularies, every policy, greedy and sampled."""

import json
from collections.abc import Iterator

import pytest

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.errors import JsonValue, TokenLimitTooSmall
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.testing.scripted_model import ScriptedModel
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import parse_document
from factorspec_server.drafting import Certain, Chain, CostModel, DraftingPolicy, Off, Tree, TreeOptions
from factorspec_server.engines import Completion, Request, Sampling, generate_batch
from tests.decoding.brute import random_spec
from tests.server.engines.toy_session import highest_allowed

NUM_SPECS = 120
POLICIES: tuple[DraftingPolicy | TreeOptions, ...] = (
    Certain(),
    Chain(width=4),
    Chain(width=8, guesses=highest_allowed),
    Chain(width=32),
    TreeOptions(width=6),
    TreeOptions(width=40),
    TreeOptions(width=24, breadth=1),
    TreeOptions(width=24, cost=CostModel(((1, 1.0), (16, 1.2), (64, 5.0))).step_s),
)
PROMPT = "Go to Oslo or Rome, not São Paulo, for 12 days"


def decoders(family: str) -> Iterator[tuple[int, Decoder]]:
    canonical = Canonical(vocabulary_like(family))
    made = 0
    seed = 0
    while made < NUM_SPECS:
        seed += 1
        spec = random_spec(seed, 120, seed % 2 == 0)
        if spec is not None:
            made += 1
            program, feasibility = spec
            yield seed, Decoder(program, feasibility, canonical.vocabulary, canonical=canonical)


def run(
    decoder: Decoder,
    seed: int,
    sampling: Sampling,
    policy: DraftingPolicy | TreeOptions,
    limit: int = 400,
) -> Completion:
    vocabulary = decoder.vocabulary
    session = decoder.session(limit)
    prompt_ids = vocabulary.encode(PROMPT)
    if isinstance(policy, TreeOptions):
        policy = Tree(policy, vocabulary, prompt_ids)
    request = Request(
        prompt_ids=prompt_ids,
        token_limit=limit,
        session=session,
        sampling=sampling,
        drafting=policy,
    )
    (completion,) = generate_batch(ScriptedModel(vocabulary.logit_width, seed=seed), [request])
    assert completion.error is None
    assert completion.finish_reason == "stop"
    assert completion.token_ids == session.tokens
    return completion


@pytest.mark.parametrize("family", ["tricky", "smollm2", "sentencepiece"])
def test_output_is_token_identical_under_every_policy(family: str) -> None:
    for seed, decoder in decoders(family):
        for sampling in (Sampling(), Sampling(temperature=1.1, seed=seed)):
            reference = run(decoder, seed, sampling, Off())
            assert reference.usage.model_steps == reference.usage.tokens
            vocabulary = decoder.vocabulary
            assert reference.token_ids == vocabulary.encode(vocabulary.decode(reference.token_ids))
            for policy in POLICIES:
                drafted = run(decoder, seed, sampling, policy)
                assert drafted.token_ids == reference.token_ids
                assert drafted.usage.model_steps <= drafted.usage.choice_points
                assert drafted.usage.certain == reference.usage.certain


def shortest(decoder: Decoder) -> int:
    with pytest.raises(TokenLimitTooSmall) as caught:
        decoder.session(0)
    assert caught.value.shortest is not None
    return caught.value.shortest


@pytest.mark.parametrize("above", [0, 1, 4])
def test_output_is_token_identical_near_the_token_limit(above: int) -> None:
    for seed, decoder in decoders("tricky"):
        limit = shortest(decoder) + above
        sampling = Sampling(temperature=1.1, seed=seed)
        reference = run(decoder, seed, sampling, Off(), limit)
        assert len(reference.token_ids) <= limit
        for policy in POLICIES:
            assert run(decoder, seed, sampling, policy, limit).token_ids == reference.token_ids


NOTED: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "from": {"enum": ["Oslo", "São Paulo", "Rome"]},
        "note": {"type": "string", "maxLength": 12},
        "to": {"enum": ["Oslo", "São Paulo", "Rome"]},
        "why": {"type": "string", "maxLength": 6},
        "days": {"type": "integer", "minimum": 1, "maximum": 30},
    },
    "required": ["from", "note", "to", "why", "days"],
    "additionalProperties": False,
    "x-factorspec": {
        "version": 1,
        "order": ["from", "note", "to", "why", "days"],
        "relations": [{"name": "away", "kind": "all_different", "over": ["$.from", "$.to"]}],
    },
}


def test_output_is_token_identical_with_free_text_between_related_fields() -> None:
    compiled = compile_spec(parse_document(NOTED))
    canonical = Canonical(vocabulary_like("smollm2"))
    decoder = Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)
    for seed in range(20):
        sampling = Sampling(temperature=1.0, seed=seed)
        reference = run(decoder, seed, sampling, Off(), 120)
        record = json.loads(canonical.vocabulary.decode(reference.token_ids))
        assert record["from"] != record["to"]
        assert reference.usage.free > 0
        for policy in POLICIES:
            assert run(decoder, seed, sampling, policy, 120).token_ids == reference.token_ids
