"""A step whose records are kept in two places: each is asked where it is kept, and answers stand in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from factorspec_server.drafting import Session
from factorspec_server.sglang import mixed_plans
from factorspec_server.sglang.chains import Chain
from factorspec_server.sglang.mixed_plans import MixedPlans
from factorspec_server.sglang.plan_source import Asked, LocalPlans


class Kept:
    """Stands for a record that a service keeps."""


class Remote:
    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.standing: list[Any] = []
        self.waited_s, self.waited_for_certain_s = 3.0, 2.0

    def chains(self, asked: Sequence[Asked]) -> list[Chain]:
        self.asked += [each.session for each in asked]
        return [Chain((at,), (), 9) for at, _ in enumerate(asked)]

    def tokens_stand(self, sessions: Sequence[Session]) -> None:
        self.standing.append(list(sessions))


class Local(LocalPlans):
    def chains(self, asked: Sequence[Asked], /) -> list[Chain]:
        return [Chain((100 + at,), (), 9) for at, _ in enumerate(asked)]


@pytest.fixture(autouse=True)
def _kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixed_plans, "RemoteRecord", Kept)


def asked(session: object) -> Asked:
    given: Any = session
    return Asked(given, (), 0, 8)


def test_chains_come_in_the_order_in_which_they_were_asked_for() -> None:
    remote: Any = Remote()
    plans, near, far = MixedPlans(Local(1), remote), [object(), object()], [Kept(), Kept()]
    found = plans.chains([asked(each) for each in (near[0], far[0], far[1], near[1])])
    assert [chain.tokens[0] for chain in found if isinstance(chain, Chain)] == [100, 0, 1, 101]
    assert remote.asked == far
    assert remote.standing == [far]  # its workers plan while this process does
    assert (plans.waited_s, plans.waited_for_certain_s) == (3.0, 2.0)


def test_the_service_hears_of_its_own_records_alone() -> None:
    remote: Any = Remote()
    plans, far = MixedPlans(Local(1), remote), Kept()
    given: Any = [object(), far]
    plans.tokens_stand(given)
    plans.tokens_stand(given[:1])
    assert remote.standing == [[far]]
