"""Drafts leave the odds of what is drawn alone: thousands of records against the probability of each.

The same numbers are drawn in each run, so a run says what the last one said.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from factorspec_server.drafting import Chain as Guessing
from factorspec_server.sglang.guess_gate import GuessGate
from factorspec_server.sglang.step_drafts import StepDrafts
from tests.server.engines.random_trees import RandomTrees
from tests.server.engines.toy_session import ToySession, highest_allowed
from tests.server.sglang.test_plain_step import modules
from tests.server.sglang.test_verify_step import (
    MOST,
    PROMPT,
    Served,
    logits_behind,
    run_ahead,
    run_to_the_end,
)
from tests.sglang.odds import limit, oddest

__all__ = ["modules"]

#: choices beside each other and behind each other, with certain runs between them
RECORDS = tuple((3, a, b, 4, 5, c) for a in (10, 20, 30) for b in (11, 21) for c in (12, 22, 32))
#: of each temperature so many requests are in a batch
TOGETHER, ROUNDS, TEMPERATURES = 8, 100, (0.1, 1.0)


def chances(
    temperature: float, written: tuple[int, ...] = (), chance: float = 1.0
) -> Iterator[tuple[str, float]]:
    """How likely each beginning of a record is."""
    allowed = ToySession(RECORDS)._next(written)
    logits = logits_behind(0, (*PROMPT, *written))[allowed]
    for token, share in zip(allowed, (logits / temperature).softmax(-1).tolist(), strict=True):
        text = (*written, token)
        yield str(text), chance * share
        yield from chances(temperature, text, chance * share)


class Drawing(Served):
    """Draws the tokens, at the temperature of each request."""

    temperatures = torch.tensor(TEMPERATURES * TOGETHER)[:, None]

    def batch(self) -> Any:
        """See ``Served``."""
        batch = super().batch()
        batch.sampling_info.temperatures = self.temperatures[self.running]
        return batch


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("goes_ahead", [False, True], ids=["", "ahead"])
@pytest.mark.parametrize("name", ["highest", "random"])
def test_records_are_drawn_by_their_probabilities(name: str, goes_ahead: bool) -> None:
    policies: dict[str, Any] = {
        "highest": lambda: Guessing(width=15, guesses=highest_allowed),
        "random": lambda: RandomTrees(3),
    }
    source, many_steps = torch.Generator().manual_seed(5), 0

    def sampler(output: Any, given: Any, *rest: Any) -> torch.Tensor:
        odds = (output.next_token_logits / given.temperatures).softmax(-1)
        drawn: torch.Tensor = odds.multinomial(1, generator=source).squeeze(1)
        return drawn

    counts: dict[float, Counter[str]] = {temperature: Counter() for temperature in TEMPERATURES}
    for number in range(ROUNDS):
        served = Drawing([ToySession(RECORDS) for _ in Drawing.temperatures], policies[name](), 500, seed=0)
        served.worker._model_runner.sampler = sampler
        served.worker._drafting = StepDrafts(GuessGate(guesses=True), MOST, clock=lambda: 0.0)
        if goes_ahead:
            run_ahead(served, random.Random(number))
        else:
            run_to_the_end(served)
        many_steps += served.model.many_steps
        for written, temperature in zip(served.output(), TEMPERATURES * TOGETHER, strict=True):
            record = tuple(written[:-1])
            counts[temperature].update(str(record[: size + 1]) for size in range(len(record)))
    assert many_steps > ROUNDS / 4
    for temperature, found in counts.items():
        known = {text: chance for text, chance in chances(temperature) if chance < 1.0 - 1e-9}
        assert len(known) > len(RECORDS)
        assert oddest(found, TOGETHER * ROUNDS, known)[0] < limit(2 * len(known))
