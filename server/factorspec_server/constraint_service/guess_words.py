"""The second answer to a question: the record's plan with guesses, in a block of its own.

The words are those of a plan (``plan_words.py``). Its mask rows stand beside those of the certain plan that
answers the same question, which may be read meanwhile: what both allow has one place, what only the guesses
need gets a further one. They are written before the block, and of the block the question last: it is taken as
a whole or not at all.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import NamedTuple

from factorspec_sdk.tokens import Allowed
from factorspec_server.constraint_service.kept_record import KeptRecord
from factorspec_server.constraint_service.memory import Memory
from factorspec_server.constraint_service.plan_words import HEAD, encode
from factorspec_server.drafting import DraftingSpec

_logger = logging.getLogger(__name__)
#: guesses of a step may take so many seconds together; the other records have none
_GUESS_S = 0.0015


def write_rows(memory: Memory, record: KeptRecord, held: Sequence[Allowed]) -> None:
    """Write the mask rows of a record's plan, those that do not stand there."""
    for place, allowed in enumerate(held):
        if record.rows[place] is not allowed:
            allowed.write_row(memory.rows[record.slot, place])
            record.rows[place] = allowed


class Answered(NamedTuple):
    """A record that was asked about.

    Attributes:
        record: as it was then.
        question: its number.
        most: tokens of a plan.
        held: what the rows of the certain plan allow.
    """

    record: KeptRecord
    question: int
    most: int
    held: Sequence[Allowed]


def guess_all(
    memory: Memory, answered: Sequence[Answered], drafting: DraftingSpec, is_over: Callable[[], bool]
) -> None:
    """Answer the same questions with guesses: for a while, and as long as nobody waits. All of them where the
    drafting has patience for it.
    """
    until_s = perf_counter() + _GUESS_S
    for at, each in enumerate(answered):
        if drafting.patience_s is not None and (is_over() or (at and perf_counter() > until_s)):
            return
        if each.question == each.record.question:
            try:
                guess(memory, each, drafting)
            except Exception:  # the certain plan is there
                _logger.exception("guessing failed")


def guess(memory: Memory, answered: Answered, drafting: DraftingSpec) -> bool:
    """Work out the guesses behind an answer, and publish the plan that has them.

    Returns:
        False: there are none. Raises as sessions do, and nothing is published then.
    """
    record, question, most, held = answered
    plan = record.guessed(drafting, most)
    if plan is None:
        return False
    layout = memory.layout
    words, rows = encode(plan, rows=layout.rows, room=layout.plan_words - 2, held=held)
    write_rows(memory, record, rows)
    memory.publish(memory.again_at(record.slot), question, record.serial, words)
    return True


def guessed_words(memory: Memory, slot: int, serial: int, question: int) -> memoryview | None:
    """The words of the plan with guesses that answers a question, from its kind on, if it is there."""
    words, at = memory.words, memory.again_at(slot)
    if words[at] != question or words[at + 1] != serial:
        return None
    return words[at + 2 : at + HEAD + words[at + HEAD - 1]]
