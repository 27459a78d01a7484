"""The request to SGLang's own ``/generate`` that writes an answer, and what comes back for each choice.

All choices go as one batch, each with a session of its own, which the schema's options open
(``envelope.py``)::

    {"input_ids": [[…], …], "sampling_params": [{"json_schema": "{\\"x-factorspec-request\\": …}", …}, …]}
    ◄─ [{"output_ids": […], "meta_info": {"finish_reason": {"type": "stop"}, "prompt_tokens": …}}, …]
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from factorspec_sdk.errors import JsonValue
from factorspec_server.engines import seed_of_choice
from factorspec_server.http.answer_wish import AnswerWish
from factorspec_server.settings import Budgets
from factorspec_server.sglang.answer_asked import AnswerAsked
from factorspec_server.sglang.envelope import Envelope, RequestOptions
from factorspec_server.sglang.room import ROOM
from factorspec_server.sglang.served_chat import ServedChat

_SEED_BITS = 63


@dataclass(frozen=True, slots=True)
class Generation:
    """A request to ``/generate``.

    Attributes:
        body: of it.
        ids: under which the report of each choice comes.
        thinks: the model thinks before it answers.
    """

    body: bytes
    ids: tuple[str, ...]
    thinks: bool


def generation_of(asked: AnswerAsked, served: ServedChat, budgets: Budgets) -> Generation:
    """What SGLang is asked for.

    Raises:
        FactorspecError: the prompt cannot be made, or leaves no room.
    """
    chat = asked.chat
    prompt_ids = served.prompt_ids(asked)
    limit, most = served.limits(prompt_ids, chat, budgets.default_tokens)
    wish = AnswerWish.of(chat, served.prompts.form, budgets.parallel_calls)
    base = secrets.token_hex(12)
    ids = tuple(f"{base}-{index}" for index in range(chat.n))
    thinks = served.thinks(asked)
    options = RequestOptions(
        token_limit=limit,
        most_tokens=most if most > limit else None,
        on_budget=chat.factorspec.on_budget,
        origins=chat.factorspec.origins,
        answer=wish,
    )
    drawing: dict[str, JsonValue] = {
        **served.sampling(chat), "max_new_tokens": most + ROOM, "skip_special_tokens": False
    }  # fmt: skip
    parameters = []
    for index, request_id in enumerate(ids):
        envelope = Envelope({}, options.model_copy(update={"id": request_id}))
        seed = {} if chat.seed is None else {"sampling_seed": _seed(chat.seed, index)}
        parameters.append({**drawing, **seed, "json_schema": json.dumps(envelope.as_document())})
    body: dict[str, Any] = {
        "input_ids": [list(prompt_ids)] * chat.n,
        "sampling_params": parameters,
        "stream": chat.stream,
        "require_reasoning": thinks,
    }
    if asked.priority is not None:
        body["priority"] = asked.priority
    if asked.salt is not None:
        body["extra_key"] = asked.salt
    return Generation(json.dumps(body).encode(), ids, thinks)


def _seed(seed: int, index: int) -> int:
    return seed_of_choice(seed, index) & ((1 << _SEED_BITS) - 1)


@dataclass(slots=True)
class Output:
    """What has come of one choice.

    Attributes:
        tokens: all of them.
        finish_reason: as SGLang says; None: it goes on.
        prompt_tokens: of the prompt.
        cached_tokens: of them, those held already.
    """

    tokens: list[int] = field(default_factory=list)
    finish_reason: dict[str, Any] | None = None
    prompt_tokens: int = 0
    cached_tokens: int = 0

    def take(self, told: dict[str, Any]) -> Sequence[int]:
        """Note what SGLang tells of the choice; its new tokens, of all so far or the last ones."""
        meta, given = told["meta_info"], told.get("output_ids") or []
        num_seen, num_all = len(self.tokens), meta.get("completion_tokens", 0)
        is_whole = len(given) > num_all - num_seen
        new = given[num_seen:] if is_whole else given
        self.tokens += new
        self.finish_reason = meta.get("finish_reason")
        self.prompt_tokens = meta.get("prompt_tokens", self.prompt_tokens)
        self.cached_tokens = meta.get("cached_tokens", self.cached_tokens)
        return new

    @property
    def abort(self) -> tuple[int, str] | None:
        """Status and reason, where SGLang gave the choice up."""
        reason = self.finish_reason
        if reason is None or reason.get("type") != "abort":
            return None
        code = reason.get("status_code")
        return int(code) if isinstance(code, int) else 500, str(reason.get("message", ""))
