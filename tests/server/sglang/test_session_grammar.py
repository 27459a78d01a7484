"""A session as SGLang's scheduler drives it: rows, accepted tokens, drafts that are taken back, the end."""

from __future__ import annotations

import json
import random
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

from factorspec_sdk.decoding import Decoder, Session
from factorspec_sdk.errors import BudgetSpent
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical, unpack_row
from factorspec_sdk.wire import parse_document
from factorspec_server.drafting import DraftingSpec, PolicyName
from factorspec_server.engines.answer_session import AnswerSession
from factorspec_server.sglang.process_parts import parts
from factorspec_server.sglang.session_grammar import Ended, SessionGrammar, session_grammar_of
from tests.server.http.calling import TellingModel, making
from tests.server.http.serving import TRIP
from tests.server.sglang.session_grammars import WithStats, end_of, grammar_of, row_of, trip_decoder


@pytest.fixture(scope="module")
def decoder() -> Decoder:
    return trip_decoder()


@pytest.mark.parametrize(("name", "is_kept"), [("tree", True), ("certain", False), (None, False)])
def test_a_complete_record_is_remembered_where_others_are_guessed(
    name: PolicyName | None, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts(), "drafting", None if name is None else DraftingSpec(name=name))
    canonical, compiled = Canonical(vocabulary_like("smollm2")), compile_spec(parse_document(TRIP))
    decoder = Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)
    cut, whole, begun = (grammar_of(decoder) for _ in range(3))
    text = '{"first": "Oslo", "second": "Rome", "days": 3, "note": "no"}'
    tokens = decoder.vocabulary.encode(text)
    for token in tokens[:-1]:
        cut.accept_token(token)
    cut.finished = True
    assert len(decoder.earlier) == 0
    for token in tokens:
        whole.accept_token(token)
    begun.copy().finished = True  # nobody writes the first of copies
    assert len(decoder.earlier) == 0
    whole.finished = True
    whole.finished = True
    assert len(decoder.earlier) == int(is_kept)
    assert whole.error is None


def test_a_record_that_a_worker_keeps_is_not_waited_for_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Elsewhere:
        def commit(self, token_ids: object) -> int:
            raise AssertionError("it may wait")

    monkeypatch.setattr(parts(), "drafting", DraftingSpec(name="tree"))
    grammar = SessionGrammar(cast("Any", Elsewhere()), 0)
    grammar.expect((1, 2))
    grammar.accept_token(1)
    grammar.finished = True
    assert grammar.error is None


def test_rows_are_those_of_the_session_and_an_end_token_follows(decoder: Decoder) -> None:
    source = random.Random(1)
    for _ in range(20):
        told: list[Ended] = []
        grammar, reference = grammar_of(decoder, told), decoder.session(60)
        while reference.state == "open":
            allowed = row_of(grammar, decoder)
            assert allowed == list(reference.allowed())
            token = source.choice(allowed)
            grammar.accept_token(token)
            reference.commit([token])
            assert not grammar.is_terminated()
        assert row_of(grammar, decoder) == [end_of(decoder)]
        assert grammar.is_complete
        assert told == []
        grammar.accept_token(end_of(decoder))
        assert grammar.is_terminated()
        assert told == []  # a draft may still be taken back
        grammar.finished = True
        grammar.finished = True
        assert [(each.request_id, each.error) for each in told] == [("r", None)]
        record = json.loads(told[0].grammar.session.text)
        assert record["first"] != record["second"]


def test_drafts_that_are_taken_back_leave_no_trace(decoder: Decoder) -> None:
    source = random.Random(2)
    grammar = grammar_of(decoder)
    while not grammar.is_terminated():
        before = row_of(grammar, decoder)
        drafted = 0
        while drafted < source.randrange(6) and not grammar.is_terminated():
            grammar.accept_token(source.choice(row_of(grammar, decoder)))
            drafted += 1
        grammar.rollback(drafted)
        assert row_of(grammar, decoder) == before
        grammar.accept_token(source.choice(before))


def test_copies_are_apart(decoder: Decoder) -> None:
    grammar = grammar_of(decoder)
    twin = grammar.copy()
    for _ in range(5):
        grammar.accept_token(row_of(grammar, decoder)[0])
    assert twin.session.num_tokens == 0
    assert row_of(twin, decoder) == row_of(grammar_of(decoder), decoder)


def test_tokens_that_are_not_allowed_abort_the_request(decoder: Decoder) -> None:
    grammar = grammar_of(decoder)
    with pytest.raises(ValueError, match="is not allowed after ''"):
        grammar.accept_token(end_of(decoder))


class _Spent:
    """A session whose budget ends behind its third token."""

    def __init__(self, *given: Any) -> None:
        self._session = Session(*given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def fill_row(self, out: Any, holds: Any = None) -> Any:
        if self._session.num_tokens >= 3:
            raise BudgetSpent("the budget ended", partial=self._session.text)
        return self._session.fill_row(out, holds)


class _Broken(_Spent):
    def fill_row(self, out: Any, holds: Any = None) -> Any:
        raise KeyError("a defect")


@pytest.mark.parametrize(("kind", "told_as"), [(_Spent, "the budget ended"), (_Broken, "the session failed")])
def test_a_session_that_fails_ends_its_own_request_alone(decoder: Decoder, kind: Any, told_as: str) -> None:
    told: list[Ended] = []
    grammar = WithStats(kind(decoder, None, None), end_of(decoder), request_id="r", ended=told.append)
    while row_of(grammar, decoder) != [end_of(decoder)]:
        grammar.accept_token(row_of(grammar, decoder)[0])
    with pytest.raises(ValueError, match="given up"):
        grammar.accept_token(end_of(decoder))
    grammar.finished = True
    assert told_as in str(told[0].error)


def test_rows_are_applied_to_logits(decoder: Decoder) -> None:
    grammar = grammar_of(decoder)
    width = decoder.vocabulary.logit_width
    rows = grammar.allocate_vocab_mask(width, 1, "cpu")
    grammar.fill_vocab_mask(rows, 0)
    logits = torch.zeros(1, width)
    grammar.apply_vocab_mask(logits, grammar.move_vocab_mask(rows, "cpu"))
    kept = np.flatnonzero(np.isfinite(logits[0].numpy()))
    assert list(kept) == row_of(grammar, decoder)


def test_the_grammar_behind_a_request_is_found_once_the_model_has_thought(decoder: Decoder) -> None:
    grammar = grammar_of(decoder)
    assert session_grammar_of(grammar) is grammar
    assert session_grammar_of(SimpleNamespace(grammar=grammar, tokens_after_end=-1)) is None
    assert session_grammar_of(SimpleNamespace(grammar=grammar, tokens_after_end=0)) is grammar
    assert session_grammar_of(SimpleNamespace(grammar=SimpleNamespace(), tokens_after_end=0)) is None
    assert session_grammar_of(None) is None
    while not grammar.is_terminated():  # behind the end nothing is drafted
        grammar.accept_token(row_of(grammar, decoder)[0])
    assert session_grammar_of(grammar) is None
    assert session_grammar_of(SimpleNamespace(grammar=grammar, tokens_after_end=0)) is None


def test_expected_tokens_are_written_as_others_are(decoder: Decoder) -> None:
    source = random.Random(7)
    for _ in range(20):
        grammar, reference = grammar_of(decoder), grammar_of(decoder)
        while not reference.is_complete:
            plan = reference.plan()
            grammar.expect(plan.tokens[: source.randrange(len(plan.tokens) + 3)])
            run = plan.tokens[: source.randrange(len(plan.tokens) + 1)]
            chosen = []
            if run == plan.tokens and plan.choices:
                chosen = [source.choice(plan.choices[0].allowed.ids().tolist())]
            for token in [*run, *chosen]:
                for one in (grammar, reference):
                    one.accept_token(token)
            if source.random() < 0.3:
                assert row_of(grammar, decoder) == row_of(reference, decoder)
            if source.random() < 0.3:
                taken_back = source.randrange(reference.session.num_tokens + 1)
                for one in (grammar, reference):
                    one.rollback(taken_back)
        assert grammar.is_complete
        assert grammar.session.tokens == reference.session.tokens


def test_a_token_that_is_not_the_expected_one_is_judged_by_the_session(decoder: Decoder) -> None:
    grammar = grammar_of(decoder)
    first = grammar.plan().tokens
    grammar.expect(first)
    grammar.accept_token(first[0])
    with pytest.raises(ValueError, match="is not allowed"):
        grammar.accept_token(end_of(decoder))


def test_a_record_that_is_given_up_is_told_once(decoder: Decoder) -> None:
    told: list[Ended] = []
    grammar, error = grammar_of(decoder, told), BudgetSpent("spent", partial="")
    grammar.give_up(error)
    grammar.finished = True
    assert [ended.error for ended in told] == [error]


def test_a_session_that_fails_where_a_token_is_written_is_given_up(
    decoder: Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Ended] = []
    grammar = grammar_of(decoder, told)
    token = row_of(grammar, decoder)[0]

    def spent(*_: object) -> int:
        raise BudgetSpent("the budget ended", partial="")

    monkeypatch.setattr(grammar.session, "commit", spent)
    grammar.accept_token(token)
    assert isinstance(grammar.error, BudgetSpent)
    assert row_of(grammar, decoder) == [end_of(decoder)]
    with pytest.raises(ValueError, match="given up: the budget ended"):
        grammar.accept_token(end_of(decoder))
    grammar.finished = True
    assert [ended.error for ended in told] == [grammar.error]


def ended_by_a_stop(decoder: Decoder, told: list[Ended]) -> SessionGrammar:
    """The grammar of a request that has finished by a stop string, as nobody here knows yet."""
    grammar = grammar_of(decoder, told)
    for token in grammar.plan().tokens:
        grammar.accept_token(token)
    return grammar


def test_what_fails_behind_the_end_is_not_told_as_the_record_s(decoder: Decoder) -> None:
    told: list[Ended] = []
    grammar = ended_by_a_stop(decoder, told)
    grammar.fail(BudgetSpent("spent", partial=""))  # the plan of the step behind it
    grammar.finished = True
    assert [ended.error for ended in told] == [None]


def test_a_record_that_goes_on_behind_a_failure_is_given_up(decoder: Decoder) -> None:
    told: list[Ended] = []
    grammar, error = ended_by_a_stop(decoder, told), BudgetSpent("spent", partial="")
    grammar.expect((5, 6))
    grammar.fail(error)
    with pytest.raises(ValueError, match="given up: spent"):
        grammar.accept_token(5)
    grammar.finished = True
    assert [ended.error for ended in told] == [error]


def test_tokens_of_a_step_behind_the_end_pass_where_the_session_fails_at_them(
    decoder: Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spent(*_: object) -> int:
        raise BudgetSpent("the budget ended", partial="")

    for end, is_told in ((False, False), (True, True)):
        told: list[Ended] = []
        grammar = ended_by_a_stop(decoder, told)
        num_tokens = grammar.session.num_tokens
        monkeypatch.setattr(grammar.session, "commit", spent)
        for token in (1, 2, 3):
            grammar.accept_token(token)
        assert grammar.written().num_tokens == num_tokens
        assert not grammar.is_terminated()
        if end:  # it has to be the record's own: where something else may stop, the end has its own step
            with pytest.raises(ValueError, match="given up"):
                grammar.accept_token(end_of(decoder))
        grammar.finished = True
        assert [ended.error is not None for ended in told] == [is_told]


def test_a_record_is_reported_as_far_as_it_could_be_written(
    decoder: Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Ended] = []
    grammar = ended_by_a_stop(decoder, told)
    num_tokens = grammar.session.num_tokens
    grammar.expect((1, 2))
    for token in (1, 2):
        grammar.accept_token(token)  # written once somebody asks

    def spent(*_: object) -> int:
        raise BudgetSpent("the budget ended", partial="")

    monkeypatch.setattr(grammar._session, "commit", spent)
    grammar.finished = True
    assert (told[0].error, grammar.written().num_tokens) == (None, num_tokens)


def test_an_answer_that_writes_its_end_token_itself_needs_no_other() -> None:
    made = making("smollm2")
    end_id = made.vocabulary.end_ids[0]
    session = AnswerSession(made.rules("a", most_calls=2), TellingModel(made.vocabulary, (1,), ()), 200)
    grammar = WithStats(session, end_id)
    while end_id not in session.allowed():
        grammar.accept_token(session.plan().tokens[0])
    grammar.accept_token(end_id)
    assert grammar.is_terminated() and session.has_ended
    written = session.num_tokens
    grammar.rollback(2)
    assert not grammar.is_terminated()
    assert grammar.session.num_tokens == written - 2


def test_text_at_its_limit_is_ended() -> None:
    made = making("smollm2")
    end_id = made.vocabulary.end_ids[0]
    rules = made.rules("a", text=True, cuts_text=True)
    grammar = WithStats(AnswerSession(rules, TellingModel(made.vocabulary, (1,), ()), 3), end_id)
    (word,) = made.vocabulary.encode_inside("a")
    for _ in range(3):
        rows = grammar.allocate_vocab_mask(made.vocabulary.logit_width, 1, "cpu")
        grammar.fill_vocab_mask(rows, 0)
        assert word in unpack_row(rows[0].numpy())
        grammar.accept_token(word)
    rows = grammar.allocate_vocab_mask(made.vocabulary.logit_width, 1, "cpu")
    grammar.fill_vocab_mask(rows, 0)
    assert list(unpack_row(rows[0].numpy())) == [end_id]
    grammar.accept_token(end_id)
    assert grammar.is_terminated()
    grammar.rollback(1)
    assert (grammar.is_terminated(), grammar.session.num_tokens) == (False, 3)
