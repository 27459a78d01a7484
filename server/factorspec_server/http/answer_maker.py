"""What a request wants of its answer, compiled: a record, tools, text; and the sessions that write it.

::

    ChatRequest ──compile──► Enforced ──prompt_ids──► prompt
                                      ──sessions────► one for each choice, under one token limit
                ──kept─────────────────────────────► the same, kept by other processes and compiled there

Kept are records alone. Answers with tools or refusals, and records of canonical text, whose every drawn token
is asked about, stay in this process.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import TypeVar

from factorspec_sdk.decoding import Session
from factorspec_sdk.errors import TokenLimitTooSmall
from factorspec_server.engines.answer_session import AnswerSession
from factorspec_server.http.answer_prompts import AnswerPrompts
from factorspec_server.http.answer_wish import AnswerWish
from factorspec_server.http.call_format import CallFormat
from factorspec_server.http.chat_request import ChatRequest
from factorspec_server.http.compiled_spec import Compiler
from factorspec_server.http.enforced import Enforced, Tokens, Writes, enforced
from factorspec_server.http.kept import KeptSession, SessionService
from factorspec_server.http.served_model import ServedModel
from factorspec_server.http.tool_decoders import ToolDecoders
from factorspec_server.salts import salt_of
from factorspec_server.settings import Budgets

AnySession = Session | AnswerSession

T = TypeVar("T")


class AnswerMaker:
    """Compiles requests for one model and opens their sessions. Methods may be called from any thread."""

    def __init__(
        self,
        served: ServedModel,
        compiler: Compiler,
        budgets: Budgets,
        service: SessionService | None = None,
    ) -> None:
        """``service``: keeps the sessions of records; None: they are this process's."""
        self._served = served
        self._compiler = compiler
        self._budgets = budgets
        self._service = service

    @property
    def form(self) -> CallFormat:
        """How calls are written."""
        return self._prompts.form

    def compile(self, chat: ChatRequest) -> Enforced:
        """What the request wants, compiled.

        Raises:
            DocumentError: a document cannot be enforced. Places in a tool's are pointers into the request.
            InfeasibleError: nothing can satisfy a document, or proving that exceeds the budgets.
            EngineError: the tokenizer cannot write calls.
        """
        is_plain = not chat.offered_tools and not chat.factorspec.refusal
        form = CallFormat() if is_plain else self.form
        wish = AnswerWish.of(chat, form, self._budgets.parallel_calls)
        wishes = chat.factorspec
        writes = Writes(wishes.on_budget, wishes.canonical_text, salt=salt_of(chat.cache_salt))
        served = self._served
        tokens = Tokens(served.canonical.vocabulary, served.engine.model.num_tokens)
        return enforced(wish, self._compiler, lambda: self._decoders, tokens, writes)

    def prompt_ids(self, chat: ChatRequest, made: Enforced) -> tuple[int, ...]:
        """The prompt's tokens."""
        specs = {name: compiled.spec for name, compiled in made.tools.items()}
        return self._prompts.prompt_ids(chat, specs)

    def sessions(
        self, chat: ChatRequest, enforced: Enforced, limit: int, most: int
    ) -> tuple[int, list[AnySession | None]]:
        """A session for each choice: under ``limit``, or ``most`` where the shortest answer needs more.

        Returns:
            The limit that is kept to, and the sessions; None: an ordinary chat needs none.

        Raises:
            TokenLimitTooSmall: no valid answer fits.
        """
        make = self._session(chat, enforced)
        if make is None:
            return limit, [None] * chat.n
        return _within(lambda size: _several(make, size, chat.n), limit, most)

    def keeps(self, chat: ChatRequest) -> bool:
        """True if the answers are records that the service keeps: ``kept`` opens them."""
        is_record = chat.schema_document is not None and not chat.offered_tools
        wishes = chat.factorspec
        return self._service is not None and is_record and not wishes.refusal and not wishes.canonical_text

    def kept(self, chat: ChatRequest, limit: int, most: int) -> tuple[int, list[KeptSession]]:
        """As ``compile`` and ``sessions``, of answers that the service keeps."""
        return _within(lambda size: self._open(chat, size), limit, most)

    def _open(self, chat: ChatRequest, limit: int) -> list[KeptSession]:
        """A kept session for each choice."""
        document, service, salt = chat.schema_document, self._service, salt_of(chat.cache_salt)
        assert document is not None and service is not None
        opened: list[KeptSession] = []
        try:
            for _ in range(chat.n):
                on_budget = chat.factorspec.on_budget
                opened.append(service.open(document, token_limit=limit, on_budget=on_budget, salt=salt))
        except BaseException:
            for session in opened:
                session.close()
            raise
        return opened

    def _session(self, chat: ChatRequest, enforced: Enforced) -> Callable[[int], AnySession] | None:
        if enforced.rules is not None:
            return partial(AnswerSession, enforced.rules, self._served.engine.model)
        if enforced.record is None:
            return None
        wishes = chat.factorspec
        return partial(
            enforced.record.decoder.session,
            on_budget=wishes.on_budget,
            canonical_text=wishes.canonical_text,
            salt=salt_of(chat.cache_salt),
        )

    @cached_property
    def _decoders(self) -> ToolDecoders:
        budgets, canonical = self._budgets, self._served.canonical
        return ToolDecoders(
            self._compiler,
            canonical,
            self._prompts.spelled,
            max_entries=budgets.cached_tool_sets,
            max_bytes=budgets.cached_tool_bytes,
        )

    @cached_property
    def _prompts(self) -> AnswerPrompts:
        return AnswerPrompts(self._served.template, self._served.canonical.vocabulary)


def _within(make: Callable[[int], list[T]], limit: int, most: int) -> tuple[int, list[T]]:
    """The limit, and what is made under it: ``limit``, or ``most`` where the shortest answer needs more."""
    try:
        return limit, make(limit)
    except TokenLimitTooSmall:
        if most <= limit:
            raise
        return most, make(most)


def _several(make: Callable[[int], AnySession], limit: int, count: int) -> list[AnySession | None]:
    return [make(limit) for _ in range(count)]
