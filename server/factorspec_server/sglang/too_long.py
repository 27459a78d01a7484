"""SGLang's words for a prompt or a token limit that does not fit, read.

The limit in them is not the one that was asked for: it has room for the end token behind the record.
"""

from __future__ import annotations

import re

from factorspec_server.engines import ContextTooLong
from factorspec_server.sglang.room import ROOM

_TOTAL = re.compile(
    r"maximum context length of (?P<most>\d+) tokens.*?"
    r"(?P<prompt>\d+) tokens from the input messages and (?P<limit>\d+) tokens for the completion",
    re.DOTALL,
)
_LIMIT = re.compile(r"max_completion_tokens is too large: (?P<limit>\d+)\D+(?P<most>\d+) completion tokens")
_PROMPT = re.compile(
    r"[Ii]nput(?: length)? \((?P<prompt>\d+) tokens\).*?(?:context|allowed) length \((?P<most>\d+) tokens\)"
)


def too_long(message: str) -> ContextTooLong | None:
    """The error of ours that a message of SGLang's stands for; None if it is about something else."""
    for pattern in (_TOTAL, _LIMIT, _PROMPT):
        found = pattern.search(message)
        if found is not None:
            told = {name: int(number) for name, number in found.groupdict().items()}
            limit, most = told.get("limit", ROOM + 1) - ROOM, told["most"] - ROOM
            return ContextTooLong(num_tokens=told.get("prompt", 0) + limit, max_positions=most)
    return None
