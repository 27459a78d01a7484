"""Guesses of a step end in time, and no record is always the last."""

from __future__ import annotations

import pytest

from factorspec_server.constraint_service import worker
from factorspec_server.constraint_service.step_words import Question


@pytest.mark.parametrize("count", [1, 3, 8])
def test_each_record_has_its_turn_to_be_first(count: int) -> None:
    asked = [Question(slot, 0, 0, 0, 0, ()) for slot in range(count)]
    turns = [worker._in_turn(asked, step) for step in range(5, 5 + count)]
    assert sorted(turn[0].slot for turn in turns) == list(range(count))
    assert all(sorted(each.slot for each in turn) == list(range(count)) for turn in turns)


def test_a_step_may_ask_nothing() -> None:
    assert worker._in_turn([], 2) == []
