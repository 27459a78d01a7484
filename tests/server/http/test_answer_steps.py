"""Answer sessions as engines drive them that ask for rows, take tokens back, and end with an end token."""

from __future__ import annotations

import random

import numpy as np
import pytest

from factorspec_sdk.tokens import unpack_row
from factorspec_server.drafting.seam import Guess, Position
from factorspec_server.engines.answer_rules import AnswerRules
from factorspec_server.engines.answer_session import AnswerSession
from factorspec_server.engines.opener_watch import OpenerWatch
from tests.server.http.calling import FAMILIES, Making, TellingModel, making

LIMIT = 300


def model_of(made: Making) -> TellingModel:
    return TellingModel(made.vocabulary, (1,), ())


def kinds(made: Making) -> list[AnswerRules]:
    record, _ = made.compiler.compile({"type": "object", "properties": {"a": {"enum": [1, 2]}}})
    return [
        made.rules(most_calls=3),
        made.rules(text=True, most_calls=2, stop=("xyz",)),
        made.rules("later", records=(record.decoder, made.decoders.refusal)),
    ]


def row_of(session: AnswerSession, made: Making) -> list[int]:
    row = np.full(made.vocabulary.row_words, -1, dtype=np.int32)
    allowed = session.fill_row(row)
    ids = [int(token) for token in unpack_row(row)]
    assert ids == list(allowed)
    return ids


def state_of(session: AnswerSession, made: Making) -> tuple[object, ...]:
    origins = list(session.report.origins)
    return session.tokens, session.state, session.has_ended, origins, row_of(session, made)


def walk(session: AnswerSession, made: Making, source: random.Random, steps: int) -> None:
    """Write random allowed tokens, towards a call where there is text."""
    calls = session.rules.calls
    assert calls is not None
    opener = calls.watch.opener
    spelled = (
        [opener.token_id] if opener.token_id is not None else made.vocabulary.encode_inside("<tool_call>")
    )
    for _ in range(steps):
        if session.state != "open":
            return
        allowed = row_of(session, made)
        near = [token for token in spelled if token in allowed]
        token = source.choice(near if near and source.random() < 0.5 else allowed)
        assert session.commit((token,)) == 1


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", [0, 1, 2])
def test_what_is_taken_back_was_never_written(family: str, kind: int) -> None:
    made = making(family)
    rules, source = kinds(made)[kind], random.Random(f"{family} {kind}")
    for _ in range(6):
        session = AnswerSession(rules, model_of(made), LIMIT)
        walk(session, made, source, source.randint(0, 25))
        before = state_of(session, made)
        twin = session.copy()
        walk(session, made, source, source.randint(1, 12))
        assert state_of(twin, made) == before  # copies go their own way
        walk(twin, made, source, 3)
        session.rollback(session.num_tokens - len(before[0]))  # type: ignore[arg-type]
        assert state_of(session, made) == before


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_allow_what_plans_allow(family: str) -> None:
    made = making(family)
    for rules in kinds(made):
        session = AnswerSession(rules, model_of(made), LIMIT)
        for _ in range(30):
            if session.state != "open":
                break
            plan, allowed = session.plan(), row_of(session, made)
            want = [plan.tokens[0]] if plan.num_certain else sorted(plan.choices[0].allowed)
            assert allowed == want
            session.commit((allowed[-1],))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("most_calls", [1, 2])
@pytest.mark.parametrize("limit", [LIMIT, 60])
def test_a_plan_is_complete_where_the_answer_is(family: str, most_calls: int, limit: int) -> None:
    """Not where a record in it is: its tag, or one more call, may follow."""
    made, source = making(family), random.Random(f"{family} {most_calls} {limit}")
    seen = set()
    for guesses in (None, first_values):
        session = AnswerSession(made.rules("later", "a", most_calls=most_calls), model_of(made), limit)
        while session.state == "open":
            plan = session.plan(guesses=guesses)
            for node in (*plan.ends, *([len(plan.tokens) - 1] if plan.complete else ())):
                twin, path = session.copy(), []
                at = node
                while at >= 0:
                    path.append(plan.tokens[at])
                    at = plan.parents[at]
                assert twin.commit(path[::-1]) == len(path)
                assert twin.state == "complete"
                seen.add(plan.complete)
            allowed = list(session.allowed())
            session.commit((source.choice(allowed),))
    assert True in seen or most_calls > 1 or family == "tags"


def first_values(position: Position) -> list[Guess]:
    return [Guess(token, 0.5) for token in list(position.allowed)[:2]]


def test_commit_tells_how_many_were_written() -> None:
    made = making("smollm2")
    session = AnswerSession(made.rules("later"), model_of(made), LIMIT)
    certain = session.plan().tokens
    assert session.commit((*certain, made.vocabulary.end_ids[0])) == len(certain)
    assert session.state == "refused"
    session.rollback(0)
    assert (session.state, session.tokens) == ("open", certain)
    with pytest.raises(ValueError, match="cannot take back"):
        session.rollback(len(certain) + 1)


def test_an_answer_says_whether_it_wrote_its_end() -> None:
    made = making("smollm2")
    end_id = made.vocabulary.end_ids[0]
    text = AnswerSession(made.rules(text=True), model_of(made), LIMIT)
    assert text.commit((end_id, end_id)) == 1
    assert (text.has_ended, text.state, text.is_cut) == (True, "complete", False)
    call = AnswerSession(made.rules("a", most_calls=1), model_of(made), LIMIT)
    while call.state == "open":
        call.commit(call.plan().tokens)
    assert call.state == "complete" and not call.has_ended
    several = AnswerSession(made.rules("a", most_calls=2), model_of(made), LIMIT)
    while not several.plan().choices:
        several.commit(several.plan().tokens)
    assert end_id in several.allowed()
    several.commit((end_id,))
    assert several.has_ended and several.state == "complete"


@pytest.mark.parametrize("cuts", [False, True])
def test_text_at_its_limit_is_complete_where_engines_need_it(cuts: bool) -> None:
    made = making("smollm2")
    session = AnswerSession(made.rules(text=True, cuts_text=cuts), model_of(made), 5)
    word = made.vocabulary.encode_inside("a")
    for at in range(5):
        assert session.state == "open" and not session.is_cut, at
        session.commit(word)
    assert session.is_cut is cuts
    assert session.state == ("complete" if cuts else "open")
    assert bool(session.allowed().count) is not cuts


@pytest.mark.parametrize("family", FAMILIES)
def test_openers_of_the_spelling_are_those_of_the_decoders(family: str) -> None:
    """A process that reads answers has no decoders of calls: both must find a call at the same token."""
    made = making(family)
    calls = made.rules(text=True).calls
    assert calls is not None
    spelled = made.decoders.spelled
    assert calls.watch.opener == spelled.opener(made.vocabulary)
    given = calls.inside.session().plan().tokens[: calls.num_given]
    text = b"".join(map(made.vocabulary.token_bytes, given))
    assert not given or text == calls.watch.opener.text
    watch = OpenerWatch(spelled.opener(made.vocabulary), made.vocabulary, made.vocabulary.logit_width)
    assert watch.allowed(0, has_room=True) == calls.watch.allowed(0, has_room=True)
