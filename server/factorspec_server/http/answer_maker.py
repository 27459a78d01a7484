"""What a request wants of its answer, compiled: a record, tools, text; and the sessions that write it.

::

    ChatRequest ──compile──► Enforced ──prompt_ids──► prompt
                                      ──sessions────► one for each choice, under one token limit
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

from factorspec_sdk.decoding import Session
from factorspec_sdk.errors import TokenLimitTooSmall
from factorspec_server.engines.answer_session import AnswerSession
from factorspec_server.http.answer_prompts import AnswerPrompts
from factorspec_server.http.answer_wish import AnswerWish
from factorspec_server.http.call_format import CallFormat
from factorspec_server.http.chat_request import ChatRequest
from factorspec_server.http.compiled_spec import Compiler
from factorspec_server.http.enforced import Enforced, Tokens, Writes, enforced
from factorspec_server.http.served_model import ServedModel
from factorspec_server.http.tool_decoders import ToolDecoders
from factorspec_server.settings import Budgets

AnySession = Session | AnswerSession


class AnswerMaker:
    """Compiles requests for one model and opens their sessions. Methods may be called from any thread."""

    def __init__(self, served: ServedModel, compiler: Compiler, budgets: Budgets) -> None:
        self._served = served
        self._compiler = compiler
        self._budgets = budgets

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
        writes = Writes(wishes.on_budget, wishes.canonical_text)
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
        try:
            return limit, [make(limit) for _ in range(chat.n)]
        except TokenLimitTooSmall:
            if most <= limit:
                raise
            return most, [make(most) for _ in range(chat.n)]

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
