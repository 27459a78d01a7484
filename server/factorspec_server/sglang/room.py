"""How many tokens a request has room for, told to its session before it is opened.

What a request may write is known once the scheduler has its prompt: the least of its own limit, the server's
and what the context leaves. SGLang would cut the record there; a session that knows ends it before, or says
that none fits::

    {"type": "object", …, "x-factorspec-request": {"id": "r"}}         max_new_tokens 14 ─►
    {"type": "object", …, "x-factorspec-request": {"id": "r", "token_limit": 12}}

Requests that come to SGLang's own endpoints, without options of ours, are cut where they ask for it.
"""

from __future__ import annotations

import json
from typing import Any

from factorspec_server.sglang.envelope import OPTIONS
from factorspec_server.sglang.envelopes import split_text

ROOM = 2
"""SGLang ends a request with "length" where its last token is the end token behind the record."""


def room_told(manager: Any, req: Any) -> None:
    """Hook before ``GrammarManager.process_req_with_grammar``: narrows the request's schema to its room.

    Does nothing where the grammar backend is another.
    """
    params = req.sampling_params
    is_ours = getattr(manager.grammar_backend, "opens_records", False)
    if is_ours and isinstance(params.json_schema, str) and params.max_new_tokens:
        params.json_schema = with_room(params.json_schema, max(1, params.max_new_tokens - ROOM))


def with_room(text: str, most: int) -> str:
    """A schema's text whose record has ``most`` tokens at most; as it is if it asks for none, or for less.

    O(length) without reading it.
    """
    document, options = split_text(text)
    if not options or "answer" in options:
        return text  # answers that may be several have limits that are counted with the prompt
    limit = options.get("token_limit")
    if isinstance(limit, int) and limit <= most:
        return text
    return f'{document[:-1]}, "{OPTIONS}": {json.dumps({**options, "token_limit": most})}}}'
