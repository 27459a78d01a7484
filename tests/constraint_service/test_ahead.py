"""What workers work out ahead of questions is what they would answer."""

from __future__ import annotations

import os
import signal
from functools import partial
from itertools import chain, repeat
from random import Random

import pytest

from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Vocabulary
from factorspec_server.constraint_service.ahead_words import branches_of, read_ahead, write_ahead
from factorspec_server.constraint_service.kept_record import KeptRecord
from factorspec_server.constraint_service.memory import IS_IN_ORDER, Layout, Memory
from factorspec_server.drafting.looking import every_value
from tests.benchmarks.sessions_growth import small_document
from tests.constraint_service.pairs import NOTES, Document, Pairs, compiler_of, serving, wire_documents
from tests.constraint_service.processes import worker_of

DOCUMENTS: dict[str, Document] = {
    "notes": NOTES,
    "team": small_document(0),
    "sum": small_document(1),
    **wire_documents(),
}


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return vocabulary_like("smollm2")


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("spare", [None, 6])
def test_plans_behind_values(vocabulary: Vocabulary, name: str, spare: int | None) -> None:
    compiled = compiler_of(vocabulary).compile(DOCUMENTS[name])[0]
    decoder = compiled.decoder
    limit = None if spare is None else (decoder.shortest() or 120) + spare
    layout = Layout(workers=1, records=2, rows=1, row_words=vocabulary.row_words, most_tokens=512)
    memory, fd = Memory.create(layout)
    record = KeptRecord((1, 7), compiled, decoder.session(limit), (), 1)
    session, source, seen, question = record.session, Random(3), 0, 0
    while session.state == "open" and session.num_tokens < 200:
        plan = session.plan()
        ahead = record.look_behind(lambda: False)
        assert ahead is not None
        values = plan.choices[0].allowed.ids().tolist() if plan.choices else []
        if ahead.choices and len(values) <= 16:
            question += 1
            write_ahead(memory, 1, 7, question, branches_of(ahead))
            for value in values:
                found = read_ahead(memory, 1, 7, question, value)
                twin = session.copy()
                twin.commit((*plan.tokens, value))
                assert found is None or found == twin.plan()
                seen += found is not None
                assert read_ahead(memory, 1, 7, question - 1, value) is None
                assert read_ahead(memory, 1, 8, question, value) is None
        session.commit((*plan.tokens, *([source.choice(values)] if values else ())))
    assert seen or name == "plain", "text alone has nothing to look behind"
    memory.close()
    os.close(fd)


@pytest.mark.skipif(not IS_IN_ORDER, reason="this processor goes without")
def test_a_value_that_was_looked_behind_needs_no_worker(vocabulary: Vocabulary) -> None:
    with serving(vocabulary) as service:
        pair = Pairs(service, vocabulary).open(small_document(0))
        plan, place = pair.record.plan(), pair.record.place
        value = plan.choices[0].allowed.ids().tolist()[0]
        memory = service._memory
        while read_ahead(memory, place.slot, place.serial, place.question, value) is None:
            pass
        stopped = worker_of(pair)
        os.kill(stopped, signal.SIGSTOP)
        pair.commit((*plan.tokens, value))
        pair.compare_plans()
        pair.compare()
        os.kill(stopped, signal.SIGCONT)
        pair.compare_reports()
        assert service.stats().workers_replaced == 0


def test_a_look_ends_when_somebody_waits(vocabulary: Vocabulary) -> None:
    compiled = compiler_of(vocabulary).compile(small_document(0))[0]
    record = KeptRecord((0, 1), compiled, compiled.decoder.session(), (), 1)
    values = record.session.plan().choices[0].allowed.count
    assert values > 2
    for wanted in range(values + 1):
        others = chain([False] * wanted, repeat(True))
        plan = record.look_behind(partial(next, others))
        assert plan is not None
        assert len(branches_of(plan)) == wanted
    assert plan == record.session.plan(guesses=every_value)
