"""``ChatFactorSpec``: a LangChain chat model whose structured output and tool arguments keep their relations.

::

    BaseChatModel ──► ChatFactorSpec ──body──► Transport of the SDK: a server over HTTP,
                          ▲                        │                or an engine in this process
                          └── messages, reports ◄──┘   errors are those of the SDK, by name

It is built on langchain-core and the SDK's own transport rather than on another provider's chat model: so an
engine in this process answers too, errors keep their class and their relations, and no key that was meant for
another service is picked up from the environment.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.base import LangSmithParams
from langchain_core.load.serializable import SerializedConstructor, SerializedNotImplemented
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SecretStr, SkipValidation, field_validator

from factorspec_integrations.langchain.connections import Connections
from factorspec_integrations.langchain.enforced import Enforced, StreamWatch
from factorspec_integrations.langchain.environment import (
    KEY_VARIABLE,
    api_key_of_environment,
    base_url_of_environment,
)
from factorspec_integrations.langchain.messages import PROVIDER, chunks_of, result_of, turns_of
from factorspec_integrations.langchain.record_call import Method, RecordCall
from factorspec_integrations.langchain.record_runnable import RecordRunnable
from factorspec_integrations.langchain.schemas import response_format_of
from factorspec_integrations.langchain.tools import ToolChoice, ToolLike, choice_entry, tool_entries
from factorspec_sdk.client import Client
from factorspec_sdk.client.client import TIMEOUT_S
from factorspec_sdk.client.conversation import turns_of as sendable
from factorspec_sdk.client.transport import JsonObject, Transport
from factorspec_sdk.errors import DeclarationError, Problem, shown

if TYPE_CHECKING:
    from langchain_core.language_models import ModelProfile  # not in the first releases

#: arguments of a call that are for this class, not for the server
_OWN = ("require_enforced", "stream", "ls_structured_output_format", "extra_body")


class ChatFactorSpec(BaseChatModel):
    """Chat, tool calls and structured output from a server that has FactorSpec.

    ::

        llm = ChatFactorSpec(base_url="http://127.0.0.1:8000/v1")
        trip = llm.with_structured_output(Trip).invoke("A trip, please.")

    What a request asks to be enforced and the server does not confirm raises ``NotEnforced``. Any field of a
    chat completion may be given to ``bind`` or with a call: ``llm.bind(logprobs=True)``,
    ``llm.invoke(text, seed=1)``. ``response_metadata["factorspec"]`` of an answer is the server's report,
    relation by relation.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    model: str | None = None
    """Name of the model; None takes the first that is served."""
    base_url: str = Field(default_factory=base_url_of_environment)
    """Of an OpenAI-compatible server that has FactorSpec; else ``$FACTORSPEC_BASE_URL``."""
    api_key: SecretStr | None = Field(default_factory=api_key_of_environment)
    """What the server asks for, if it does; else ``$FACTORSPEC_API_KEY``."""
    engine: SkipValidation[Transport | None] = Field(default=None, exclude=True, repr=False)
    """What answers instead of a server, such as ``fs.Client.local().transport``."""
    temperature: float | None = 0.0
    """0 takes the most likely token; None leaves it to the server, which samples."""
    top_p: float | None = None
    """Share of probability that is kept when sampling."""
    max_tokens: int | None = None
    """Most tokens of an answer; None leaves it to the server."""
    seed: int | None = None
    """Of the sampling noise."""
    stop: list[str] | None = None
    """Strings at which a text ends. A record ends where it is complete, so there they are left out."""
    parallel_tool_calls: bool | None = None
    """Whether an answer may call several tools; None leaves it to the server, which allows it."""
    timeout: float | None = None
    """Longest time for an answer, in seconds; None is ten minutes."""
    max_retries: int = Field(default=2, ge=0)
    """How often a connection that failed is tried again; answers are never asked for twice."""
    streaming: bool = False
    """Whether ``invoke`` streams as well, for callbacks that want tokens."""

    _connections: Connections | None = PrivateAttr(default=None)

    @field_validator("engine", mode="after")
    @classmethod
    def _is_transport(cls, engine: Transport | None) -> Transport | None:
        if engine is not None and not callable(getattr(engine, "complete", None)):
            raise ValueError("must be a transport, such as fs.Client.local().transport")
        return engine

    @property
    def _answering(self) -> Connections:
        """The connections of these settings: of others, where a copy changed them, none are used."""
        key = None if self.api_key is None else self.api_key.get_secret_value()
        wanted = Connections(self.base_url, key, self.max_retries + 1, self.engine)
        if self._connections != wanted:
            self._connections = wanted
        assert self._connections is not None, "made above"
        return self._connections

    @classmethod
    def local(cls, model: str = "smollm2", *, device: str | None = None, **settings: Any) -> Self:
        """With the embedded engine in this process: no server, no network. Loading takes seconds.

        Args:
            model: as for ``fs.Client.local``.
            device: ``cpu`` or ``cuda``; None takes CUDA where present.
            settings: of the class.

        Raises:
            MissingExtra: the engine is not installed.
            ModelNotFound: there is no such model.
        """
        return cls(engine=Client.local(model, device=device).transport, **settings)

    # -- answers ----------------------------------------------------------------------------------------

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        answering = self._answering
        name = self.model or answering.model_name(timeout_s=self._timeout_s)
        body = self._body(name, messages, stop, kwargs)
        enforced = _enforced(body, kwargs)
        answer = answering.sync.complete(body, timeout_s=self._timeout_s)
        enforced.confirm(answer)
        return result_of(answer)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if self.engine is not None:
            return await super()._agenerate(messages, stop, run_manager, **kwargs)
        answering = self._answering
        transport = await answering.of_loop()
        name = self.model or await answering.model_name_async(timeout_s=self._timeout_s)
        body = self._body(name, messages, stop, kwargs)
        enforced = _enforced(body, kwargs)
        answer = await transport.complete(body, timeout_s=self._timeout_s)
        enforced.confirm(answer)
        return result_of(answer)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        answering = self._answering
        name = self.model or answering.model_name(timeout_s=self._timeout_s)
        body = _streamed(self._body(name, messages, stop, kwargs))
        watch = StreamWatch(_enforced(body, kwargs))
        with closing(answering.sync.stream(body, timeout_s=self._timeout_s)) as parts:
            for part in parts:
                watch.see(part)
                for chunk in chunks_of(part):
                    if run_manager is not None:
                        run_manager.on_llm_new_token(str(chunk.message.text), chunk=chunk)
                    yield chunk
        watch.end()

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        if self.engine is not None:
            async for chunk in super()._astream(messages, stop, run_manager, **kwargs):
                yield chunk
            return
        answering = self._answering
        transport = await answering.of_loop()
        name = self.model or await answering.model_name_async(timeout_s=self._timeout_s)
        body = _streamed(self._body(name, messages, stop, kwargs))
        watch = StreamWatch(_enforced(body, kwargs))
        async with aclosing(transport.stream(body, timeout_s=self._timeout_s)) as parts:
            async for part in parts:
                watch.see(part)
                for chunk in chunks_of(part):
                    if run_manager is not None:
                        await run_manager.on_llm_new_token(str(chunk.message.text), chunk=chunk)
                    yield chunk
        watch.end()

    def _body(
        self, name: str, messages: Sequence[BaseMessage], stop: list[str] | None, given: dict[str, Any]
    ) -> JsonObject:
        """The request; what is given with the call goes before the model's own settings."""
        fields = {
            "model": name,
            "messages": sendable(cast(Any, turns_of(messages))),
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            "stop": None if _is_no_text(given) else self.stop or None,
            **{name: value for name, value in given.items() if name not in _OWN},
            **(given.get("extra_body") or {}),
        }
        if isinstance(wanted := fields.get("response_format"), type):
            fields["response_format"] = response_format_of(wanted)
        if stop is not None:
            fields["stop"] = stop
        if fields.get("tools") and self.parallel_tool_calls is not None:
            fields.setdefault("parallel_tool_calls", self.parallel_tool_calls)
        return {name: cast(Any, value) for name, value in fields.items() if value is not None}

    @property
    def _timeout_s(self) -> float:
        return TIMEOUT_S if self.timeout is None else self.timeout

    # -- tools and records ------------------------------------------------------------------------------

    def bind_tools(
        self,
        tools: Sequence[ToolLike],
        *,
        tool_choice: ToolChoice = None,
        parallel_tool_calls: bool | None = None,
        strict: bool | None = None,
        response_format: dict[str, Any] | type | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with tools. Arguments that are declared with relations keep to them.

        A server that does not confirm that is ``NotEnforced``; ``require_enforced=False`` lets the tool's own
        model check its arguments instead.

        Args:
            tools: what LangChain takes. A Pydantic model (bound if it has parameters) keeps its relations.
            tool_choice: ``auto``, ``none``, ``any``, or a tool's name.
            parallel_tool_calls: whether an answer may hold several calls; None takes the model's setting.
            strict: sent with each tool. Relations are enforced in any case.
            response_format: a record to write where no tool is called: as for ``with_structured_output``.
            kwargs: more fields of the request.

        Raises:
            DeclarationError: a tool's arguments cannot be sent, or the choice names no tool.
        """
        entries = tool_entries(tools, strict=strict)
        fields: dict[str, Any] = {"tools": entries, **kwargs}
        if (choice := choice_entry(tool_choice, entries)) is not None:
            fields["tool_choice"] = choice
        if parallel_tool_calls is not None:
            fields["parallel_tool_calls"] = parallel_tool_calls
        if response_format is not None:
            fields["response_format"] = response_format_of(response_format)
        return self.bind(**fields)

    def with_structured_output(
        self,
        schema: dict[str, Any] | type,
        *,
        include_raw: bool = False,
        method: Method = "json_schema",
        strict: bool | None = None,
        refusal: bool = False,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, Any]:
        """A runnable that gives valid records.

        Args:
            schema: a Pydantic model, bound if it has parameters. A document (``fs.document``) or another JSON
                Schema, a ``TypedDict``, a function as OpenAI has it give dictionaries.
            include_raw: give ``{"raw": message, "parsed": record, "parsing_error": error}``. Every error of
                an answer that came is caught then; where none came, it is raised.
            method: ``function_calling`` asks for a call of one tool; the others send a response format. The
                guarantee is the same.
            strict: False takes an answer that no server enforced, if a Pydantic model finds it valid; else it
                is ``NotEnforced``.
            refusal: let the model decline, with a reason, instead; that is LangChain's ``ModelRefusalError``.
            kwargs: as ``fs.Client.generate`` has them: ``strategy``, ``fallback``, ``max_answers``,
                ``prompting``, ``skip_model``, ``origins``, ``max_tokens``, ...

        ``stream`` gives partial records that hold committed fields alone, then the record. Errors are those
        of ``fs.Client.generate``.

        Raises:
            DeclarationError: the schema cannot be sent, or an option has a value that it cannot have.
        """
        if strict is False and isinstance(schema, type) and issubclass(schema, BaseModel):
            kwargs = {"fallback": "retry", "max_answers": 1, "prompting": "none"} | kwargs
        asked = RecordCall.of(schema, method=method, include_raw=include_raw, wishes=kwargs)
        call = replace(asked, may_decline=refusal)
        return RecordRunnable(self, call)

    # -- what LangChain asks ----------------------------------------------------------------------------

    @property
    def _llm_type(self) -> str:
        return "factorspec-chat"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        names = ("model", "base_url", "temperature", "top_p", "max_tokens", "seed", "stop")
        return {name: getattr(self, name) for name in names}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        told = super()._get_ls_params(stop=stop or self.stop or None, **kwargs)
        told["ls_provider"] = PROVIDER
        told.setdefault("ls_model_name", "default")
        return told

    def _resolve_model_profile(self) -> ModelProfile:
        return {"structured_output": True, "tool_calling": True, "tool_choice": True, "text_inputs": True}

    @property
    def lc_secrets(self) -> dict[str, str]:
        """Where a loaded model takes its key from."""
        return {"api_key": KEY_VARIABLE}

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """It is, but for an engine in this process."""
        return True

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        """Where it is loaded from."""
        return ["factorspec_integrations", "langchain"]

    def _get_llm_string(self, stop: list[str] | None = None, **kwargs: Any) -> str:
        """What a cache tells models apart by; an engine cannot be written, but its model has a name."""
        told = super()._get_llm_string(stop, **kwargs)
        if self.engine is None:
            return told
        served = self._answering.model_name(timeout_s=self._timeout_s)
        return f"{told}---{served}{sorted(self._identifying_params.items())}"

    def to_json(self) -> SerializedConstructor | SerializedNotImplemented:
        """An engine cannot travel, and without it this would be another model."""
        return super().to_json() if self.engine is None else self.to_json_not_implemented()


def _enforced(body: JsonObject, given: dict[str, Any]) -> Enforced:
    """What the answer has to confirm; nothing where the caller checks the answer."""
    return Enforced.of(body) if given.get("require_enforced", True) else Enforced()


def _is_no_text(given: dict[str, Any]) -> bool:
    """Whether the answer has to be a record or a call, which do not end at a string."""
    return bool(given.get("response_format")) or given.get("tool_choice") not in (None, "auto", "none")


def _streamed(body: JsonObject) -> JsonObject:
    """The request as a stream. Raises DeclarationError where it asks for several choices."""
    if body.get("n", 1) != 1:
        problem = Problem("n", "a stream has one choice", shown(body["n"]), "ask with invoke or generate")
        raise DeclarationError("the answer cannot be streamed", [problem])
    return {**body, "stream": True, "stream_options": {"include_usage": True}}
