"""Chains and rows of records that a service keeps: what it is asked, and what its answers come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from factorspec_sdk.errors import EngineError, FactorspecError
from factorspec_server.constraint_service import ConstraintService, Wanted
from factorspec_server.drafting import DraftingSpec, Plan, PolicyName
from factorspec_server.drafting.seam import Allowed, Choice
from factorspec_server.sglang.chains import Chain, Decision
from factorspec_server.sglang.plan_source import Asked, Failed, LocalPlans
from factorspec_server.sglang.service_plans import ServicePlans
from tests.server.engines.toy_session import ToySession

END, WORDS, MOST = 90, 4, 7
RECORDS = ((3, 4, 5), (3, 4, 6))


@dataclass
class Service:
    """Answers with the plans of toy sessions, or with errors."""

    answers: dict[int, Any] = field(default_factory=dict)
    asked: list[list[Wanted]] = field(default_factory=list)
    waited_s: float = 0.25
    is_gone: bool = False
    drafted: list[DraftingSpec] = field(default_factory=list)
    waited_for_guesses_s: float = 0.05
    guess_s: list[float | None] = field(default_factory=list)
    options: Any = field(default_factory=lambda: SimpleNamespace(workers=8))

    def draft(self, drafting: DraftingSpec) -> None:
        self.drafted.append(drafting)

    def ask(self, wanted: Sequence[Wanted]) -> None:
        self._check()
        self.asked.append([*wanted])

    def plans(self, wanted: Sequence[Wanted], *, guess_s: float | None) -> list[Plan | FactorspecError]:
        self._check()
        self.guess_s.append(guess_s)
        return [
            self.answers.get(at) or cast(ToySession, each.record).plan() for at, each in enumerate(wanted)
        ]

    def _check(self) -> None:
        if self.is_gone:
            raise EngineError("the service does not answer")


def plans_of(service: Service) -> ServicePlans:
    return ServicePlans(cast(ConstraintService, service), WORDS, MOST)


def asked(*written: tuple[int, ...], most: int = 50) -> list[Asked]:
    return [Asked(ToySession(RECORDS, each), (8, 9), END, most) for each in written]


@pytest.mark.parametrize("most", [0, 1, 50])
def test_chains_are_those_of_sessions_in_this_process(most: int) -> None:
    requests = asked((), (3,), (3, 4), (3, 4, 5), most=most)
    assert plans_of(Service()).chains(requests) == LocalPlans(WORDS).chains(requests)
    assert plans_of(Service()).chains([]) == []


def test_a_record_that_fails_leaves_the_others_alone() -> None:
    nothing = Plan((), (), (), (Choice(-1, Allowed.of(())),), complete=False, kinds=())
    service = Service({0: EngineError("its worker is gone"), 2: nothing, 3: SimpleNamespace()})
    failed, fine, empty, broken = plans_of(service).chains(asked((), (), (), ()))
    assert isinstance(failed, Failed)
    assert str(failed.error) == "its worker is gone"
    assert isinstance(fine, Chain)
    assert isinstance(empty, Failed)
    assert "allows no token" in str(empty.error)
    assert isinstance(broken, Failed)


def test_a_service_that_is_gone_fails_its_records_and_raises_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    plans = plans_of(Service(is_gone=True))
    assert [str(cast(Failed, each).error) for each in plans.chains(asked((), ()))] == [
        "the service does not answer"
    ] * 2
    plans.tokens_stand([ToySession(RECORDS)])


def test_whose_tokens_stand_is_asked_for_at_once() -> None:
    service, session = Service(), ToySession(RECORDS)
    plans = plans_of(service)
    plans.tokens_stand([session])
    assert service.asked == [[Wanted(cast(Any, session), MOST)]]
    assert plans.waited_s == 0.25
    assert plans.waited_for_certain_s == 0.2
    plans.look_ahead(lambda: False)


class Told(ToySession):
    """Notes the prompts that it is told."""

    __hash__ = object.__hash__

    def __init__(self) -> None:
        super().__init__(RECORDS)
        self.prompts: list[tuple[int, ...]] = []

    def set_prompt(self, token_ids: tuple[int, ...]) -> None:
        self.prompts.append(token_ids)


@pytest.mark.parametrize("name", ["tree", "chain", "certain"])
def test_a_record_is_told_its_prompt_once(name: PolicyName) -> None:
    service, told, spec = Service(), Told(), DraftingSpec(name=name)
    plans = ServicePlans(cast(ConstraintService, service), WORDS, MOST, spec)
    for _ in range(3):
        plans.chains([Asked(told, [8, 9], END, 5)])
    assert told.prompts == [(8, 9)] * spec.is_of_prompt


@pytest.mark.parametrize("name", ["tree", "chain", "certain"])
def test_a_service_rests_while_steps_have_no_guesses(name: PolicyName) -> None:
    service, told, spec = Service(), Told(), DraftingSpec(name=name, breadth=1)
    plans = ServicePlans(cast(ConstraintService, service), WORDS, MOST, spec)
    for guesses, most in ((True, 5), (True, 0), (False, 0), (False, 5), (False, 5), (True, 5)):
        plans.chains([Asked(told, (), END, most, guesses=guesses)])
    assert service.drafted == ([spec.resting, spec] if spec.guesses else [])
    assert spec.resting.is_of_prompt == spec.is_of_prompt


def test_a_service_drafts_trees_while_branches_may_run() -> None:
    service, told = Service(), Told()
    chains, trees = (DraftingSpec(name="tree", breadth=breadth) for breadth in (1, 4))
    plans = ServicePlans(cast(ConstraintService, service), WORDS, MOST, chains, trees)
    for guesses, branches in (
        (True, False),
        (True, True),
        (True, True),
        (False, False),
        (True, True),
        (True, False),
    ):
        plans.chains([Asked(told, (), END, 5, guesses=guesses, branches=branches)])
    assert service.drafted == [trees, chains.resting, trees, chains]


def test_few_requests_wait_for_guesses_longer() -> None:
    service = Service()
    plans, patient = (
        ServicePlans(cast(ConstraintService, service), WORDS, MOST, spec)
        for spec in (DraftingSpec(name="tree"), DraftingSpec(name="tree", patience_s=None))
    )
    for count in (1, 8, 9, 64, 128):
        plans.chains([Asked(Told(), (), END, 5, guesses=True) for _ in range(count)])
    patient.chains([Asked(Told(), (), END, 5, guesses=True)])
    assert service.guess_s == [0.002, 0.002, 0.001, 0.0004, 0.0004, None]


class Late(Allowed):
    """Whose row does not come."""

    def write_row(self, *_: Any) -> None:
        raise EngineError("its row did not come in time")


def test_rows_are_written_each_for_itself() -> None:
    service, rows = plans_of(Service()), np.full((3, WORDS + 1), -1, dtype=np.int32)
    (chain,) = LocalPlans(WORDS).chains(asked(()))
    late = object.__new__(Late)
    assert isinstance(chain, Chain)
    wanted = [chain.decisions[0], Decision(0, late), chain.decisions[0]]
    first, second, third = service.fill_rows(list(zip(rows, wanted, strict=True)))
    assert first is third is None
    assert second is not None
    assert str(second.error) == "its row did not come in time"
    assert rows[0].tolist() == rows[2].tolist() == [1 << 5 | 1 << 6, 0, 0, 0, 0]
