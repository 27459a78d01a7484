"""Certain plans first, the same plans with guesses behind them: which of the two is taken."""

from __future__ import annotations

import signal
from random import Random

import numpy as np
import pytest

from factorspec_sdk.decoding import Plan, Session
from factorspec_sdk.errors import FactorspecError
from factorspec_sdk.tokens import Vocabulary
from factorspec_server.constraint_service import ConstraintService, DraftingSpec, Wanted, link, questions
from factorspec_server.constraint_service.guess_words import guessed_words
from factorspec_server.constraint_service.memory import GUESSES, PLANS
from factorspec_server.constraint_service.step_words import Asking
from tests.benchmarks.sessions_growth import small_document
from tests.constraint_service.pairs import NOTES, Pair, Pairs, RandomTokens, serving
from tests.constraint_service.processes import kill, worker_of
from tests.constraint_service.stepped import TREE, stepped

PROMPT = "Please call name 2-3 for 14 hours, and write a note about name 2-7."


def go_on(record: object, session: Session, tokens: RandomTokens) -> None:
    """Write what is certain, and a token behind it."""
    plan = session.plan()
    written = (*plan.tokens, *(tokens.choose(each.allowed) for each in plan.choices))
    for each in (record, session):
        assert each.commit(written) == len(written)  # type: ignore[attr-defined]


def is_of(plan: object, session: Session) -> bool:
    """True if a plan has guesses. Whatever it has is right: each choice allows what the session does."""
    assert isinstance(plan, Plan)
    for choice in plan.choices:
        twin, path, node = session.copy(), list[int](), choice.node
        while node >= 0:
            path.append(plan.tokens[node])
            node = plan.parents[node]
        assert twin.commit(tuple(reversed(path))) == len(path)
        assert not twin.plan().tokens
        assert choice.allowed == twin.allowed()
        row, expected = np.full((2, session.decoder.vocabulary.row_words), -1, dtype=np.int32)
        choice.allowed.write_row(row)
        twin.allowed().write_row(expected)
        assert np.array_equal(row, expected)
    return False in plan.certain


@pytest.mark.parametrize("rows", [1, 2, 6])
@pytest.mark.parametrize("document", [NOTES, small_document(1)], ids=["notes", "sum"])
def test_both_plans_can_be_read_at_once(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch, document: dict[str, object], rows: int
) -> None:
    with stepped(vocabulary, monkeypatch, rows=rows) as both:
        both.draft(TREE)
        both.is_slow = True
        record, session = both.open(document, 1, 7)  # type: ignore[arg-type]
        tokens, guessed = RandomTokens(vocabulary, 2), 0
        while session.state == "open" and session.num_tokens < 120:
            (certain,) = both.step(record)
            assert certain == session.plan()
            both.guess()
            (plan,) = both.plans(record)
            guessed += is_of(plan, session)
            assert not is_of(certain, session), "its rows are still there"
            go_on(record, session, tokens)
        assert guessed > 3


def test_guesses_that_come_late_are_not_those_of_the_next_question(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stepped(vocabulary, monkeypatch) as both:
        both.draft(TREE)
        record, session = both.open(NOTES, 0, 1)
        tokens, guessed = RandomTokens(vocabulary, 0), 0
        while session.state == "open" and session.num_tokens < 100:
            both.is_slow = True
            (first,) = both.step(record)
            assert first == session.plan(), "the guesses are not there"
            go_on(record, session, tokens)
            both.questions.ask([record])
            both.guess()
            assert both.plans(record) == [None], "what is there answers the question before"
            both.is_slow = False
            both.serve()
            (second,) = both.plans(record)
            guessed += is_of(second, session)
            if session.state == "open":
                go_on(record, session, tokens)
        assert guessed > 3
        assert both.waits.total_s >= both.waits.guesses_s > 0


def test_a_record_that_is_rolled_back_has_no_guesses_of_before(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stepped(vocabulary, monkeypatch) as both:
        both.draft(TREE)
        both.is_slow = True
        record, session = both.open(NOTES, 0, 1)
        both.step(record)
        go_on(record, session, RandomTokens(vocabulary, 0))
        (before,) = both.step(record)
        record.rollback(1)
        both.guess()
        assert both.plans(record) == [None]
        assert record.place.answer is before
        session.rollback(1)
        assert both.step(record) == [session.plan()]


@pytest.mark.parametrize(("number", "serial"), [(0, 0), (1, 0), (-1, 0), (0, 1)])
def test_words_that_are_not_of_the_question_are_not_read(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch, number: int, serial: int
) -> None:
    with stepped(vocabulary, monkeypatch) as both:
        both.draft(TREE)
        record, session = both.open(NOTES, 3, 9)
        both.step(record)
        go_on(record, session, RandomTokens(vocabulary, 0))
        both.questions.ask([record])
        both.serve()
        words, at = both.memory.words, both.memory.again_at(3)
        assert guessed_words(both.memory, 3, 9, record.place.question) is not None
        for place, change in enumerate((number, serial)):
            words[at + place] += change
        (plan,) = both.plans(record)
        assert is_of(plan, session) == ((number, serial) == (0, 0))
        assert not record.place.is_guessed, "the bell has rung: nothing else comes"


def test_where_words_come_in_any_order_the_bell_is_heard_first(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (questions, link):
        monkeypatch.setattr(module, "IS_IN_ORDER", False)
    with stepped(vocabulary, monkeypatch) as both:
        both.draft(TREE)
        record, session = both.open(NOTES, 0, 1)
        both.is_slow = True
        both.step(record)
        go_on(record, session, RandomTokens(vocabulary, 0))
        both.step(record)
        rung = both.memory.rung(0, GUESSES)
        both.guess()
        asked = both.memory.rung(0, GUESSES)
        assert asked == both.memory.rung(0, PLANS) > rung
        both.memory.ring(0, GUESSES, rung)
        assert not is_of(both.plans(record)[0], session)
        both.memory.ring(0, GUESSES, asked)
        assert is_of(both.plans(record)[0], session)


@pytest.mark.parametrize("has_guessed", [True, False])
def test_a_worker_that_dies_before_its_guesses_are_out(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch, has_guessed: bool
) -> None:
    with stepped(vocabulary, monkeypatch) as both:
        both.draft(TREE)
        record, session = both.open(NOTES, 0, 1)
        both.step(record)
        go_on(record, session, RandomTokens(vocabulary, 0))
        both.is_slow = True
        both.questions.ask([record])
        both.serve()
        if has_guessed:
            both.guess()
        both.link.alive = False
        (plan,) = both.plans(record)
        assert is_of(plan, session) == has_guessed
        assert not both.questions.guessed_later([record]), "nobody waits for it"


def test_a_record_that_is_closed_between_two_packets_is_left_alone(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stepped(vocabulary, monkeypatch) as both:
        both.draft(TREE)
        closed, other = both.open(NOTES, 0, 1)[0], both.open(NOTES, 1, 2)[0]
        for record, is_last in ((closed, False), (other, True)):
            tokens = both.worker._records[record.place.slot].session.plan().tokens
            asking = Asking(5)
            asking.add(record.place.slot, record.place.serial, 3, 64, 0, tokens)
            asking.packets[0][2] = not is_last
            both.link.send_packet(asking.packets[0])
            both.serve()
            if record is closed:
                both.worker._records.pop(0)
        assert guessed_words(both.memory, 0, 1, 3) is None
        assert guessed_words(both.memory, 1, 2, 3) is not None


def test_a_record_that_cannot_go_on_has_its_error(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stepped(vocabulary, monkeypatch) as both:
        both.draft(TREE)
        broken, fine = both.open(NOTES, 0, 1)[0], both.open(NOTES, 1, 2)
        broken.stand([0], refused=False)
        error, plan = both.step(broken, fine[0])
        assert isinstance(error, FactorspecError)
        is_of(plan, fine[1])
        assert both.questions.guessed_later([broken]) == []
        assert guessed_words(both.memory, 0, 1, broken.place.question) is None


def test_guesses_end_when_the_step_thread_waits(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stepped(vocabulary, monkeypatch) as both:
        both.draft(DraftingSpec(name="tree", patience_s=1.0, earlier=False))
        opened = [both.open(NOTES, slot, slot) for slot in (1, 2)]
        records = [record for record, _ in opened]
        both.step(*records)
        for record, session in opened:
            go_on(record, session, RandomTokens(vocabulary, 0))
        both.worker._told.append({"kind": "row"})
        assert not any(
            is_of(plan, session) for plan, (_, session) in zip(both.step(*records), opened, strict=True)
        )
        assert not any(record.place.is_guessed for record in records)
        both.worker._told.clear()
        for record, session in opened:
            go_on(record, session, RandomTokens(vocabulary, 0))
        both.worker._told.append({"kind": "finish"})
        assert any(
            is_of(plan, session) for plan, (_, session) in zip(both.step(*records), opened, strict=True)
        )


@pytest.mark.parametrize("drafting", [TREE, TREE.resting, DraftingSpec(name="certain")], ids=str)
def test_certain_plans_are_known_ahead_and_guesses_come_behind_them(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch, drafting: DraftingSpec
) -> None:
    with stepped(vocabulary, monkeypatch) as both:
        both.draft(drafting)
        record, session = both.open(small_document(0), 0, 1)
        known = guessed = 0
        while session.state == "open" and session.num_tokens < 120:
            both.step(record)
            go_on(record, session, RandomTokens(vocabulary, 0))
            both.questions.ask([record])
            (ahead,) = both.plans(record)
            assert ahead in (None, session.plan())
            known += ahead is not None
            both.serve()
            (plan,) = both.plans(record)
            guessed += is_of(plan, session)
            if session.state == "open":
                go_on(record, session, RandomTokens(vocabulary, 1))
        assert known > 2, "no worker was needed"
        assert (guessed > 2) == (drafting == TREE)


def write(pair: Pair, service: ConstraintService, source: Random, tokens: RandomTokens) -> int:
    """Write a record, whose guesses are sometimes waited for; how many plans had some."""
    guessed = 0
    while pair.session.state == "open":
        guess_s = source.choice((0.0, 0.0003, None))
        wanted = [Wanted(pair.record, 512)]
        if source.random() < 0.5:
            service.ask(wanted)
        (plan,) = service.plans(wanted, guess_s=guess_s)
        guessed += is_of(plan, pair.session)
        pair.compare()
        assert isinstance(plan, Plan)
        node = -1
        while node >= -1:
            certain = pair.session.plan().tokens
            token = certain[0] if certain else tokens.choose(pair.session.allowed())
            assert pair.commit((token,)) == 1
            behind = [at for at, parent in enumerate(plan.parents) if parent == node]
            node = next((at for at in behind if plan.tokens[at] == token), -2)
            if pair.record.state == "complete":
                break
        if source.random() < 0.2 and pair.session.num_tokens > 2:
            pair.rollback(source.choice((1, 2)))
    pair.compare()
    pair.compare_reports()
    return guessed


@pytest.mark.parametrize("name", ["chain", "branches", "text", "tree"])
def test_records_are_the_same_whenever_guesses_come(
    service: ConstraintService, vocabulary: Vocabulary, name: str
) -> None:
    drafting = DraftingSpec(name=name, width=16, earlier=False)  # type: ignore[arg-type]
    pairs, guessed = Pairs(service, vocabulary, drafting), 0
    for seed, document in enumerate((NOTES, small_document(0), small_document(1))):
        pair = pairs.open(document, prompt=vocabulary.encode(PROMPT), token_limit=150)
        guessed += write(pair, service, Random(seed), RandomTokens(vocabulary, seed))
        pair.record.close()
    assert guessed


def test_workers_that_die_while_they_guess(vocabulary: Vocabulary) -> None:
    with serving(vocabulary) as service:
        pairs = Pairs(service, vocabulary, TREE)
        opened = [pairs.open(NOTES, token_limit=120) for _ in range(4)]
        tokens, step = RandomTokens(vocabulary, 3), 0
        while any(pair.session.state == "open" for pair in opened):
            going = [pair for pair in opened if pair.session.state == "open"]
            wanted = [Wanted(pair.record, 64) for pair in going]
            plans = service.plans(wanted, guess_s=0.0)
            if step in (3, 6):
                kill(worker_of(going[0]))
                plans = service.plans(wanted)
            for pair, plan in zip(going, plans, strict=True):
                is_of(plan, pair.session)
                go_on(pair.record, pair.session, tokens)
            step += 1
        for pair in opened:
            pair.compare()
            pair.compare_reports()
        assert service.stats().records_rebuilt >= 2


def test_a_worker_that_is_silent_about_guesses_holds_nothing_up(vocabulary: Vocabulary) -> None:
    with serving(vocabulary, workers=1) as service:
        pair = Pairs(service, vocabulary, TREE).open(NOTES)
        wanted = [Wanted(pair.record, 64)]
        while not service.plans(wanted):
            pass
        place, memory = pair.record.place, service._memory
        stopped = worker_of(pair)
        go_on(pair.record, pair.session, RandomTokens(vocabulary, 0))
        before = service.waited_s
        (plan,) = service.plans(wanted)
        signal.pidfd_send_signal(place.link._pid_fd or 0, signal.SIGSTOP)
        place.is_guessed = True  # as if it stood still before the bell
        memory.ring(0, GUESSES, 0)
        place.link._seen[GUESSES] = 0
        memory.words[memory.again_at(place.slot)] = 0
        (again,) = service.plans(wanted, guess_s=0.02)
        assert again == plan
        assert 0.02 <= service.waited_s - before < 30.0
        assert service.late(wanted, 0.0) == [pair.record]
        signal.pidfd_send_signal(place.link._pid_fd or 0, signal.SIGCONT)
        assert stopped == worker_of(pair)
