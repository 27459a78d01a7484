"""What the gate of guesses learns of a step."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import torch

from factorspec_server.drafting import CostModel
from factorspec_server.sglang.chains import ONE_TOKEN
from factorspec_server.sglang.guess_gate import GuessGate
from factorspec_server.sglang.shapes import ManyRows, Shapes
from factorspec_server.sglang.step_drafts import StepDrafts


class Clock:
    """Seconds, and how many of them certain plans were waited for."""

    def __init__(self, certain_s: float, guesses_s: float) -> None:
        self.now_s = self.waited_for_certain_s = 0.0
        self._certain_s, self._guesses_s = certain_s, guesses_s

    def of(self, requests: list[Any], rooms: list[int], *, guesses: bool, branches: bool) -> list[Any]:
        self.waited_for_certain_s += self._certain_s
        self.now_s += self._certain_s + self._guesses_s
        return [ONE_TOKEN] * len(requests)


def test_the_wait_for_certain_plans_is_not_one_for_guesses() -> None:
    learnt: list[float] = []
    gate = GuessGate(guesses=True)
    gate.learn = lambda *given, **more: learnt.append(given[3])  # type: ignore[method-assign]
    chains = Clock(0.25, 0.5)
    drafts = StepDrafts(gate, 8, lambda: chains.now_s)
    sampling = SimpleNamespace(max_new_tokens=9, stop_strs=(), stop_regex_strs=(), stop_token_ids=())
    request = SimpleNamespace(grammar=None, sampling_params=sampling)
    batch = SimpleNamespace(
        reqs=[request],
        seq_lens_cpu=torch.tensor([1]),
        return_logprob=False,
        sampling_info=SimpleNamespace(
            penalizer_orchestrator=None, has_custom_logit_processor=False, return_sampling_masks=None
        ),
    )
    cost = CostModel(((1, 1.0), (64, 2.0)))
    many = ManyRows(most=9, uniform=cost, requests={}, tiers=(), ragged=None)
    shapes = Shapes(widths=(1, 8), uniform=cost, many=many)
    for _ in range(3):
        drafts.of(cast(Any, chains), batch, shapes)
    assert learnt == [0.5] * 3
