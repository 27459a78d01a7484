"""Notes for open trips: what people write to assistants, cut into pieces.

A gold note must be text as it is written in use, neither constant nor random, so that drafters that guess
text meet what they meet there. The public package ``bfcl-eval`` brings long messages of users
(``bfcl_calls.py`` says how to have it); their text, one after the other, makes the notes. What it says has
nothing to do with the trip, so that no drafter finds it in the prompt; no two notes share a piece of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from factorspec_sdk.tokens import Vocabulary

#: whose messages make long notes, and whose short ones
_LONG = (
    "memory_prereq_conversation/*.json",
    "BFCL_v4_multi_turn_base.json",
    "BFCL_v4_multi_turn_miss_param.json",
    "BFCL_v4_web_search.json",
)
_SHORT = ("BFCL_v4_parallel_multiple.json", "BFCL_v4_parallel.json", "BFCL_v4_live_multiple.json")
LONG_TOKENS, SHORT_CHARACTERS = 128, 80
_LEAST_CHARACTERS = 40


def long_notes(folder: Path, vocabulary: Vocabulary) -> Iterator[str]:
    """Notes of ``LONG_TOKENS`` tokens, up to the end of a word."""
    text = " ".join(_messages(folder, _LONG))
    tokens = vocabulary.encode(text)
    for at in range(0, len(tokens) - LONG_TOKENS, LONG_TOKENS):
        piece = vocabulary.decode(tokens[at : at + LONG_TOKENS])
        yield piece.strip("\ufffd").rsplit(" ", 1)[0].strip()


def short_notes(folder: Path) -> Iterator[str]:
    """Notes of up to ``SHORT_CHARACTERS`` characters: how messages begin."""
    for message in _messages(folder, _SHORT):
        whole = len(message) <= SHORT_CHARACTERS
        yield message if whole else message[:SHORT_CHARACTERS].rsplit(" ", 1)[0].rstrip(" ,;")


def _messages(folder: Path, patterns: tuple[str, ...]) -> Iterator[str]:
    """Texts of users in the order of the files, each once.

    Without quotation marks: XGrammar 0.2.1 takes no token that begins a bounded text with one.
    """
    seen = set()
    for path in (path for pattern in patterns for path in sorted(folder.glob(pattern))):
        for line in path.read_text(encoding="utf-8").splitlines():
            for turn in json.loads(line)["question"]:
                for message in turn:
                    text = re.sub(r"[\s\"]+", " ", message["content"]).strip()
                    if message["role"] == "user" and len(text) >= _LEAST_CHARACTERS and text not in seen:
                        seen.add(text)
                        yield text
