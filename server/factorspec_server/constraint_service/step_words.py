"""What the step thread tells a worker: packets of uint32 words, each whole or not at all.

::

    ASK     step, more,
            then for each: slot, serial, question, most, kept, count, tokens …
    PROMPT  slot, serial, tokens …          the next part of a record's prompt
    DRAFT   0, bytes of JSON                what to draft from now on

``more``: another packet of the step follows. ``kept``: tokens of the record that stand from before;
``count`` further ones follow.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from factorspec_server.drafting import DraftingSpec

ASK, PROMPT, DRAFT = range(3)
#: words of a packet: sockets take no larger ones
MOST_WORDS = 24_000
PACKET_BYTES = 1 << 18
_MORE = 2


class Question(NamedTuple):
    """What is asked about a record."""

    slot: int
    serial: int
    number: int
    most: int
    kept: int
    tokens: Sequence[int]


class Asking:
    """Packets of one step for one worker."""

    def __init__(self, step: int) -> None:
        self._head = (ASK, step, 0)
        self._words = array("I", self._head)
        self.packets: list[array[int]] = [self._words]

    def add(self, slot: int, serial: int, number: int, most: int, kept: int, tokens: Sequence[int]) -> None:
        """Ask about a record; tokens that one packet cannot hold must be sent before (``parts``)."""
        words = self._words
        if len(words) + len(tokens) > MOST_WORDS:
            words[_MORE] = 1
            words = self._words = array("I", self._head)
            self.packets.append(words)
        words.extend((slot, serial, number, most, kept, len(tokens), *tokens))


def is_last(words: Sequence[int]) -> bool:
    """True if an ASK packet is the last of its step."""
    return not words[_MORE]


def questions(words: Sequence[int]) -> Iterator[Question]:
    """The questions of an ASK packet."""
    at = _MORE + 1
    while at < len(words):
        slot, serial, number, most, kept, count = words[at : at + 6]
        at += 6
        yield Question(slot, serial, number, most, kept, words[at : at + count])
        at += count


def prompt_packets(slot: int, serial: int, token_ids: Sequence[int]) -> Iterator[array[int]]:
    """A record's prompt."""
    for start in range(0, len(token_ids), MOST_WORDS):
        yield array("I", (PROMPT, slot, serial, *token_ids[start : start + MOST_WORDS]))


def drafting_packet(drafting: DraftingSpec) -> bytes:
    """What to draft."""
    return array("I", (DRAFT, 0)).tobytes() + json.dumps(drafting.as_json()).encode()


def drafting_of(packet: bytes) -> DraftingSpec:
    """What a DRAFT packet says."""
    return DraftingSpec.from_json(json.loads(packet[8:]))
