"""P3: drafting changes speed, never output, here with logits that depend on every token of the context."""

from dataclasses import dataclass
from itertools import product

import pytest

from factorspec_sdk.testing import byte_vocabulary
from factorspec_sdk.testing.scripted_model import ScriptedModel
from factorspec_sdk.tokens import Vocabulary
from factorspec_server.drafting import (
    Certain,
    Chain,
    CostModel,
    DraftingPolicy,
    Off,
    Tree,
    TreeOptions,
    lowest_allowed,
)
from factorspec_server.drafting.seam import GuessPolicy
from factorspec_server.engines import Completion, Request, Sampling, generate_batch
from tests.server.engines.toy_session import ToySession, highest_allowed, random_alternatives

SEEDS = range(120)
GUESSES: tuple[GuessPolicy, ...] = (lowest_allowed, highest_allowed)
SAMPLINGS = (Sampling(), Sampling(temperature=0.9), Sampling(temperature=1.3, top_p=0.8, top_k=3))
PROMPT = (5, 9)


@dataclass(frozen=True)
class FreshTree:
    """A tree of its own for each request."""

    options: TreeOptions
    vocabulary: Vocabulary = byte_vocabulary()

    def __call__(self) -> DraftingPolicy:
        return Tree(self.options, self.vocabulary, PROMPT)


POLICIES: tuple[DraftingPolicy | FreshTree, ...] = (
    Certain(),
    *(Chain(width=width, guesses=guesses) for width, guesses in product((4, 8, 32), GUESSES)),
    *(FreshTree(TreeOptions(width=width)) for width in (2, 8, 32, None)),
    FreshTree(TreeOptions(width=16, breadth=1)),
    FreshTree(TreeOptions(width=32, cost=CostModel(((1, 1.0), (8, 1.1), (64, 6.0))).for_batch(2))),
)


def name(policy: DraftingPolicy | FreshTree) -> str:
    if isinstance(policy, Chain):
        return f"chain {policy.width} {getattr(policy.guesses, '__name__', '?')}"
    if isinstance(policy, FreshTree):
        return f"tree {policy.options.width} {policy.options.breadth} {policy.options.cost is not None}"
    return type(policy).__name__


def run(seed: int, sampling: Sampling, given: DraftingPolicy | FreshTree) -> Completion:
    policy = given() if isinstance(given, FreshTree) else given
    model = ScriptedModel(64, seed=seed)
    session = ToySession(random_alternatives(seed))
    request = Request(
        prompt_ids=(seed % 64, *PROMPT), token_limit=200, session=session, sampling=sampling, drafting=policy
    )
    (completion,) = generate_batch(model, [request])
    assert completion.error is None
    assert completion.finish_reason == "stop"
    assert completion.token_ids == session.written
    assert completion.usage.model_steps == model.forward_passes
    return completion


@pytest.mark.parametrize("policy", POLICIES, ids=name)
def test_output_is_token_identical_under_every_policy(policy: DraftingPolicy | FreshTree) -> None:
    for seed in SEEDS:
        for sampling in SAMPLINGS:
            seeded = Sampling(sampling.temperature, sampling.top_p, sampling.top_k, seed=seed)
            assert run(seed, seeded, policy).token_ids == run(seed, seeded, Off()).token_ids


def test_undrafted_decoding_takes_a_step_for_each_token() -> None:
    for seed in SEEDS:
        usage = run(seed, Sampling(), Off()).usage
        assert usage.model_steps == usage.tokens == usage.certain + usage.chosen
        assert usage.chosen == usage.choice_points


@pytest.mark.parametrize("policy", POLICIES, ids=name)
def test_steps_never_exceed_choice_points(policy: DraftingPolicy | FreshTree) -> None:
    for seed in SEEDS:
        usage = run(seed, Sampling(), policy).usage
        assert usage.model_steps <= usage.choice_points
        assert usage.tokens == usage.certain + usage.chosen
        assert usage.accepted <= usage.guessed


def test_counts_do_not_depend_on_the_policy() -> None:
    for seed in SEEDS:
        counts = {
            (usage.tokens, usage.certain, usage.chosen, usage.choice_points)
            for usage in (run(seed, Sampling(), policy).usage for policy in (Off(), *POLICIES))
        }
        assert len(counts) == 1


def test_accepted_guesses_save_steps() -> None:
    certain = sum(run(seed, Sampling(), Certain()).usage.model_steps for seed in SEEDS)
    chain = sum(run(seed, Sampling(), Chain(width=32)).usage.model_steps for seed in SEEDS)
    assert chain < 0.9 * certain
    tree = sum(run(seed, Sampling(), FreshTree(TreeOptions(width=32))).usage.model_steps for seed in SEEDS)
    assert tree < 0.9 * chain


def test_a_determined_record_needs_no_model() -> None:
    model = ScriptedModel(64)
    request = Request(prompt_ids=(1,), token_limit=9, session=ToySession(((3, 4, 5, 0),)))
    (completion,) = generate_batch(model, [request])
    assert completion.token_ids == (3, 4, 5, 0)
    assert completion.finish_reason == "stop"
    assert completion.usage.model_steps == model.forward_passes == 0


def test_a_width_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Chain(width=0)
