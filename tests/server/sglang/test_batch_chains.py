"""What the requests of a batch run: who is drafted, how far, and who is ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from factorspec_sdk.errors import FactorspecError
from factorspec_server.drafting import Allowed, Session
from factorspec_server.sglang.batch_chains import BatchChains
from factorspec_server.sglang.chains import ONE_TOKEN, Chain, Decision
from factorspec_server.sglang.mask_rows import MaskRows, num_words
from factorspec_server.sglang.plan_source import Failed, LocalPlans, PlanSource
from tests.server.engines.toy_session import ToySession

END, WORDS = 90, 4
ONE_RECORD = ((3, 4, 5, 6),)
TWO_RECORDS = ((3, 4, 5), (3, 4, 6))


@dataclass
class Grammar:
    session: Session
    end_id: int = END
    expected: tuple[int, ...] = ()
    error: FactorspecError | None = None

    def expect(self, token_ids: tuple[int, ...]) -> None:
        self.expected = token_ids

    def fail(self, error: FactorspecError) -> None:
        self.error = error


class Refused(ToySession):
    @property
    def state(self) -> Any:
        return "refused"


def sampling(**changes: object) -> SimpleNamespace:
    usual: dict[str, object] = {
        "frequency_penalty": 0.0,
        "presence_penalty": 0.0,
        "repetition_penalty": 1.0,
        "min_new_tokens": 0,
    }
    stops: dict[str, object] = {"stop_strs": [], "stop_regex_strs": [], "stop_token_ids": None}
    return SimpleNamespace(**{**usual, **stops, **changes})


@dataclass
class Request:
    grammar: Any = None
    sampling_params: Any = field(default_factory=sampling)
    return_logprob: bool = False
    origin_input_ids: tuple[int, ...] = ()
    to_finish: object = None
    is_finished: bool = False

    def finished(self) -> bool:
        return self.is_finished


def drafted_of(grammar: object) -> Grammar | None:
    return grammar if isinstance(grammar, Grammar) else None


@dataclass
class Batch:
    failed: list[tuple[Any, str]] = field(default_factory=list)
    plans: PlanSource = field(default_factory=lambda: LocalPlans(WORDS))

    def chains(self, requests: list[Request], room: int = 50) -> list[Chain]:
        chains = BatchChains(self.plans, drafted_of, self.fail)
        return chains.of(requests, [room] * len(requests))

    def rows(
        self, requests: list[Request], chains: list[Chain], *, mask_known: bool = False
    ) -> list[list[int]]:
        rows = torch.full((sum(chain.num_rows for chain in chains), WORDS), 0x5A5A5A5A, dtype=torch.int32)
        MaskRows(self.plans, drafted_of, self.fail).fill(rows, requests, chains, mask_known=mask_known)
        bits = np.unpackbits(rows.numpy().view(np.uint8), axis=1, bitorder="little")
        return [np.flatnonzero(row).tolist() for row in bits]

    def fail(self, request: Any, reason: str) -> None:
        self.failed.append((request, reason))


def of(records: tuple[tuple[int, ...], ...], **changes: Any) -> Request:
    return Request(Grammar(ToySession(records)), **changes)


def test_certain_runs_are_drafted_up_to_the_decision_or_the_end() -> None:
    requests = [of(ONE_RECORD), of(TWO_RECORDS)]
    certain, choosing = Batch().chains(requests)
    assert [request.grammar.expected for request in requests] == [(3, 4, 5, 6), (3, 4)]
    assert certain == Chain((3, 4, 5, 6), (), END)
    assert choosing.tokens == (3, 4)
    assert [decision.offset for decision in choosing.decisions] == [2]


def test_no_chain_is_longer_than_there_is_room() -> None:
    assert Batch().chains([of(ONE_RECORD)], room=2) == [Chain((3, 4), (), 5)]
    assert Batch().chains([of(ONE_RECORD)], room=0) == [Chain((), (), 3)]


@pytest.mark.parametrize(
    "request_",
    [
        of(ONE_RECORD, return_logprob=True),
        of(ONE_RECORD, sampling_params=sampling(frequency_penalty=0.5)),
        of(ONE_RECORD, sampling_params=sampling(presence_penalty=-0.5)),
        of(ONE_RECORD, sampling_params=sampling(repetition_penalty=1.1)),
        of(ONE_RECORD, sampling_params=sampling(min_new_tokens=3)),
    ],
)
def test_what_counts_tokens_one_by_one_gets_one_a_step(request_: Request) -> None:
    assert Batch().chains([request_, of(ONE_RECORD)]) == [Chain((), (), 3), Chain((3, 4, 5, 6), (), END)]


@pytest.mark.parametrize("stop", [{"stop_strs": ["x"]}, {"stop_token_ids": {7}}, {"stop_regex_strs": ["x+"]}])
def test_the_end_waits_for_a_step_of_its_own_where_something_else_may_stop(stop: dict[str, object]) -> None:
    assert Batch().chains([of(ONE_RECORD, sampling_params=sampling(**stop))]) == [Chain((3, 4, 5), (), 6)]
    complete = Request(Grammar(ToySession(ONE_RECORD, (3, 4, 5, 6))), sampling(**stop))
    assert Batch().chains([complete]) == [Chain((), (), END)]


def test_requests_without_our_grammar_get_one_token() -> None:
    requests = [
        Request(),
        Request("xgrammar"),
        of(ONE_RECORD, is_finished=True),
        of(ONE_RECORD, to_finish="abort"),
    ]
    assert Batch().chains(requests) == [ONE_TOKEN] * 4


def test_a_session_that_fails_ends_its_request_alone() -> None:
    batch = Batch()
    bad, good = Request(Grammar(Refused(ONE_RECORD))), of(ONE_RECORD)
    assert batch.chains([bad, good]) == [ONE_TOKEN, Chain((3, 4, 5, 6), (), END)]
    assert batch.failed == [(bad, "the session refused a token that it had allowed")]
    assert str(bad.grammar.error) == batch.failed[0][1]


class Defective(ToySession):
    def plan(self, *_: object, **__: object) -> Any:
        raise ZeroDivisionError("by zero")


def test_a_defect_of_a_session_ends_its_request_alone(caplog: pytest.LogCaptureFixture) -> None:
    batch = Batch()
    bad, good = Request(Grammar(Defective(ONE_RECORD))), of(ONE_RECORD)
    assert batch.chains([bad, good]) == [ONE_TOKEN, Chain((3, 4, 5, 6), (), END)]
    assert batch.failed == [(bad, "the session failed: ZeroDivisionError('by zero')")]
    assert "a session failed" in caplog.text


class Foreign:
    """A grammar that allows what it is told."""

    finished = False

    def __init__(self, word: int) -> None:
        self.word = word

    def is_terminated(self) -> bool:
        return False

    def fill_vocab_mask(self, rows: torch.Tensor, at: int) -> None:
        rows[at] = self.word


def test_rows_hold_what_each_request_may_write() -> None:
    batch, every = Batch(), list(range(32 * WORDS))
    requests = [
        of(TWO_RECORDS),
        of(ONE_RECORD),
        Request(),
        Request(Foreign(1)),
        Request(Foreign(1), to_finish="x"),
    ]
    rows = batch.rows(requests, batch.chains(requests))
    assert rows == [[5, 6], every, every, [0, 32, 64, 96], every]
    assert batch.rows(requests[1:2], [Chain((), (), 33)], mask_known=True) == [[33]]
    first, second = Allowed.of((5, 6)), Allowed.of((8,))
    guessing = Chain((4, 5, 7), (Decision(1, first), Decision(3, second)))
    assert batch.rows(requests[1:4], [guessing, *[ONE_TOKEN] * 2]) == [[5, 6], [8], every, [0, 32, 64, 96]]
    assert not batch.failed


def test_a_row_is_never_empty() -> None:
    batch, request = Batch(), Request(Foreign(0))
    assert batch.rows([request], [ONE_TOKEN]) == [list(range(32 * WORDS))]
    assert batch.failed == [(request, "the grammar allows no token of the model here")]


def test_an_engine_s_rows_may_be_wider_than_the_vocabulary() -> None:
    row = np.full(3, -1, dtype=np.int32)
    (chain,) = Batch().chains([of(TWO_RECORDS)])
    LocalPlans(1).fill_rows([(row, chain.decisions[0])])
    assert row.tolist() == [1 << 5 | 1 << 6, 0, 0]
    assert (num_words(1), num_words(32), num_words(33)) == (1, 1, 2)
    assert isinstance(chain.decisions[0], Decision)


class Told(LocalPlans):
    """Notes whose tokens stand, and cannot write the first row."""

    def __init__(self) -> None:
        super().__init__(WORDS)
        self.sessions: list[Session] = []

    def tokens_stand(self, sessions: Sequence[Session], /) -> None:
        self.sessions += sessions

    def fill_rows(self, wanted: Sequence[Any], /) -> list[Failed | None]:
        filled = super().fill_rows(wanted)
        return [Failed(FactorspecError("its keeper is gone")), *filled[1:]]


def test_a_row_that_cannot_be_had_ends_its_request_alone() -> None:
    batch, every = Batch(plans=Told()), list(range(32 * WORDS))
    requests = [of(TWO_RECORDS), of(TWO_RECORDS)]
    assert batch.rows(requests, batch.chains(requests)) == [every, [5, 6]]
    assert batch.failed == [(requests[0], "its keeper is gone")]
    assert [str(request.grammar.error) for request in requests] == ["its keeper is gone", "None"]


def test_nothing_is_asked_of_a_grammar_that_ends_with_the_step() -> None:
    batch, bad = Batch(), Request(Grammar(Refused(ONE_RECORD)))  # has no fill_vocab_mask
    assert batch.rows([bad], batch.chains([bad])) == [list(range(32 * WORDS))]


class Unwritten(Grammar):
    """Has tokens to write that its session does not take."""

    @property
    def session(self) -> Session:
        raise FactorspecError("a budget ended")

    @session.setter
    def session(self, session: Session) -> None: ...


def test_whoever_plans_is_told_whose_tokens_stand() -> None:
    plans = Told()
    batch = Batch(plans=plans)
    ended, bad = of(ONE_RECORD, is_finished=True), Request(Unwritten(ToySession(ONE_RECORD)))
    requests = [of(ONE_RECORD), Request(), ended, bad, Request("xgrammar"), of(TWO_RECORDS)]
    BatchChains(plans, drafted_of, batch.fail).tokens_stand(requests)
    assert plans.sessions == [requests[0].grammar.session, requests[5].grammar.session]
    assert batch.failed == [(bad, "a budget ended")]


def test_a_record_that_is_known_to_have_failed_is_ended_before_it_is_planned() -> None:
    batch, known = Batch(), of(TWO_RECORDS)
    known.grammar.error = FactorspecError("its keeper is gone")
    ended, planned = batch.chains([known, of(ONE_RECORD)])
    assert (ended, planned.then) == (ONE_TOKEN, END)
    assert batch.failed == [(known, "its keeper is gone")]


def test_who_ends_requests_between_steps_may_be_another() -> None:
    class Gone(Grammar):
        @property
        def session(self) -> Session:
            raise FactorspecError("its keeper is gone")

        @session.setter
        def session(self, session: Session) -> None:
            """It is not kept."""

    request, batch = Request(Gone(ToySession(ONE_RECORD))), Batch()
    later: list[str] = []
    chains = BatchChains(batch.plans, drafted_of, batch.fail, lambda one, reason: later.append(reason))
    chains.tokens_stand([request])
    assert (later, batch.failed) == (["its keeper is gone"], [])
    assert str(request.grammar.error) == "its keeper is gone"
    chains.of([request], [50])
    assert batch.failed == [(request, "its keeper is gone")]
