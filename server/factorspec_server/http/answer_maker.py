"""What a request wants of its answer, compiled: a record, tools, text; and the sessions that write it.

::

    ChatRequest ──compile──► Enforced ──prompt_ids──► prompt
                                      ──sessions────► one for each choice, under one token limit
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from factorspec_sdk.decoding import Session
from factorspec_sdk.errors import DocumentError, InfeasibleError, TokenLimitTooSmall
from factorspec_server.engines.answer_session import AnswerRules, AnswerSession
from factorspec_server.engines.chat_tokenizer import ChatTokenizer
from factorspec_server.http.call_format import CallFormat, SpelledCalls
from factorspec_server.http.chat_request import ChatRequest
from factorspec_server.http.compiled_spec import CompiledSpec, Compiler
from factorspec_server.http.messages import turns_of
from factorspec_server.http.native_tools import NativeTools, native_form
from factorspec_server.http.served_model import ServedModel
from factorspec_server.http.tool_decoders import ToolDecoders
from factorspec_server.http.tool_prompt import ToolPrompt, Turn, WrittenTools, told_tool, with_refusal
from factorspec_server.settings import Budgets

AnySession = Session | AnswerSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Enforced:
    """What is enforced in an answer.

    Attributes:
        record: the response format's document; None: there is none.
        tools: the tools' documents by name, in the order of the request.
        rules: what the answer may be, where it is more than one record or than text.
        fresh: what was compiled for this request, not for earlier ones.
    """

    record: CompiledSpec | None = None
    tools: Mapping[str, CompiledSpec] = field(default_factory=dict)
    rules: AnswerRules | None = None
    fresh: tuple[CompiledSpec, ...] = ()

    @property
    def specs(self) -> tuple[CompiledSpec, ...]:
        """All that is enforced."""
        return (*self.tools.values(), *(() if self.record is None else (self.record,)))


class AnswerMaker:
    """Compiles requests for one model and opens their sessions. Methods may be called from any thread."""

    def __init__(self, served: ServedModel, compiler: Compiler, budgets: Budgets) -> None:
        self._served = served
        self._compiler = compiler
        self._budgets = budgets

    @property
    def form(self) -> CallFormat:
        """How calls are written."""
        return self._spelled.format

    def compile(self, chat: ChatRequest) -> Enforced:
        """What the request wants, compiled.

        Raises:
            DocumentError: a document cannot be enforced. Places in a tool's are pointers into the request.
            InfeasibleError: nothing can satisfy a document, or proving that exceeds the budgets.
            EngineError: the tokenizer cannot write calls.
        """
        record, fresh = None, list[CompiledSpec]()
        if chat.schema_document is not None:
            record, was_cached = self._compiler.compile(chat.schema_document)
            record.decoder.prepare()  # the first tables are made here, not where tokens are drawn
            if not was_cached:
                fresh.append(record)
        tools: dict[str, CompiledSpec] = {}
        for at, tool in enumerate(chat.offered_tools):
            try:
                tools[tool.name], was_cached = self._compiler.compile(tool.document)
            except (DocumentError, InfeasibleError) as error:
                raise error.within(f"/tools/{at}/function/parameters") from error
            if not was_cached:
                fresh.append(tools[tool.name])
        rules = self._rules(chat, record, tools) if tools or chat.factorspec.refusal else None
        return Enforced(record=record, tools=tools, rules=rules, fresh=tuple(fresh))

    def _rules(
        self, chat: ChatRequest, record: CompiledSpec | None, tools: Mapping[str, CompiledSpec]
    ) -> AnswerRules:
        records = [] if record is None or chat.must_call else [record.decoder]
        if chat.factorspec.refusal:
            records.append(self._decoders.refusal)
        called = [(tool.name, tools[tool.name]) for tool in chat.callable_tools]
        num_tokens = self._served.engine.model.num_tokens
        return AnswerRules(
            vocabulary=self._served.canonical.vocabulary,
            records=tuple(records),
            calls=self._decoders.calls(called, num_tokens) if called else None,
            most_calls=self._budgets.parallel_calls if chat.parallel_tool_calls else 1,
            text=chat.is_text,
            stop=tuple(chat.stop),
            on_budget=chat.factorspec.on_budget,
            canonical_text=chat.factorspec.canonical_text,
        )

    def prompt_ids(self, chat: ChatRequest, enforced: Enforced) -> tuple[int, ...]:
        """The prompt's tokens."""
        turns: Sequence[Turn] = turns_of(chat.messages)
        if chat.factorspec.refusal:
            turns = with_refusal(turns)
        tools = [told_tool(tool, enforced.tools[tool.name].spec) for tool in chat.offered_tools]
        if tools or any(message.tool_calls or message.role == "tool" for message in chat.messages):
            return self._prompt.encode(turns, tools)
        return self._served.template.encode_chat(turns)

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
            self._spelled,
            max_entries=budgets.cached_tool_sets,
            max_bytes=budgets.cached_tool_bytes,
        )

    @cached_property
    def _native(self) -> NativeTools | None:
        """The template's own way to tell tools, if it has one whose calls this tokenizer can write."""
        template, vocabulary = self._served.template, self._served.canonical.vocabulary
        form = native_form(template) if isinstance(template, ChatTokenizer) else None
        if form is None or not SpelledCalls.writes(form, vocabulary):
            return None
        assert isinstance(template, ChatTokenizer)
        return NativeTools(template, form)

    @cached_property
    def _spelled(self) -> SpelledCalls:
        form = CallFormat() if self._native is None else self._native.form
        return SpelledCalls.of(form, self._served.canonical.vocabulary)

    @cached_property
    def _prompt(self) -> ToolPrompt:
        return self._native or WrittenTools(self._served.template, self.form)
