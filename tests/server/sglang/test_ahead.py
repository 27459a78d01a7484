"""Which batches are launched before the tokens of their last step are known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from factorspec_server.drafting import Allowed
from factorspec_server.sglang.ahead import Ahead
from factorspec_server.sglang.chains import Chain, Decision

VOCAB = 1600
TEXT, NAMES = Allowed.of(np.arange(100)), Allowed.of(np.arange(99))
IN_TEXT = Chain((), (Decision(0, TEXT),))
#: what a request ran in the last step, and whether its next token may make others certain
LAST = {
    "text": (IN_TEXT, False),
    "text behind a run": (Chain((1, 2), (Decision(2, TEXT),)), False),
    "names": (Chain((), (Decision(0, NAMES),)), True),
    "text behind a guess of a name": (Chain((1,), (Decision(0, NAMES, 0.5), Decision(1, TEXT))), False),
    "a run that goes on": (Chain((1, 2), (), 3), True),
    "its own mask": (Chain(), True),
}


def batch(count: int, **changes: Any) -> Any:
    from factorspec_server.sglang.session_grammar import SessionGrammar

    class Written(SessionGrammar):
        def __init__(self) -> None:
            self._has_ended = False

        def close(self) -> None:
            pass

    info = SimpleNamespace(
        penalizer_orchestrator=None, has_custom_logit_processor=False, return_sampling_masks=None
    )
    requests = [SimpleNamespace(grammar=Written()) for _ in range(count)]
    return SimpleNamespace(**{"reqs": requests, "return_logprob": False, "sampling_info": info} | changes)


def saw(ahead: Ahead, found: Any, chains: list[Chain]) -> None:
    ahead.saw([request.grammar for request in found.reqs], chains)


@pytest.mark.parametrize("last", LAST)
def test_a_request_goes_ahead_where_its_next_token_makes_nothing_certain(last: str) -> None:
    chain, loses = LAST[last]
    ahead, found = Ahead(VOCAB, is_on=True), batch(1)
    assert not ahead.is_fit(found)  # nothing is known of it yet
    saw(ahead, found, [chain])
    assert ahead.is_fit(found) == (not loses)
    found.reqs[0].grammar._has_ended = True  # nobody drafts for it any more
    assert ahead.is_fit(found)


@pytest.mark.parametrize(
    ("count", "losing", "goes"), [(8, 2, True), (8, 3, False), (3, 1, False), (64, 16, True)]
)
def test_a_few_requests_may_lose_a_step(count: int, losing: int, goes: bool) -> None:
    ahead, found = Ahead(VOCAB, is_on=True), batch(count)
    saw(ahead, found, [LAST["names"][0]] * losing + [IN_TEXT] * (count - losing))
    assert ahead.is_fit(found) == goes


def test_requests_without_drafts_have_nothing_to_lose() -> None:
    ahead, found = Ahead(VOCAB, is_on=True), batch(0)
    found.reqs = [SimpleNamespace(grammar=None), SimpleNamespace(grammar=object())]
    assert ahead.is_fit(found)


def test_steps_that_are_counted_one_by_one_never_go_ahead() -> None:
    ahead, found = Ahead(VOCAB, is_on=True), batch(1, return_logprob=True)
    saw(ahead, found, [IN_TEXT])
    assert not ahead.is_fit(found)
    off, other = Ahead(VOCAB, is_on=False), batch(1)
    saw(off, other, [IN_TEXT])
    assert not off.is_fit(other)
