"""One call's request body, and the result or error that its answer stands for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypedDict, TypeVar, cast

from pydantic import BaseModel, TypeAdapter, ValidationError

from factorspec_sdk.client.answer_errors import IncompleteAnswer, InvalidAnswer
from factorspec_sdk.client.conversation import turns_of
from factorspec_sdk.client.enforcement import confirm_record
from factorspec_sdk.client.option_values import Fallback, OnBudget, Strategy, check_options
from factorspec_sdk.client.prompting import Prompting, with_rules
from factorspec_sdk.client.reading import problem_of, text_of, usage_of
from factorspec_sdk.client.result import Report, Result
from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import EngineError, JsonValue, shown
from factorspec_sdk.records import spec as spec_of
from factorspec_sdk.wire import Spec

T = TypeVar("T", bound=BaseModel)
Message = Mapping[str, str]
MAX_ANSWERS = 3

_REPORT = TypeAdapter(Report)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a record is asked for. A value that an option cannot have raises DeclarationError.

    Attributes:
        model: name of the served model.
        max_tokens: most tokens of the record; None leaves it to the server.
        temperature: 0 takes the most likely token.
        top_p: share of probability that is kept when sampling.
        seed: of the sampling noise; None lets the server draw one.
        origins: ask where each token came from.
        on_budget: where a budget ends in mid-record, go on among proven values, or abort.
        canonical_text: ask for free text in the tokenizer's own tokens.
        strategy: how the record is made sure to be valid.
        fallback: what ``auto`` may do where the server does not enforce the spec; None: raise.
        max_answers: most answers that ``retry`` and ``repair`` ask for.
        skip_model: ``auto`` may fill a record that its spec determines without asking.
        prompting: whether the rules go into the prompt in words.
    """

    model: str
    max_tokens: int | None = None
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    origins: bool = False
    on_budget: OnBudget = "narrow"
    canonical_text: bool = False
    strategy: Strategy = "auto"
    fallback: Fallback | None = None
    max_answers: int = MAX_ANSWERS
    skip_model: bool = False
    prompting: Prompting = "auto"

    def __post_init__(self) -> None:
        check_options(self)


class Wishes(TypedDict, total=False):
    """``Options`` as calls take them; all may be left out."""

    max_tokens: int | None
    temperature: float
    top_p: float
    seed: int | None
    origins: bool
    on_budget: OnBudget
    canonical_text: bool
    strategy: Strategy
    fallback: Fallback | None
    max_answers: int
    skip_model: bool
    prompting: Prompting


@dataclass(frozen=True, slots=True)
class Exchange(Generic[T]):
    """One record asked for: what is sent, and what comes back of it.

    Attributes:
        record: the model, bound if it has parameters.
        spec: its spec.
        options: how it is asked for.
        turns: the conversation, with the rules in words where they are wanted.
    """

    record: type[T]
    spec: Spec
    options: Options
    turns: tuple[JsonObject, ...]

    @classmethod
    def of(
        cls,
        record: type[T],
        messages: str | Sequence[Message],
        options: Options,
        *,
        spec: Spec | None = None,
    ) -> Exchange[T]:
        """The exchange for a record.

        Args:
            record: a Pydantic model, bound if it has parameters.
            messages: the conversation; a text is one message of the user.
            options: how it is asked for.
            spec: of the record, where it is at hand.

        Raises:
            DeclarationError: the model or the conversation cannot be sent.
        """
        spec = spec_of(record) if spec is None else spec
        turns = turns_of(messages)
        in_words = options.strategy in ("retry", "repair") or options.fallback is not None
        return cls(
            record, spec, options, tuple(with_rules(turns, spec, options.prompting, in_words=in_words))
        )

    @property
    def body(self) -> JsonObject:
        """The request that asks the server to enforce the spec."""
        options = self.options
        schema: JsonObject = {"name": record_name(self.record), "strict": True, "schema": self.spec.document}
        body = self.plain_body(self.turns)
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
        wishes: JsonObject = {"origins": True} if options.origins else {}
        if options.on_budget != "narrow":
            wishes["on_budget"] = options.on_budget
        if options.canonical_text:
            wishes["canonical_text"] = True
        if wishes:
            body["factorspec"] = wishes
        return body

    def plain_body(self, turns: Sequence[JsonObject]) -> JsonObject:
        """A request that any OpenAI-compatible server takes; it asks for nothing to be enforced."""
        options = self.options
        listed: list[JsonValue] = [*turns]
        body: JsonObject = {
            "model": options.model,
            "messages": listed,
            "temperature": options.temperature,
            "top_p": options.top_p,
        }
        if options.max_tokens is not None:
            body["max_tokens"] = options.max_tokens
        if options.seed is not None:
            body["seed"] = options.seed
        return body

    def is_enforced(self, answer: JsonObject) -> bool:
        """Whether the server confirmed that it enforced this spec."""
        vendor = answer.get("factorspec")
        return isinstance(vendor, dict) and vendor.get("spec_hash") == self.spec.hash

    def result(self, answer: JsonObject, time_s: float) -> Result[T]:
        """What the answer stands for.

        Raises:
            NotEnforced: the server did not confirm this spec.
            Incomplete: the record is not complete.
            RecordError: the record does not pass its model's validation.
        """
        text, finish_reason = text_of(answer)
        confirm_record(answer, self.spec.hash)
        vendor = cast(JsonObject, answer["factorspec"])
        if finish_reason != "stop":
            message = f"the answer ended ({finish_reason}) before the record was complete; allow more tokens"
            raise IncompleteAnswer(message, partial=text, raw=answer)
        try:
            report = _REPORT.validate_python(vendor.get("report"))
        except ValidationError as error:
            raise EngineError(f"the server's report cannot be read: {error}") from error
        usage = usage_of(answer)
        if usage is None:
            raise EngineError(f"the server's token counts cannot be read: {shown(answer.get('usage'))}")
        value = self._value(text, answer)
        return Result(value, report, text, usage, self.spec.hash, time_s, answer)

    def _value(self, text: str, answer: JsonObject) -> T:
        try:
            return self.record.model_validate_json(text)
        except ValidationError as error:
            raise InvalidAnswer(
                f"the record does not pass the validation of {self.record.__name__}",
                [problem_of(item) for item in error.errors(include_url=False, include_context=False)],
                text=text,
                value=json_or_none(text),
                raw=answer,
            ) from error


def record_name(record: type[BaseModel]) -> str:
    """The model's name as OpenAI's API takes it: letters, digits, - and _, at most 64."""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in record.__name__)
    return name[:64]


def json_or_none(text: str) -> object:
    """The JSON value of a text; None where it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # nesting without end
        return None
