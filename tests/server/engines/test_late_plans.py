"""Plans that are made elsewhere and come late: who waits for them, who does not, and what is written."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from factorspec_sdk.testing.scripted_model import ScriptedModel
from factorspec_server.drafting import Certain, Chain, DraftingPolicy, Session
from factorspec_server.engines import Completion, Request, Sampling
from factorspec_server.engines.row import Row
from factorspec_server.engines.runner import Runner
from tests.server.engines.toy_session import ToySession, random_alternatives


class LateKeeper:
    """Plans are there after a number of looks that is drawn for each."""

    def __init__(self, seed: int, most: int) -> None:
        self.stopped: set[int] = set()
        self.num_late = 0
        self._random = Random(seed)
        self._most = most
        self._looks: dict[int, int] = {}

    def ask(self, sessions: Sequence[Session], /) -> None:
        for session in sessions:
            self._looks.setdefault(id(session), self._random.randint(0, self._most))

    def late(self, sessions: Sequence[Session], wait_s: float, /) -> Sequence[Session]:
        self.ask(sessions)
        missing = [each for each in sessions if self._looks[id(each)] or id(each) in self.stopped]
        for number in map(id, sessions):
            self._looks[number] = max(0, self._looks[number] - 1)
        for session in sessions:
            if not any(session is each for each in missing):
                del self._looks[id(session)]
        self.num_late += len(missing)
        return missing


def request(seed: int, policy: DraftingPolicy, *, is_chat: bool = False) -> Request:
    return Request(
        prompt_ids=tuple(range(seed, seed + 30)),
        token_limit=20 if is_chat else 90,
        session=None if is_chat else ToySession(random_alternatives(seed)),
        sampling=Sampling(temperature=1.0, seed=seed),
        drafting=policy,
    )


def runner_with(keeper: LateKeeper | None = None) -> Runner:
    runner = Runner(ScriptedModel(64, seed=1), step_tokens=4096, prefix_bytes=0)
    if keeper is not None:
        runner.keeper = keeper
    return runner


def reason_of(row: Row) -> str | None:
    """Why it ended, if it did."""
    return None if row.completion is None else row.completion.finish_reason


def run(runner: Runner, requests: Sequence[Request], joins_s: Random) -> list[Completion]:
    """Run requests that come one by one."""
    rows: list[Row] = []
    while len(rows) < len(requests) or runner.num_rows:
        if len(rows) < len(requests) and joins_s.random() < 0.5:
            rows.append(runner.admit(requests[len(rows)]))
        runner.step()
    return [row.completion for row in rows if row.completion is not None]


@pytest.mark.parametrize("policy", [Certain(), Chain(width=6)], ids=["certain", "chain"])
@pytest.mark.parametrize("seed", range(6))
def test_the_same_is_written_in_as_many_steps_of_its_own(seed: int, policy: DraftingPolicy) -> None:
    def requests() -> list[Request]:
        return [request(seed * 10 + at, policy, is_chat=at % 4 == 3) for at in range(8)]

    keeper = LateKeeper(seed, most=4)
    late = run(runner_with(keeper), requests(), Random(seed))
    alone = [run(runner_with(), [each], Random(seed))[0] for each in requests()]
    assert keeper.num_late > 0
    assert [each.token_ids for each in late] == [each.token_ids for each in alone]
    assert [each.finish_reason for each in late] == [each.finish_reason for each in alone]
    assert [each.usage.model_steps for each in late] == [each.usage.model_steps for each in alone]


def test_nobody_waits_for_a_plan_that_does_not_come() -> None:
    keeper = LateKeeper(0, most=0)
    runner = runner_with(keeper)
    first = request(1, Certain())
    keeper.stopped.add(id(first.session))
    stuck = runner.admit(first)
    others = [runner.admit(request(at, Certain())) for at in (2, 3)]
    while runner.num_rows > 1:
        runner.step()
    assert reason_of(stuck) is None
    assert all(map(reason_of, others))
    keeper.stopped.clear()
    while runner.num_rows:
        runner.step()
    assert reason_of(stuck) == "stop"


@pytest.mark.parametrize("num_steps", [0, 1])
def test_a_request_whose_plan_is_late_can_be_cancelled(num_steps: int) -> None:
    keeper = LateKeeper(0, most=0)
    runner = runner_with(keeper)
    wanted = request(1, Certain())
    row = runner.admit(wanted)
    for _ in range(num_steps):
        runner.step()
    keeper.stopped.add(id(wanted.session))
    runner.step()
    assert reason_of(row) is None
    wanted.cancelled.set()
    runner.step()
    assert reason_of(row) == "cancelled"
    assert runner.num_rows == 0
