"""Memories of one spec: a salt's records are its own, and salts cannot make them many."""

from __future__ import annotations

from typing import Any

import pytest

from factorspec_sdk.decoding import Decoder, Session
from factorspec_sdk.decoding.memories import MOST_SALTS, Memories
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.testing import byte_vocabulary
from factorspec_sdk.wire import parse_document

RECORD = tuple(range(40))
DOCUMENT: Any = {
    "type": "object",
    "properties": {"n": {"enum": [1, 2, 3]}},
    "required": ["n"],
    "additionalProperties": False,
}


def test_salts_do_not_see_each_other_s_records() -> None:
    memories = Memories()
    begun = memories.of("a")  # of a record that is open when another one ends
    memories.of("a").remember(RECORD)
    assert len(begun) == 1
    assert [len(memories.of(salt)) for salt in ("a", "b", None)] == [1, 0, 0]
    memories.of(None).remember(RECORD)
    assert [len(memories.of(salt)) for salt in ("a", "b", None)] == [1, 0, 1]
    assert memories.of("a") is memories.of("a")
    assert memories.of(None) is memories.unsalted


def test_they_are_bounded_in_number_and_the_one_used_longest_ago_goes() -> None:
    memories = Memories()
    memories.unsalted.remember(RECORD)
    for number in range(MOST_SALTS):
        memories.of(f"{number}").remember(RECORD)
    full = memories.num_bytes
    assert len(memories.of("0")) == 1  # used again
    memories.of("new").remember(RECORD)
    assert len(memories) == MOST_SALTS
    assert memories.num_bytes == full
    assert [len(memories.of(salt)) for salt in ("0", "2", "new", None)] == [1, 1, 1, 1]
    assert len(memories.of("1")) == 0
    for number in range(10_000):
        memories.of(f"another {number}").remember(RECORD)
    assert len(memories) == MOST_SALTS
    assert memories.num_bytes == full
    assert len(memories.unsalted) == 1


def test_all_are_forgotten_together_also_for_who_reads_them() -> None:
    memories = Memories()
    empty = memories.num_bytes
    held = [memories.of(salt) for salt in (None, "a", "b")]
    for earlier in held:
        earlier.remember(RECORD)
    memories.forget()
    assert [len(earlier) for earlier in held] == [0, 0, 0]
    assert (len(memories), memories.num_bytes) == (0, empty)


@pytest.mark.parametrize("limit", [None, 9])
@pytest.mark.parametrize("canonical_text", [False, True])
def test_copies_of_a_session_have_its_salt(limit: int | None, canonical_text: bool) -> None:
    compiled = compile_spec(parse_document(DOCUMENT))
    decoder = Decoder(compiled.program, compiled.feasibility, byte_vocabulary())
    session: Session = decoder.session(limit, canonical_text=canonical_text, salt="a")
    plain = decoder.session(limit)
    assert (session.salt, session.copy().salt, session.copy().copy().salt) == ("a", "a", "a")
    assert (plain.salt, plain.copy().salt) == (None, None)
    assert decoder.earlier is decoder.memories.of(None)
