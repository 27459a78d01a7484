"""Chat completions without HTTP: from a request to what the engine runs, and from its result to the answer.

::

    ChatRequest ──► prepare (any thread) ──► ChatJob ──► engine ──► Completion ──► answer, or pieces of it
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from factorspec_sdk.decoding import Session
from factorspec_sdk.errors import Incomplete, JsonValue, ModelNotFound, TokenLimitTooSmall
from factorspec_server.drafting import Certain, DraftingPolicy
from factorspec_server.engines import Completion, ContextTooLong, Request, Sampling
from factorspec_server.housekeeping import Housekeeping
from factorspec_server.http.chat_request import ChatRequest, Wishes
from factorspec_server.http.compiled_spec import CompiledSpec, Compiler
from factorspec_server.http.report import origins_of, report_of
from factorspec_server.http.served_model import ServedModel
from factorspec_server.settings import ServerSettings
from factorspec_server.version import distribution_version


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatJob:
    """One request, ready for the engine.

    Attributes:
        chat: what was asked.
        request: what the engine runs.
        compiled: the spec to enforce, None for an ordinary chat.
        session: the request's session, None for an ordinary chat.
        was_cached: True if the spec was compiled for an earlier request.
        id: of the completion.
        created: Unix time, in seconds.
    """

    chat: ChatRequest
    request: Request
    compiled: CompiledSpec | None = None
    session: Session | None = None
    was_cached: bool = False
    id: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def spec_hash(self) -> str | None:
        """Hash of the spec that is enforced."""
        return None if self.compiled is None else self.compiled.spec.hash


class ChatService:
    """Prepares requests for one model and makes answers. Methods may be called from any thread."""

    def __init__(
        self, served: ServedModel, settings: ServerSettings, housekeeping: Housekeeping | None = None
    ) -> None:
        self.served = served
        self.settings = settings
        budgets = settings.budgets
        self.compiler = Compiler(
            served.canonical,
            max_entries=budgets.cached_specs,
            max_bytes=budgets.cached_bytes,
            housekeeping=housekeeping,
        )
        vocabulary = served.canonical.vocabulary
        self.fingerprint = f"factorspec-{distribution_version()}-{vocabulary.hash[:12]}"

    def prepare(self, chat: ChatRequest) -> ChatJob:
        """The request as the engine takes it. May take as long as the budgets for compiling allow.

        Raises:
            ModelNotFound: the request asks for another model.
            ContextTooLong: prompt and token limit do not fit into the model's context.
            DocumentError: the document cannot be enforced; places are pointers into it.
            InfeasibleError: no record can satisfy it, or none within the token limit.
        """
        self.check_model(chat.model)
        prompt_ids = self.served.template.encode_chat([message.for_template() for message in chat.messages])
        room = self._room(len(prompt_ids), chat)
        compiled, session, was_cached = None, None, False
        limit = chat.token_limit or min(room, self.settings.budgets.default_tokens)
        document = chat.schema_document
        if document is not None:
            compiled, was_cached = self.compiler.compile(document)
            compiled.decoder.prepare()  # the first tables are made here, not where tokens are drawn
            most = limit if chat.token_limit else room
            limit, session = _session(compiled, limit, most, chat.factorspec)
        request = Request(
            prompt_ids=prompt_ids,
            token_limit=limit,
            session=session,
            sampling=_sampling(chat),
            drafting=self._drafting(prompt_ids, session),
            stop=tuple(chat.stop),
        )
        return ChatJob(chat=chat, request=request, compiled=compiled, session=session, was_cached=was_cached)

    def check_model(self, name: str) -> None:
        """Raise ``ModelNotFound`` unless the model is served under that name."""
        names = (self.served.name, *self.served.aliases)
        if name not in names:
            raise ModelNotFound(f"the model {name!r} is not served here; this server has {', '.join(names)}")

    def _drafting(self, prompt_ids: Sequence[int], session: Session | None) -> DraftingPolicy:
        """A policy for one request; an ordinary chat has nothing to draft."""
        settings = self.settings
        return (
            Certain()
            if session is None
            else self.served.drafting(settings.drafting, prompt_ids, settings.width)
        )

    def _room(self, num_prompt: int, chat: ChatRequest) -> int:
        most = self.served.engine.model.max_positions
        if num_prompt + (chat.token_limit or 1) > most:
            raise ContextTooLong(num_tokens=num_prompt + (chat.token_limit or 1), max_positions=most)
        return most - num_prompt

    def text_of(self, job: ChatJob, completion: Completion) -> str:
        """The answer's text.

        Raises:
            FactorspecError: the engine failed, or stopped before the record was complete.
        """
        text = completion.text if job.session is None else job.session.text
        if completion.error is not None:
            raise completion.error
        if completion.finish_reason == "cancelled":
            raise Incomplete("the server stopped before the answer was complete; send it again", partial=text)
        return text

    def answer(self, job: ChatJob, completion: Completion) -> dict[str, JsonValue]:
        """The body of a complete answer. Raises as ``text_of``."""
        text = self.text_of(job, completion)
        choice: dict[str, JsonValue] = {
            "index": 0,
            "message": {"role": "assistant", "content": text, "refusal": None},
            "logprobs": None,
            "finish_reason": completion.finish_reason,
        }
        return {
            **self.envelope(job, "chat.completion"),
            "choices": [choice],
            "usage": usage_of(completion),
            **self.vendor_part(job, completion),
        }

    def envelope(self, job: ChatJob, kind: str) -> dict[str, JsonValue]:
        """What an answer and its pieces begin with."""
        return {
            "id": job.id,
            "object": kind,
            "created": job.created,
            "model": self.served.name,
            "system_fingerprint": self.fingerprint,
        }

    def vendor_part(self, job: ChatJob, completion: Completion) -> dict[str, JsonValue]:
        """``{"factorspec": {...}}`` where a spec was enforced, else nothing."""
        if job.compiled is None or job.session is None:
            return {}
        report = report_of(job.session, job.compiled, completion.usage)
        report["spec_cached"] = job.was_cached
        report["seed"] = job.request.sampling.seed
        if job.chat.factorspec.origins:
            report["origins"] = origins_of(job.session, self.served.canonical.vocabulary)
        return {"factorspec": {"spec_hash": job.spec_hash, "report": report}}


def usage_of(completion: Completion) -> dict[str, JsonValue]:
    """Token counts as OpenAI names them."""
    prompt, written = completion.usage.prompt_tokens, completion.usage.tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": written,
        "total_tokens": prompt + written,
        "prompt_tokens_details": {"cached_tokens": completion.usage.reused},
    }


def _session(compiled: CompiledSpec, limit: int, most: int, wishes: Wishes) -> tuple[int, Session]:
    """A session under ``limit``, or under ``most`` where the shortest record needs more than ``limit``."""
    on_budget, canonical_text = wishes.on_budget, wishes.canonical_text
    try:
        return limit, compiled.decoder.session(limit, on_budget=on_budget, canonical_text=canonical_text)
    except TokenLimitTooSmall:
        if most <= limit:
            raise
        return most, compiled.decoder.session(most, on_budget=on_budget, canonical_text=canonical_text)


def _sampling(chat: ChatRequest) -> Sampling:
    seed = secrets.randbits(63) if chat.seed is None else chat.seed
    return Sampling(temperature=chat.temperature, top_p=chat.top_p, top_k=chat.top_k, seed=seed)
