"""Trees of drafted tokens: verified losslessly, whatever was drafted, by every model that runs them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
import transformers

from factorspec_sdk.testing.scripted_model import ScriptedModel
from factorspec_server.drafting import DraftingPolicy, Off
from factorspec_server.engines import Completion, Model, Request, Sampling, load_model
from factorspec_server.engines.draft import Draft
from factorspec_server.engines.fed_tokens import FedTokens, passes
from factorspec_server.engines.runner import Runner, generate_batch, shared_out
from factorspec_server.engines.torch_model import TorchModel
from tests.server.engines.random_trees import RandomTrees
from tests.server.engines.test_load import CONFIGS, save
from tests.server.engines.toy_session import ToySession, random_alternatives

SAMPLINGS = (Sampling(), Sampling(temperature=0.9), Sampling(temperature=1.3, top_p=0.8, top_k=3))


def trees(seed: int, width: int = 24) -> DraftingPolicy:
    return cast("DraftingPolicy", RandomTrees(seed, width))


def toy(seed: int, policy: DraftingPolicy, sampling: Sampling, limit: int = 200) -> Request:
    seeded = Sampling(sampling.temperature, sampling.top_p, sampling.top_k, seed=seed)
    return Request(
        prompt_ids=(3, *((seed * at) % 64 for at in range(seed % 40))),
        token_limit=limit,
        session=ToySession(random_alternatives(seed)),
        sampling=seeded,
        drafting=policy,
    )


def run(model: Model, requests: Sequence[Request], **options: int) -> list[Completion]:
    runner = Runner(model, **options)
    rows = [runner.admit(request) for request in requests]
    while runner.num_rows:
        runner.step()
    completions = [row.completion for row in rows if row.completion is not None]
    assert [completion.error for completion in completions] == [None] * len(requests)
    return completions


@pytest.mark.parametrize("takes_trees", [True, False])
def test_output_is_token_identical_whatever_is_drafted(takes_trees: bool) -> None:
    saved = 0
    for seed in range(150):
        model = ScriptedModel(64, seed=seed, takes_trees=takes_trees)
        for sampling in SAMPLINGS:
            (reference,) = run(model, [toy(seed, Off(), sampling)])
            (drafted,) = run(model, [toy(seed, trees(seed), sampling)])
            assert drafted.token_ids == reference.token_ids
            usage = drafted.usage
            assert (usage.certain, usage.chosen) == (reference.usage.certain, reference.usage.chosen)
            assert usage.model_steps <= usage.choice_points
            saved += usage.choice_points - usage.model_steps
    assert saved > 100


def test_a_batch_of_trees_equals_single_runs_at_any_step_budget() -> None:
    model = ScriptedModel(64, seed=1)
    for sampling in SAMPLINGS:
        alone = [run(model, [toy(seed, Off(), sampling)])[0].token_ids for seed in range(30)]
        for step_tokens in (1, 7, 60, 1000):
            requests = [toy(seed, trees(seed), sampling) for seed in range(30)]
            together = run(model, requests, step_tokens=step_tokens)
            assert [completion.token_ids for completion in together] == alone


def test_the_token_limit_holds_in_a_tree() -> None:
    for seed in range(40):
        model = ScriptedModel(64, seed=seed)
        (whole,) = run(model, [toy(seed, Off(), SAMPLINGS[1])])
        for limit in range(1, len(whole.token_ids) + 2):
            (cut,) = run(model, [toy(seed, trees(seed), SAMPLINGS[1], limit)])
            assert cut.token_ids == whole.token_ids[:limit]
            assert cut.finish_reason == ("stop" if limit >= len(whole.token_ids) else "length")


def test_counts_of_drafts_add_up() -> None:
    for seed in range(60):
        model = ScriptedModel(64, seed=seed)
        (completion,) = run(model, [toy(seed, trees(seed), SAMPLINGS[1])])
        usage = completion.usage
        stood = sum(count.accepted for count in usage.drafts.values())
        assert all(count.accepted <= count.drafted for count in usage.drafts.values())
        assert usage.drafts["certain"].accepted == usage.certain
        guesses = [count for kind, count in usage.drafts.items() if kind != "certain"]
        assert usage.guessed == sum(count.drafted for count in guesses)
        assert usage.accepted == sum(count.accepted for count in guesses)
        assert usage.accepted <= usage.guessed
        # what stands was drafted, or drawn where nothing that was drafted was right
        assert usage.tokens - stood == usage.chosen - usage.accepted
        assert usage.prompt_tokens + usage.tokens_run == model.tokens_run
        assert usage.tokens_run - usage.in_vain <= usage.tokens
        assert usage.widest <= usage.tokens_run


def test_the_fed_tokens_of_a_tree_see_their_ancestors() -> None:
    parents = [-1, 0, 1, 1, 3, 0, -1, 6]
    fed = FedTokens.of([1], [9, 4], [[], list(range(8))], [None, parents])
    assert fed.ancestors is not None
    for node, parent in enumerate(parents):
        path = [node]
        while parent >= 0:
            path.append(parent)
            parent = parents[parent]
        assert sorted(np.flatnonzero(fed.ancestors[0, node])) == sorted(path)
        assert fed.depths[0, node] == len(path) - 1


def test_rows_are_run_apart_where_padding_would_cost_more() -> None:
    assert passes([1, 1, 0, 2], 32) == [[0, 1, 3]]
    assert passes([1, 500, 1, 2], 32) == [[1], [0, 2, 3]]
    assert passes([500, 490, 1, 480], 32) == [[0, 1, 3], [2]]
    assert passes([0, 0], 32) == []
    assert passes([1, 500, 1], 10_000) == [[0, 1, 2]]


def test_tokens_of_a_step_are_shared_so_that_small_wishes_are_met() -> None:
    assert shared_out([1, 1, 40, 3000], 512) == [1, 1, 40, 470]
    assert shared_out([3000, 3000, 5], 105) == [50, 50, 5]
    assert shared_out([7, 7, 7], 2) == [1, 1, 1]
    assert shared_out([], 512) == []


def test_what_nothing_hangs_on_does_not_run() -> None:
    session = ToySession(((1, 2, 3, 9), (1, 2, 4, 5, 6, 8, 8), (1, 2, 4, 5, 7)))
    policy = RandomTrees()
    for _ in range(50):
        plan = policy.plan(session)
        draft = Draft.of(plan, plan.num_certain, 100)
        leaves = set(draft.run) - {draft.parents[node] for node in draft.run}
        assert leaves <= {choice.node for choice in draft.choices}
        for size in range(len(draft.run) + 1):
            cut = draft.cut(size)
            assert len(cut.run) <= size
            assert {choice.node for choice in cut.choices} <= {*cut.run, -1}


@pytest.mark.parametrize("name", CONFIGS)
def test_architectures_run_trees_exactly(name: str, tmp_path: Path) -> None:
    model = load_model(save(tmp_path / name, CONFIGS[name]), device="cpu", num_threads=1)
    assert model.takes_trees
    sampling = Sampling(temperature=3.0)
    alone = [generate_batch(model, [toy(seed, Off(), sampling)])[0].token_ids for seed in range(8)]
    for step_tokens in (6, 1000):
        requests = [toy(seed, trees(seed, 40), sampling) for seed in range(8)]
        completions = run(model, requests, step_tokens=step_tokens)
        assert [completion.token_ids for completion in completions] == alone
    assert sum(completion.usage.accepted for completion in completions) > 0


def test_a_model_that_does_not_run_trees_is_given_chains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward = transformers.LlamaModel.forward

    def by_column(self: Any, *arguments: Any, position_ids: Any = None, **options: Any) -> Any:
        """Runs each token of a pass at the position of its column."""
        if position_ids is not None:
            position_ids = position_ids[:, :1] + torch.arange(position_ids.shape[1])
        return forward(self, *arguments, position_ids=position_ids, **options)

    monkeypatch.setattr(transformers.LlamaModel, "forward", by_column)
    with pytest.warns(RuntimeWarning, match="as chains"):
        model: TorchModel = load_model(
            save(tmp_path / "llama", CONFIGS["llama"]), device="cpu", num_threads=1
        )
    assert not model.takes_trees
    sampling = Sampling(temperature=3.0)
    for seed in range(6):
        (reference,) = run(model, [toy(seed, Off(), sampling)])
        (drafted,) = run(model, [toy(seed, trees(seed, 40), sampling)])
        assert drafted.token_ids == reference.token_ids
