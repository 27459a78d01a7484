"""Requests that come and go at any step, share beginnings, draft anything, are cancelled or fail: each one's
tokens are what it writes alone.
"""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from factorspec_sdk.testing.scripted_model import ScriptedModel
from factorspec_server.drafting import Certain, Chain, DraftingPolicy, Off
from factorspec_server.engines import Request, Sampling, load_model
from factorspec_server.engines.row import Row
from factorspec_server.engines.runner import Runner
from factorspec_server.engines.seam import Model
from tests.server.engines.random_trees import RandomTrees
from tests.server.engines.test_load import CONFIGS, save
from tests.server.engines.toy_session import ToySession, highest_allowed, random_alternatives


class FailingSession(ToySession):
    """Raises once it has written eight tokens."""

    def commit(self, token_ids: Any) -> None:
        super().commit(token_ids)
        if len(self.written) >= 8:
            raise RuntimeError("broken on purpose")


@dataclass(frozen=True)
class Wish:
    """A request that can be made again."""

    seed: int
    prompt: tuple[int, ...]
    is_chat: bool
    fails: bool

    def request(self, policy: DraftingPolicy) -> Request:
        alternatives = random_alternatives(self.seed)
        session = FailingSession(alternatives) if self.fails else ToySession(alternatives)
        return Request(
            prompt_ids=self.prompt,
            token_limit=25 if self.is_chat else 90,
            session=None if self.is_chat else session,
            sampling=Sampling(temperature=1.0, seed=self.seed),
            drafting=Certain() if self.is_chat else policy,
        )


def wish(source: random.Random, heads: list[tuple[int, ...]]) -> Wish:
    head = source.choice(heads)
    prompt = (*head[: source.randint(1, len(head))], *source.choices(range(64), k=source.randrange(4)))
    return Wish(source.randrange(1000), prompt, source.random() < 0.2, source.random() < 0.1)


def policy(source: random.Random) -> DraftingPolicy:
    drawn: tuple[DraftingPolicy, ...] = (
        Off(),
        Certain(),
        Chain(width=source.randint(1, 20), guesses=highest_allowed),
        RandomTrees(source.randrange(1000)),
    )
    return source.choice(drawn)


def alone(model: Model, wanted: Wish) -> tuple[int, ...]:
    runner = Runner(model, prefix_bytes=0)
    row = runner.admit(wanted.request(Off()))
    while runner.num_rows:
        runner.step()
    assert row.completion is not None
    return row.completion.token_ids


def check_schedule(model: Model, source: random.Random, num_wishes: int) -> dict[str, int]:
    heads = [tuple(source.choices(range(64), k=source.randint(20, 150))) for _ in range(3)]
    bytes_kept = source.choice((0, 100, 400, 10_000)) * model.token_bytes
    runner = Runner(model, step_tokens=source.choice((1, 9, 60, 500)), prefix_bytes=bytes_kept)
    waiting = [wish(source, heads) for _ in range(num_wishes)]
    rows: list[tuple[Wish, Row]] = []
    reported: list[Row] = []
    while waiting or runner.num_rows:
        while waiting and runner.num_rows < 5 and source.random() < 0.6:
            rows.append((waiting[-1], runner.admit(waiting.pop().request(policy(source)))))
        if rows and source.random() < 0.05:
            source.choice(rows)[1].request.cancelled.set()
        runner.step()
        reported += runner.take_ended()
        assert runner.prefix_bytes <= bytes_kept
    assert sorted(map(id, reported)) == sorted(id(row) for _, row in rows)
    ends: dict[str, int] = {"reused": 0}
    for wanted, row in rows:
        done = row.completion
        assert done is not None
        whole = alone(model, wanted)
        if done.finish_reason in ("cancelled", "error"):
            assert done.token_ids == whole[: len(done.token_ids)] or wanted.fails
        else:
            assert done.token_ids == whole
        assert done.error is None or wanted.fails
        ends[done.finish_reason] = ends.get(done.finish_reason, 0) + 1
        ends["reused"] += done.usage.reused > 0
    return ends


def test_each_request_writes_what_it_writes_alone() -> None:
    ends: dict[str, int] = {}
    for seed in range(30):
        for reason, count in check_schedule(ScriptedModel(64, seed=seed), random.Random(seed), 20).items():
            ends[reason] = ends.get(reason, 0) + count
    assert set(ends) == {"reused", "stop", "length", "cancelled", "error"}
    assert min(ends.values()) > 5


@pytest.mark.parametrize("name", ["llama", "mistral_window", "gemma2"])
def test_torch_models_write_what_they_write_alone(name: str, tmp_path: Path) -> None:
    model = load_model(save(tmp_path / name, CONFIGS[name]), device="cpu", num_threads=1)
    for seed in range(2):
        check_schedule(model, random.Random(seed), 8)
