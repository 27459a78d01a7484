"""Steps of two ranks: the first one plans, masks and draws; the other has the same tokens stand."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from factorspec_sdk.errors import EngineError
from factorspec_server.drafting import Chain as Guessing
from factorspec_server.sglang import compat
from factorspec_server.sglang.session_grammar import Ended, SessionGrammar, session_grammar_of
from factorspec_server.sglang.shared_grammar import FollowingGrammar, LeadingGrammar
from factorspec_server.sglang.step_sharing import StepSharing
from tests.server.engines.toy_session import ToySession, random_alternatives
from tests.server.sglang.test_plain_step import modules
from tests.server.sglang.test_verify_step import (
    END,
    PROMPT,
    Model,
    batch_of,
    by_token,
    is_done,
    request,
    worker_of,
)

__all__ = ["modules"]


class Record(ToySession):
    def commit(self, token_ids: Sequence[int]) -> Any:
        super().commit(token_ids)
        return len(token_ids)


class Line:
    """Two ranks in one process: the first one's calls are kept until the other makes them."""

    def __init__(self) -> None:
        self.kept: deque[Any] = deque()

    def rank(self, *, is_first: bool) -> Any:
        def tell(numbers: Any) -> None:
            self.kept.append(numbers.copy())

        def share(tensor: torch.Tensor) -> None:
            if is_first:
                self.kept.append(tensor.clone())
            else:
                tensor.copy_(self.kept.popleft())

        return SimpleNamespace(is_first=is_first, tell=tell, hear=self.kept.popleft, share=share)


class Rank:
    """A worker, its model, and the requests as its scheduler has them."""

    def __init__(self, sessions: list[ToySession | None], ranks: Any, *, draws: bool) -> None:
        self.model = Model(len(sessions))
        self.requests = [request(session) for session in sessions]
        if not draws:
            for one in self.requests:
                one.grammar = None if one.grammar is None else SimpleNamespace()
        for slot in range(len(sessions)):
            self.model.cache[self.model.req_to_token[slot, 0].long()] = PROMPT[0]
        self.worker = worker_of(self.model, Guessing(width=9), 500)
        sharing = self.worker._sharing = StepSharing(ranks)
        vars(self.worker)["_chains"]._fail = sharing.end
        self.last = torch.full((len(sessions),), PROMPT[-1])

    def step(self, running: list[int]) -> list[list[int]]:
        """One step of some requests: what stands."""
        batch = batch_of(self.model, self.requests, running, self.last)
        result = self.worker._verify(batch, None)
        tokens = result.next_token_ids.view(len(running), -1)
        self.last[running] = result.next_draft_input.last_tokens
        new = [tokens[at, : int(result.accept_lens[at])].tolist() for at in range(len(running))]
        for slot, written in zip(running, new, strict=True):
            self.requests[slot].output_ids += written
        return new


def tokens_come(*ranks: Rank) -> None:
    """SGLang has the tokens of the last step."""
    for rank in ranks:
        rank.worker.on_verify_complete_cpu([0] * len(rank.requests))


def pair(sessions: list[ToySession | None], line: Line | None = None) -> tuple[Rank, Rank]:
    line = Line() if line is None else line
    first = Rank(sessions, line.rank(is_first=True), draws=True)
    other = Rank(sessions, line.rank(is_first=False), draws=False)
    for name in ("_plans", "_chains", "_rows", "_drafting"):
        vars(other.worker)[name] = None  # nothing is worked out there
    return first, other


@pytest.mark.usefixtures("modules")
def test_both_ranks_write_what_decoding_token_by_token_writes() -> None:
    for seed in range(4):
        alternatives = [random_alternatives(seed * 4 + at) for at in range(4)]
        first, other = pair([*map(ToySession, alternatives), None])
        running = list(range(5))
        while running:
            new = first.step(running)
            assert other.step(running) == new
            for slot, written in zip(running, new, strict=True):
                if first.requests[slot].grammar is not None:
                    session = first.requests[slot].grammar.session
                    session.commit([token for token in written if token != 90])
            assert torch.equal(first.model.cache, other.model.cache)
            running = [slot for slot in running if not is_done(first.requests[slot])]
        want = [by_token(session, at) for at, session in enumerate([*map(ToySession, alternatives), None])]
        for rank in (first, other):
            found = [one.output_ids[1:] for one in rank.requests]
            assert found[:4] == want[:4]
            assert found[4][:60] == want[4][:60]


@pytest.mark.usefixtures("modules")
def test_a_request_that_is_given_up_ends_on_both_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(compat.__dict__, "FINISH_ABORT", lambda reason: reason)
    first, other = pair([ToySession(((3, 4, 5),)), ToySession(((3, 4, 6),))])
    first.requests[0].grammar.error = EngineError("its keeper is gone")
    new = first.step([0, 1])
    assert other.step([0, 1]) == new
    assert new[1] == [3, 4, 6, 90]
    tokens_come(first, other)
    assert [one.to_finish for one in first.requests] == ["its keeper is gone", None]
    assert [one.to_finish for one in other.requests] == ["the record was given up", None]
    assert [[one.grammar is None for one in rank.requests] for rank in (first, other)] == [[True, False]] * 2


@pytest.mark.usefixtures("modules")
def test_what_goes_wrong_between_steps_waits_for_the_next_one() -> None:
    first, other = pair([ToySession(((3, 4, 5),))])
    for rank in (first, other):
        rank.worker._sharing.end_soon(rank.requests[0], "late")
        assert rank.requests[0].to_finish is None
    other.worker.tokens_stand(other.requests)  # it keeps no records
    alone = Rank([ToySession(((3, 4, 5),))], None, draws=True)
    assert np.array_equal(alone.step([0]), [[3, 4, 5, 90]])


def pair_of_grammars(line: Line, *records: tuple[int, ...]) -> tuple[Rank, Rank]:
    """Ranks whose requests have the grammar objects that SGLang gets."""
    first, other = pair([Record((record,)) for record in records], line)
    for slot, one in enumerate(first.requests):
        session: Any = one.grammar.session
        one.grammar = LeadingGrammar(session, (END,), line.rank(is_first=True))
        other.requests[slot].grammar = FollowingGrammar((END,), line.rank(is_first=False))
    for name in ("_chains", "_rows"):
        vars(first.worker)[name]._drafted_of = session_grammar_of
    return first, other


def written_on_both(first: Rank, other: Rank) -> list[list[int]]:
    """A step of all requests, and its tokens to the grammars, before anybody looks at results."""
    running = [*range(len(first.requests))]
    new = first.step(running)
    assert other.step(running) == new
    for rank in (first, other):
        for one, tokens in zip(rank.requests, new, strict=True):
            for token in tokens:
                if one.grammar is not None and not one.grammar.is_terminated():
                    one.grammar.accept_token(token)
    return new


@pytest.mark.usefixtures("modules")
def test_a_record_that_has_ended_with_the_last_step_is_part_of_the_next_one_on_both_ranks() -> None:
    line = Line()
    first, other = pair_of_grammars(line, (3, 4, 5), tuple(range(10, 40)))
    assert written_on_both(first, other)[0] == [3, 4, 5, END]
    assert [rank.requests[0].grammar.is_terminated() for rank in (first, other)] == [True, True]
    (ended, goes_on) = written_on_both(first, other)
    assert len(ended) == 1
    assert len(goes_on) > 1
    assert not line.kept  # else a rank waits for another one that never comes


@pytest.mark.usefixtures("modules")
def test_a_record_given_up_in_a_step_ends_with_the_next_one_on_both_ranks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(compat.__dict__, "FINISH_ABORT", lambda reason: reason)
    line = Line()
    first, other = pair_of_grammars(line, tuple(range(10, 40)), tuple(range(10, 40)))
    written_on_both(first, other)
    first.requests[0].grammar.fail(EngineError("its keeper is gone"))
    first.step([0, 1])
    other.step([0, 1])
    assert [rank.requests[0].to_finish for rank in (first, other)] == [None, None]
    tokens_come(first, other)
    assert first.requests[0].to_finish == "its keeper is gone"
    assert other.requests[0].to_finish == "the record was given up"
    assert [[one.grammar is None for one in rank.requests] for rank in (first, other)] == [[True, False]] * 2
    assert not line.kept


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("has_ended", [False, True])
def test_a_record_that_cannot_go_on_behind_its_request_s_end_has_not_failed(
    monkeypatch: pytest.MonkeyPatch, has_ended: bool
) -> None:
    """A stop string, say, which SGLang sees in the last step's results once this one is on its way."""
    monkeypatch.setitem(compat.__dict__, "FINISH_ABORT", lambda reason: reason)
    line = Line()
    first, other = pair_of_grammars(line, tuple(range(10, 40)), tuple(range(10, 40)))
    told: list[Ended] = []
    grammar = first.requests[0].grammar
    grammar._tell = told.append
    written_on_both(first, other)
    grammar.fail(EngineError("its keeper is gone"))
    assert first.step([0, 1]) == other.step([0, 1])
    if has_ended:
        for rank in (first, other):
            rank.requests[0].finished = lambda: True
            rank.requests[0].grammar.finished = True
    tokens_come(first, other)
    assert [rank.requests[0].to_finish is None for rank in (first, other)] == [has_ended] * 2
    assert [str(one.error) for one in told] == ["None" if has_ended else "its keeper is gone"]
    assert not line.kept


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("has_ended", [False, True])
def test_neither_has_one_of_a_single_rank(monkeypatch: pytest.MonkeyPatch, has_ended: bool) -> None:
    class Failing(Record):
        def plan(self, *given: Any, **named: Any) -> Any:
            if self.written:
                raise EngineError("its keeper is gone")
            return super().plan(*given, **named)

    monkeypatch.setitem(compat.__dict__, "FINISH_ABORT", lambda reason: reason)
    rank, told = Rank([None, None], None, draws=True), list[Ended]()
    for name in ("_chains", "_rows"):
        vars(rank.worker)[name]._drafted_of = session_grammar_of
    vars(rank.worker)["_chains"]._fail = rank.worker._sharing.end
    vars(rank.worker)["_chains"]._fail_between = rank.worker._sharing.end_soon
    record: Any = Failing(tuple((3, 4, each, *range(10, 40)) for each in (5, 6)))
    one = rank.requests[0]
    one.grammar = SessionGrammar(record, END, ended=told.append)
    tokens_come(rank)
    for token in rank.step([0, 1])[0]:
        one.grammar.accept_token(token)
    rank.worker.tokens_stand(rank.requests)
    rank.step([0, 1])
    if has_ended:
        one.finished = lambda: True
        one.grammar.finished = True
    tokens_come(rank)
    assert (one.to_finish, one.grammar is None) == (
        (None, False) if has_ended else ("its keeper is gone", True)
    )
    assert [str(each.error) for each in told] == ["None" if has_ended else "its keeper is gone"]
