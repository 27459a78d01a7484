"""Penalties and biases: what the formula says, one token after the other, and the same however one drafts."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from factorspec_sdk.testing.scripted_model import ScriptedModel
from factorspec_server.drafting import Certain, Chain, DraftingPolicy, Off
from factorspec_server.engines import Request, Sampling, generate_batch
from factorspec_server.engines.penalties import Penalties, penalties_of
from factorspec_server.engines.sampling import choose, gumbel_reference
from tests.server.engines.random_trees import RandomTrees
from tests.server.engines.toy_session import ToySession

WIDTH = 24
PROMPT = (3, 5, 5)
ALL = np.arange(WIDTH, dtype=np.int32)
SAMPLINGS = (
    Sampling(frequency_penalty=1.5),
    Sampling(temperature=1.0, seed=2, presence_penalty=-1.25),
    Sampling(temperature=0.7, seed=3, repetition_penalty=1.6),
    Sampling(temperature=1.3, seed=4, logit_bias=((7, 5.0), (3, -100.0))),
    Sampling(temperature=1.0, seed=5, min_p=0.2),
    Sampling(
        temperature=0.9,
        seed=6,
        top_k=9,
        top_p=0.95,
        min_p=0.01,
        frequency_penalty=0.4,
        presence_penalty=0.3,
        repetition_penalty=0.8,
        logit_bias=((1, -2.5),),
    ),
)


class Shifted(ScriptedModel):
    """Logits on both sides of zero, as a repetition penalty tells them apart."""

    def logits(self, context: int, token_ids: NDArray[np.int32] | None) -> NDArray[np.float32]:
        return super().logits(context, token_ids) - np.float32(3)


def in_plain(logit: float, token: int, before: Sequence[int], sampling: Sampling) -> float:
    """One token's logit, from the formula."""
    count = list(before).count(token)
    if count or token in PROMPT:
        logit = logit / sampling.repetition_penalty if logit > 0 else logit * sampling.repetition_penalty
    logit -= sampling.frequency_penalty * count
    logit -= sampling.presence_penalty if count else 0
    return logit + dict(sampling.logit_bias).get(token, 0.0)


def drawn(logits: NDArray[np.float32], before: Sequence[int], sampling: Sampling) -> int:
    """The token that stands behind ``before``, all in plain Python."""
    scores = {token: in_plain(float(logits[token]), token, before, sampling) for token in range(WIDTH)}
    if sampling.temperature == 0:
        return max(scores, key=lambda token: (scores[token], -token))
    scores = {token: score / sampling.temperature for token, score in scores.items()}
    order = sorted(scores, key=lambda token: (-scores[token], token))[: sampling.top_k]
    floor = scores[order[0]] + (log(sampling.min_p) if sampling.min_p else -inf)
    weights = {token: np.exp(scores[token] - scores[order[0]]) for token in order if scores[token] >= floor}
    kept, share = [], 0.0
    for token, weight in weights.items():
        if share < sampling.top_p * sum(weights.values()):
            kept.append(token)
        share += weight
    return max(kept, key=lambda t: scores[t] + gumbel_reference(sampling.seed, len(before), t))


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
def test_a_completion_equals_the_plain_loop(sampling: Sampling) -> None:
    model = Shifted(WIDTH, seed=8, scale=6.0)
    (completion,) = generate_batch(model, [Request(prompt_ids=PROMPT, token_limit=60, sampling=sampling)])
    batch = model.open()
    batch.join()
    ((logits,),) = batch.extend([PROMPT], [[(len(PROMPT) - 1, None)]])
    batch.accept(0, range(len(PROMPT)))
    wanted: list[int] = []
    while len(wanted) < 60:
        wanted.append(drawn(logits, wanted, sampling))
        ((logits,),) = batch.extend([[wanted[-1]]], [[(0, None)]])
        batch.accept(0, (0,))
    assert len(set(wanted)) > 3
    assert list(completion.token_ids) == wanted


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
def test_every_drafting_gives_the_same_tokens(sampling: Sampling) -> None:
    draw = Random(1)
    words = [tuple(draw.choices(range(WIDTH), k=6)) for _ in range(12)]
    records = [(*left, *right) for left in words for right in words]
    policies: list[DraftingPolicy] = [Off(), Certain(), Chain(), RandomTrees(3), RandomTrees(9)]
    found = set()
    for policy in policies:
        request = Request(
            prompt_ids=PROMPT,
            token_limit=40,
            session=ToySession(tuple(records)),
            sampling=sampling,
            drafting=policy,
        )
        (completion,) = generate_batch(Shifted(WIDTH, seed=4, scale=6.0), [request])
        assert completion.finish_reason == "stop"
        found.add(completion.token_ids)
    assert len(found) == 1


def test_certain_tokens_count_and_tokens_before_do_too() -> None:
    sampling = Sampling(frequency_penalty=1.0)
    penalties = Penalties(sampling, PROMPT, WIDTH)
    penalties.add([4, 4])
    found = penalties.logits(
        np.zeros(3, dtype=np.float32), np.array([4, 6, 7], dtype=np.int32), before=[6, 4]
    )
    assert found.tolist() == [-3.0, -1.0, 0.0]
    again = penalties.logits(np.zeros(3, dtype=np.float32), np.array([4, 6, 7], dtype=np.int32))
    assert again.tolist() == [-2.0, 0.0, 0.0]


def test_a_request_without_penalties_has_none() -> None:
    assert penalties_of(Sampling(temperature=1.0, top_p=0.5, min_p=0.1), PROMPT, WIDTH) is None


def test_min_p_is_a_share_of_the_likeliest() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.2], dtype=np.float32))
    for min_p, kept in ((0.39, {0, 1, 2}), (0.41, {0, 1}), (0.61, {0}), (1.0, {0})):
        sampling = Sampling(temperature=1.0, min_p=min_p)
        assert {choose(logits, ALL[:3], sampling, at) for at in range(200)} == kept


@pytest.mark.parametrize(
    "wrong",
    [
        {"min_p": -0.1},
        {"min_p": 1.1},
        {"min_p": float("nan")},
        {"frequency_penalty": float("inf")},
        {"presence_penalty": float("nan")},
        {"repetition_penalty": 0.0},
        {"logit_bias": ((1, float("nan")),)},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Sampling(**wrong)  # type: ignore[arg-type]
