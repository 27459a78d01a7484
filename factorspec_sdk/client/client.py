"""Asking a server, or an engine in this process, for a valid record."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from types import TracebackType
from typing import Self, TypeVar, Unpack

from pydantic import BaseModel

from factorspec_sdk.client.asking import ask
from factorspec_sdk.client.exchange import MAX_ANSWERS, Exchange, Message, Options, Wishes
from factorspec_sdk.client.local import LocalOptions, local_engine
from factorspec_sdk.client.many import (
    CONCURRENCY,
    Failure,
    Prompt,
    Run,
    exchanges_of,
    run_many,
)
from factorspec_sdk.client.option_values import Drafting, Fallback, OnBudget, Strategy
from factorspec_sdk.client.patience import PATIENCE_S
from factorspec_sdk.client.planning import CallPlan, plan_of
from factorspec_sdk.client.prompting import Prompting
from factorspec_sdk.client.result import Result
from factorspec_sdk.client.strategies import steps_of
from factorspec_sdk.client.streaming import RecordStream
from factorspec_sdk.client.tool_calls import ToolAnswer, ToolExchange, ToolMessage, ToolWishes
from factorspec_sdk.client.transport import JsonObject, Transport

T = TypeVar("T", bound=BaseModel)

DEFAULT_BASE_URL = "http://127.0.0.1:8000/v1"
TIMEOUT_S = 600.0
ATTEMPTS = 3


class Client:
    """Asks for records. Safe to use from several threads; close it, or use it in a ``with`` block.

    Args:
        base_url: of an OpenAI-compatible server that has FactorSpec.
        api_key: what the server asks for, if it does.
        model: name of the model; None takes the first that is served.
        timeout_s: longest time for an answer, in seconds.
        attempts: how often a connection is tried; answers are never asked for twice.
        engine: what answers instead of a server; ``base_url`` and ``api_key`` are not used then.
    """

    def __init__(
        self,
        base_url: str = DEFAULT_BASE_URL,
        *,
        api_key: str | None = None,
        model: str | None = None,
        timeout_s: float = TIMEOUT_S,
        attempts: int = ATTEMPTS,
        engine: Transport | None = None,
    ) -> None:
        self._transport = engine if engine is not None else _http(base_url, api_key, attempts)
        self._model = model
        self._timeout_s = timeout_s

    @classmethod
    def local(
        cls,
        model: str = "smollm2",
        *,
        dtype: str | None = None,
        device: str | None = None,
        drafting: Drafting = "auto",
        width: int | None = None,
        timeout_s: float = TIMEOUT_S,
        progress: bool = True,
    ) -> Self:
        """A client with the embedded engine in this process: no server, no network.

        Args:
            model: ``smollm2``, or a directory with a Hugging Face causal model.
            dtype: of the weights; None is float32 on CPU and bfloat16 on CUDA.
            device: ``cpu`` or ``cuda``; None takes CUDA where present.
            drafting: what runs in one step of the model; changes speed, never output. The names are those of
                ``factorspec serve --drafting``.
            width: most tokens guessed in a step, with what follows them; None goes by what steps cost.
            timeout_s: longest time for an answer, in seconds.
            progress: show progress while the default model is converted, once.

        Raises:
            MissingExtra: the engine is not installed.
            ModelNotFound: there is no such model.
            EngineError: there is no such device or dtype.
            DeclarationError: there is no such drafting or width.
        """
        options = LocalOptions(dtype=dtype, device=device, drafting=drafting, width=width, progress=progress)
        return cls(engine=local_engine(model, options), timeout_s=timeout_s)

    def generate(
        self,
        record: type[T],
        messages: str | Sequence[Message],
        *,
        max_tokens: int | None = None,
        temperature: float = 0.0,
        top_p: float = 1.0,
        seed: int | None = None,
        origins: bool = False,
        on_budget: OnBudget = "narrow",
        canonical_text: bool = False,
        strategy: Strategy = "auto",
        fallback: Fallback | None = None,
        max_answers: int = MAX_ANSWERS,
        skip_model: bool = False,
        prompting: Prompting = "auto",
    ) -> Result[T]:
        """A valid record.

        Args:
            record: a Pydantic model, bound if it has parameters.
            messages: the conversation, each message with ``role`` and ``content``; a text is one of the user.
            max_tokens: most tokens of the record; None leaves it to the server.
            temperature: 0 takes the most likely token.
            top_p: share of probability that is kept when sampling.
            seed: of the sampling noise; None lets the server draw one.
            origins: report where each token came from.
            on_budget: where the budget for proving feasibility ends in mid-record: ``narrow`` goes on among
                the values that are proven (``report.exact`` is False), ``abort`` raises ``BudgetSpent``.
            canonical_text: free text is written in the tokenizer's own tokens too: the record's ids are
                those of its text. ``report.text_filter`` says what that cost.
            strategy: how the record is made sure to be valid; which one it was is in the result.

                - ``constrained``: the server enforces the spec while the model writes, and says so.
                - ``retry``: any OpenAI-compatible server; the answer is checked here, and the model is asked
                  again with the broken relations and their values. A valid answer is taken, whatever stands
                  around it.
                - ``repair``: as ``retry``, but of the answer the fewest fields are changed so that every
                  relation holds; ``changes`` of the result says which. Broken JSON, partial records and
                  answers that were cut off are read as far as they go, and completed. An answer of which not
                  one field can be kept counts as none: no record is made up.
                - ``determined``: no model is asked; the spec has to leave nothing open.
                - ``auto``: ``constrained``. A server that does not say that it enforces the spec is an error,
                  unless ``fallback`` names what to do with its answer.
            fallback: ``retry`` or ``repair`` for ``auto``.
            max_answers: most answers that ``retry`` and ``repair`` ask for.
            skip_model: ``auto`` may fill a record without asking a model where its spec leaves nothing open.
            prompting: ``rules`` puts the schema and the relations in words into the system message, and a
                record's form (an object with values of the right kind) at the end of the conversation;
                ``form`` that form alone, which is far shorter; ``none`` nothing; ``auto`` the rules where
                the server may not enforce them (``retry``, ``repair``, a ``fallback``). A function of the
                spec gives a text of its own for the system message.

        Raises:
            DeclarationError: the model cannot be sent, or an option has a value that it cannot have.
            DocumentError: the server cannot enforce what it asks for.
            InfeasibleError: no record can satisfy it, or none within ``max_tokens``.
            NotEnforced: the server did not confirm that it enforces the spec.
            Incomplete: the answer ended before the record was complete.
            RecordError: the record does not pass the model's own validation.
            ConnectionLost: there was no answer.
            EngineError: the server or the model failed.

            All of them carry the answers that came before, as ``attempts``.
        """
        options = Options(
            model=self.model,
            max_tokens=max_tokens,
            temperature=temperature,
            top_p=top_p,
            seed=seed,
            origins=origins,
            on_budget=on_budget,
            canonical_text=canonical_text,
            strategy=strategy,
            fallback=fallback,
            max_answers=max_answers,
            skip_model=skip_model,
            prompting=prompting,
        )
        return self._result(Exchange.of(record, messages, options))

    def generate_many(
        self,
        record: type[T] | Sequence[type[T]],
        prompts: Sequence[Prompt],
        *,
        concurrency: int = CONCURRENCY,
        resume: str | PathLike[str] | None = None,
        progress: bool = False,
        patience_s: float = PATIENCE_S,
        **wishes: Unpack[Wishes],
    ) -> list[Result[T] | Failure]:
        """Valid records, one a prompt, in the order of the prompts; a ``Failure`` where there is none.

        Args:
            record: a Pydantic model, bound if it has parameters; or one a prompt.
            prompts: conversations, or texts of the user.
            concurrency: most requests at a time.
            resume: a JSON-lines file. Each result is added to it at once; requests whose results it holds
                already are not sent again. A file that holds another run's records (another spec, prompt or
                option at the same place, limits aside) is refused; prompts may be added at the end. One run
                at a time may use it.
            progress: show a progress bar.
            patience_s: longest time in seconds to go on while nothing comes through: connections are refused
                or break, or the server has no room. Requests are sent again until then, so that a server may
                be restarted meanwhile. One that has not answered at all yet is given 10 seconds.
            wishes: as for ``generate``. A ``seed`` counts up from prompt to prompt.

        An interrupt (Ctrl-C) sends nothing more, waits for the requests under way, keeps them in the file,
        and is raised then.

        Raises:
            DeclarationError: a model cannot be sent; nothing was.
            DocumentError: ``resume`` is no file of results, or of another run's.
            EngineError: a result cannot be written to it, as on a full disk.
            MissingExtra: a progress bar is asked for, and ``rich`` is not installed.
        """
        run = Run(concurrency=concurrency, resume=resume, progress=progress, patience_s=patience_s)
        exchanges = exchanges_of(record, prompts, Options(model=self.model, **wishes))
        return run_many(exchanges, run, self._send)

    def stream(
        self, record: type[T], messages: str | Sequence[Message], **wishes: Unpack[Wishes]
    ) -> RecordStream[T]:
        """A valid record as it is written::

            with client.stream(Trip, "A trip, please.") as stream:
                for partial in stream:
                    print(partial.text)
                trip = stream.result().value

        Args:
            record: a Pydantic model, bound if it has parameters.
            messages: the conversation; a text is one of the user.
            wishes: as for ``generate``, but only what a server enforces can be streamed.

        Raises:
            DeclarationError: the model cannot be sent, or the strategy not be streamed. All other errors of
                ``generate`` come while iterating.
        """
        exchange = Exchange.of(record, messages, Options(model=self.model, **wishes))
        return RecordStream(exchange, lambda body: self._transport.stream(body, timeout_s=self._timeout_s))

    def call_tools(
        self,
        tools: Sequence[type[BaseModel]],
        messages: str | Sequence[ToolMessage],
        **wishes: Unpack[ToolWishes],
    ) -> ToolAnswer:
        """What the model says, or the calls of tools that it wants made; their arguments are valid.

        Args:
            tools: Pydantic models, bound if they have parameters: a tool's name is its class name, its
                description the docstring, and its arguments are an instance.
            messages: the conversation; a text is one of the user. It goes on with ``ToolAnswer.message`` and
                ``ToolCall.answered``.
            wishes: ``tool_choice``: ``auto`` lets the model answer in text or call, ``required`` makes it
                call, and so does one of the tools; ``parallel``: several calls may be made (True by default);
                ``refusal``: the model may decline where it had to call; the others as for ``generate``.

        Raises:
            DeclarationError: a model cannot be sent, or an option has a value that it cannot have.
            DocumentError: the server cannot enforce what a tool asks for.
            InfeasibleError: no arguments can satisfy a tool, or no call fits within ``max_tokens``.
            NotEnforced: the server did not confirm that it enforces the tools' specs.
            Incomplete: the answer ended before it was complete.
            RecordError: arguments do not pass their model's own validation.
            ConnectionLost: there was no answer.
            EngineError: the server or the model failed.
        """
        exchange = ToolExchange.of(tools, messages, self.model, wishes)
        return exchange.answer(self._transport.complete(exchange.body, timeout_s=self._timeout_s))

    def plan(self, record: type[T], messages: str | Sequence[Message], **wishes: Unpack[Wishes]) -> CallPlan:
        """What ``generate`` would do with the same arguments, and why. Nothing is sent; the spec is compiled.

        In the first request the model's name is empty where it is not known yet.

        Raises:
            DeclarationError: the model cannot be sent.
        """
        return plan_of(Exchange.of(record, messages, Options(model=self._model or "", **wishes)))

    def _result(self, exchange: Exchange[T]) -> Result[T]:
        return ask(steps_of(exchange), self._send)

    def _send(self, body: JsonObject) -> JsonObject:
        return self._transport.complete(body, timeout_s=self._timeout_s)

    @property
    def model(self) -> str:
        """Name of the model that is asked; looked up at the server the first time, if none was given."""
        if self._model is None:
            self._model = self._transport.model_name(timeout_s=self._timeout_s)
        return self._model

    @property
    def transport(self) -> Transport:
        """What answers: a server over HTTP, or the engine in this process. It ends with this client."""
        return self._transport

    def close(self) -> None:
        """Give up connections, or the engine in this process."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _http(base_url: str, api_key: str | None, attempts: int) -> Transport:
    from factorspec_sdk.client.openai_transport import OpenAITransport

    return OpenAITransport(base_url, api_key=api_key, attempts=attempts)
