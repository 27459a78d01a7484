"""The usual step of a record, written at once, is the same as token by token."""

from __future__ import annotations

import pytest

from factorspec_sdk.tokens import Vocabulary
from factorspec_server.constraint_service import ConstraintService, RemoteRecord
from tests.benchmarks.sessions_growth import small_document
from tests.constraint_service.pairs import NOTES, Document, Pairs, RandomTokens, compiler_of

DOCUMENTS: dict[str, Document] = {"notes": NOTES, "team": small_document(0), "sum": small_document(1)}


def seen(record: RemoteRecord) -> tuple[object, ...]:
    return record.tokens, record.version, record.num_tokens


@pytest.mark.parametrize("name", DOCUMENTS)
def test_taken_at_once_is_as_written_one_by_one(
    service: ConstraintService, vocabulary: Vocabulary, name: str
) -> None:
    pair, tokens, taken = Pairs(service, vocabulary).open(DOCUMENTS[name]), RandomTokens(vocabulary, 4), 0
    record, session = pair.record, pair.session
    while session.state == "open" and session.num_tokens < 150:
        pair.compare_plans()
        plan = session.plan()
        if not plan.choices:
            before = seen(record)
            assert not record.take(plan.tokens, 1)
            assert seen(record) == before
            pair.commit(plan.tokens)
            continue
        allowed = plan.choices[0].allowed
        token = tokens.choose(allowed)
        wrong = next(each for each in range(vocabulary.logit_width) if each not in allowed)
        before = seen(record)
        for run, last in (
            (plan.tokens, wrong),
            ((*plan.tokens, token), token),
            ((*plan.tokens[:-1],), token),
        ):
            if run != plan.tokens or last == wrong:
                assert not record.take(run, last)
                assert seen(record) == before
        assert record.take(plan.tokens, token)
        assert session.commit((*plan.tokens, token)) == len(plan.tokens) + 1
        assert not record.take((), token), "nothing is known of what comes next"
        taken += 1
        if taken % 5 == 0:
            pair.rollback(1)
            assert not record.take((), token)
            pair.commit((token,))
        pair.compare()
    assert taken
    pair.compare_reports()
    record.close()


def test_rows_of_plans_with_the_same_words_are_their_own(
    service: ConstraintService, vocabulary: Vocabulary
) -> None:
    pairs, tokens = Pairs(service, vocabulary), RandomTokens(vocabulary, 1)
    written = [pairs.open(NOTES) for _ in range(3)]
    held = []
    for _ in range(40):
        for pair in written:
            if pair.session.state == "open":
                plan = pair.session.plan()
                held.append((pair.record.plan(), plan))
                pair.commit((*plan.tokens, *(tokens.choose(each.allowed) for each in plan.choices)))
    for pair in written:
        pair.compare_plans()
    for plan, expected in held:
        assert plan == expected, "its row is asked for, the record has gone on"
    for pair in written:
        pair.compare()
        pair.record.close()


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_a_run_and_what_is_chosen_behind_it_are_written_at_once(vocabulary: Vocabulary, name: str) -> None:
    """As one token after the other, wherever the run begins, and whatever comes behind."""
    compiled, _ = compiler_of(vocabulary).compile(DOCUMENTS[name])
    compiled.decoder.prepare()
    model = RandomTokens(vocabulary, 7)
    single, groups = compiled.decoder.session(), list[tuple[int, ...]]()
    while single.state == "open":
        group = single.plan().tokens
        if single.commit(group) == len(group) and single.state == "open":
            group = (*group, model.choose(single.allowed()))
            assert single.commit(group[-1:]) == 1
        groups.append(group)
    for begun in (0, 1):
        together, apart = compiled.decoder.session(), compiled.decoder.session()
        for group in groups:
            early, late = (group[:begun], group[begun:]) if len(group) > 1 else ((), group)
            for session in (together, apart):
                session.commit(early)
            wrong = (*late, vocabulary.logit_width + 1)
            assert together.copy().commit(wrong) == apart.copy().commit(wrong)
            assert together.commit(late) == len(late)
            assert [apart.commit((token,)) for token in late] == [1] * len(late)
            assert together.tokens == apart.tokens
            assert together.plan() == apart.plan()
            for back in {1, len(late)}:
                twins = together.copy(), apart.copy()
                for twin in twins:
                    twin.rollback(back)
                assert twins[0].plan() == twins[1].plan()
        assert together.tokens == single.tokens
        assert together.state == apart.state == "complete"
