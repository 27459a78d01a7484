"""The runner: batches equal single runs, errors and cancellations stay with their request."""

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from factorspec_sdk.testing.scripted_model import ScriptedBatch, ScriptedModel
from factorspec_server.drafting import Chain, Off
from factorspec_server.drafting.seam import GuessPolicy, Plan, Shape
from factorspec_server.engines import (
    Commit,
    ContextTooLong,
    ModelFailed,
    Request,
    Sampling,
    SessionStalled,
    generate_batch,
)
from factorspec_server.engines.sampling import choose
from tests.server.engines.toy_session import ToySession, highest_allowed, random_alternatives


def toy_request(seed: int, **options: object) -> Request:
    sampling = Sampling(temperature=0.8, seed=seed)
    session = ToySession(random_alternatives(seed))
    values = {"prompt_ids": tuple(range(1, 3 + seed % 5)), "token_limit": 200, "session": session, **options}
    return Request(sampling=sampling, **values)  # type: ignore[arg-type]


def test_a_batch_equals_single_runs() -> None:
    policies = (Off(), Chain(width=4), Chain(width=32, guesses=highest_allowed))
    model = ScriptedModel(64, seed=1)
    batch = [toy_request(seed, drafting=policies[seed % 3]) for seed in range(30)]
    single = [toy_request(seed, drafting=policies[seed % 3]) for seed in range(30)]
    together = generate_batch(model, batch)
    alone = [generate_batch(model, [request])[0] for request in single]
    assert [completion.token_ids for completion in together] == [completion.token_ids for completion in alone]


def test_noise_is_that_of_the_position_in_the_completion() -> None:
    model = ScriptedModel(64, scale=0.0)
    sampling = Sampling(temperature=1.0, seed=9)
    (completion,) = generate_batch(model, [Request(prompt_ids=(1, 2), token_limit=20, sampling=sampling)])
    ids = np.arange(64, dtype=np.int32)
    flat = np.zeros(64, dtype=np.float32)
    assert completion.token_ids == tuple(choose(flat, ids, sampling, position) for position in range(20))
    assert len(set(completion.token_ids)) > 5


class FailingSession(ToySession):
    """Raises at its third commit."""

    commits = 0

    def commit(self, token_ids: Sequence[int]) -> None:
        self.commits += 1
        if self.commits == 3:
            raise RuntimeError("broken on purpose")
        super().commit(token_ids)


class StalledSession(ToySession):
    """Plans nothing."""

    def plan(
        self,
        width: int | None = None,
        guesses: GuessPolicy | None = None,
        shape: Shape | None = None,
        *,
        until_s: float = inf,
    ) -> Plan:
        return Plan((), (), (), (), complete=False, kinds=())


def test_an_error_of_one_session_ends_that_request_alone() -> None:
    model = ScriptedModel(64, seed=1)
    good = [toy_request(seed, drafting=Off()) for seed in range(6)]
    bad = [
        toy_request(0, drafting=Off(), session=FailingSession(random_alternatives(3))),
        toy_request(0, session=StalledSession(random_alternatives(3))),
    ]
    completions = generate_batch(model, [*good[:3], *bad, *good[3:]])
    assert [completion.finish_reason for completion in completions] == ["stop"] * 3 + ["error"] * 2 + [
        "stop"
    ] * 3
    assert str(completions[3].error) == "broken on purpose"
    assert isinstance(completions[4].error, SessionStalled)
    alone = [generate_batch(model, [toy_request(seed, drafting=Off())])[0].token_ids for seed in range(6)]
    assert [completions[at].token_ids for at in (0, 1, 2, 5, 6, 7)] == alone


def test_commits_add_up_to_the_completion() -> None:
    commits: list[Commit] = []
    request = toy_request(7, on_commit=commits.append)
    (completion,) = generate_batch(ScriptedModel(64), [request])
    assert sum((commit.token_ids for commit in commits), ()) == completion.token_ids
    assert commits[-1].num_committed == len(completion.token_ids)


def test_a_cancelled_request_ends_at_its_next_step() -> None:
    request = Request(prompt_ids=(1,), token_limit=50, on_commit=lambda commit: cancel_after(commit, 3))

    def cancel_after(commit: Commit, limit: int) -> None:
        if commit.num_committed == limit:
            request.cancelled.set()

    other = toy_request(2)
    completions = generate_batch(ScriptedModel(64), [request, other])
    assert completions[0].finish_reason == "cancelled"
    assert len(completions[0].token_ids) == 3
    assert completions[1].finish_reason == "stop"


@pytest.mark.parametrize("limit", range(1, 12))
@pytest.mark.parametrize("policy", [Off(), Chain(width=8)], ids=["off", "chain"])
def test_the_token_limit_holds_for_every_policy(policy: Off | Chain, limit: int) -> None:
    whole = generate_batch(ScriptedModel(64), [toy_request(11, drafting=Off())])[0]
    (cut,) = generate_batch(ScriptedModel(64), [toy_request(11, drafting=policy, token_limit=limit)])
    assert cut.token_ids == whole.token_ids[:limit]
    assert cut.finish_reason == ("stop" if limit >= len(whole.token_ids) else "length")


def test_a_request_beyond_the_context_is_refused() -> None:
    completions = generate_batch(
        ScriptedModel(64, max_positions=50), [toy_request(1), toy_request(1, token_limit=40)]
    )
    assert isinstance(completions[0].error, ContextTooLong)
    assert completions[1].error is None


class BrokenBatch(ScriptedBatch):
    def extend(self, *arguments: Any) -> list[list[NDArray[np.float32]]]:
        raise MemoryError("no memory on purpose")


class BrokenModel(ScriptedModel):
    def open(self) -> ScriptedBatch:
        return BrokenBatch(self)


def test_an_error_of_the_model_reaches_all_that_needed_it() -> None:
    determined = Request(prompt_ids=(1,), token_limit=9, session=ToySession(((3, 4),)))
    completions = generate_batch(BrokenModel(64), [toy_request(1), determined, toy_request(2)])
    assert [completion.finish_reason for completion in completions] == ["error", "stop", "error"]
    assert isinstance(completions[0].error, ModelFailed)
    assert isinstance(completions[0].error.__cause__, MemoryError)
