"""The end of a record that somebody else keeps: who closes it."""

from __future__ import annotations

import gc
import time
from typing import Any

import pytest

from factorspec_sdk.decoding import Decoder, Session
from factorspec_sdk.errors import BudgetSpent
from factorspec_server.sglang.session_grammar import Ended, SessionGrammar
from tests.server.sglang.session_grammars import WithStats, end_of, grammar_of, row_of, trip_decoder


@pytest.fixture(scope="module")
def decoder() -> Decoder:
    return trip_decoder()


class Kept:
    """A record that somebody else keeps."""

    def __init__(self, session: Session, events: list[str]) -> None:
        self._session, self._events = session, events

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def copy(self) -> Kept:
        self._events.append("copied")
        return Kept(self._session.copy(), self._events)

    def finish(self, *, origins: bool) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        self._events.append("closed")


def kept(decoder: Decoder, events: list[str], told: list[Ended] | None = None) -> SessionGrammar:
    ended = None if told is None else told.append
    record: Any = Kept(decoder.session(60), events)
    return WithStats(record, end_of(decoder), request_id="r", ended=ended)


def wait_for(events: list[str], wanted: list[str]) -> None:
    """Records are closed by a thread."""
    deadline = time.monotonic() + 30
    while events != wanted and time.monotonic() < deadline:
        time.sleep(0.001)
    assert events == wanted


def test_a_record_whose_end_nobody_wants_to_hear_of_is_closed_at_once(decoder: Decoder) -> None:
    events: list[str] = []
    grammar = kept(decoder, events)
    grammar.finished = False
    assert not events
    grammar.finished = True
    wait_for(events, ["closed"])


def test_whoever_hears_of_the_end_closes_the_record(decoder: Decoder) -> None:
    events: list[str] = []
    told: list[Ended] = []
    grammar = kept(decoder, events, told)
    grammar.give_up(BudgetSpent("spent", partial=""))
    del grammar
    gc.collect()
    assert not events  # its counts are still to be asked for
    told.pop().grammar.close()
    wait_for(events, ["closed"] * 2)  # once more by its end, which means nothing


def test_a_grammar_that_is_dropped_closes_its_record(decoder: Decoder) -> None:
    events: list[str] = []
    grammar = kept(decoder, events, [])
    grammar.accept_token(row_of(grammar, decoder)[0])
    del grammar
    gc.collect()
    wait_for(events, ["closed"])


def test_a_copy_that_nobody_asks_costs_nothing(decoder: Decoder) -> None:
    events: list[str] = []
    grammar = kept(decoder, events)
    del_me = grammar.copy()
    del del_me
    gc.collect()
    assert not events
    twin = grammar.copy()
    for _ in range(4):
        grammar.accept_token(row_of(grammar, decoder)[0])
    assert twin.session.num_tokens == 0  # though made only now
    assert row_of(twin, decoder) == row_of(grammar_of(decoder), decoder)
    assert events == ["copied"]
    written = grammar.copy()
    assert events == ["copied"] * 2
    assert written.session.num_tokens == 4
    del twin, written
    gc.collect()
    wait_for(events, ["copied", "copied", "closed", "closed"])
