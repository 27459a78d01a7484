"""One call's request body, and the result or error that its answer stands for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from factorspec_sdk.client.answer_errors import IncompleteAnswer, InvalidAnswer, UnenforcedAnswer
from factorspec_sdk.client.result import Report, Result, Usage
from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import EngineError, JsonValue, Problem, shown
from factorspec_sdk.records import spec as spec_of
from factorspec_sdk.wire import Spec

T = TypeVar("T", bound=BaseModel)
Message = Mapping[str, str]
#: what the server does where a budget ends in mid-record
OnBudget = Literal["narrow", "abort"]

_REPORT = TypeAdapter(Report)
_USAGE = TypeAdapter(Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a record is asked for.

    Attributes:
        model: name of the served model.
        max_tokens: most tokens of the record; None leaves it to the server.
        temperature: 0 takes the most likely token.
        top_p: share of probability that is kept when sampling.
        seed: of the sampling noise; None lets the server draw one.
        origins: ask where each token came from.
        on_budget: where a budget ends in mid-record, go on among proven values, or abort.
        canonical_text: ask for free text in the tokenizer's own tokens.
    """

    model: str
    max_tokens: int | None = None
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    origins: bool = False
    on_budget: OnBudget = "narrow"
    canonical_text: bool = False


@dataclass(frozen=True, slots=True)
class Exchange(Generic[T]):
    """One record asked for: what is sent, and what comes back of it."""

    record: type[T]
    spec: Spec
    body: JsonObject

    @classmethod
    def of(cls, record: type[T], messages: str | Sequence[Message], options: Options) -> Exchange[T]:
        """The exchange for a record.

        Args:
            record: a Pydantic model, bound if it has parameters.
            messages: the conversation; a text is one message of the user.
            options: how it is asked for.

        Raises:
            DeclarationError: the model cannot be sent.
        """
        spec = spec_of(record)
        conversation = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        turns: list[JsonValue] = [dict(message) for message in conversation]
        schema: JsonObject = {"name": _name(record), "strict": True, "schema": spec.document}
        body: JsonObject = {
            "model": options.model,
            "messages": turns,
            "response_format": {"type": "json_schema", "json_schema": schema},
            "temperature": options.temperature,
            "top_p": options.top_p,
        }
        if options.max_tokens is not None:
            body["max_tokens"] = options.max_tokens
        if options.seed is not None:
            body["seed"] = options.seed
        wishes: JsonObject = {"origins": True} if options.origins else {}
        if options.on_budget != "narrow":
            wishes["on_budget"] = options.on_budget
        if options.canonical_text:
            wishes["canonical_text"] = True
        if wishes:
            body["factorspec"] = wishes
        return cls(record, spec, body)

    def result(self, answer: JsonObject, time_s: float) -> Result[T]:
        """What the answer stands for.

        Raises:
            NotEnforced: the server did not confirm this spec.
            Incomplete: the record is not complete.
            RecordError: the record does not pass its model's validation.
        """
        vendor = answer.get("factorspec")
        text, finish_reason = _text_of(answer)
        if not isinstance(vendor, dict) or vendor.get("spec_hash") != self.spec.hash:
            raise UnenforcedAnswer(_not_enforced(vendor), raw=answer)
        if finish_reason != "stop":
            message = f"the answer ended ({finish_reason}) before the record was complete; allow more tokens"
            raise IncompleteAnswer(message, partial=text, raw=answer)
        try:
            report = _REPORT.validate_python(vendor.get("report"))
            usage = _USAGE.validate_python(answer.get("usage"))
        except ValidationError as error:
            raise EngineError(f"the server's report cannot be read: {error}") from error
        value = self._value(text, answer)
        return Result(value, report, text, usage, self.spec.hash, time_s, answer)

    def _value(self, text: str, answer: JsonObject) -> T:
        try:
            return self.record.model_validate_json(text)
        except ValidationError as error:
            raise InvalidAnswer(
                f"the record does not pass the validation of {self.record.__name__}",
                [_problem(item) for item in error.errors(include_url=False, include_context=False)],
                text=text,
                value=_json_or_none(text),
                raw=answer,
            ) from error


def _name(record: type[BaseModel]) -> str:
    """The model's name as OpenAI's API takes it: letters, digits, - and _, at most 64."""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in record.__name__)
    return name[:64]


def _text_of(answer: JsonObject) -> tuple[str, object]:
    """The first choice's text and its finish reason."""
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(choice, dict) or not (content is None or isinstance(content, str)):
        raise EngineError("the server's answer holds no message; is base_url an OpenAI-compatible API?")
    return content or "", choice.get("finish_reason")


def _not_enforced(vendor: object) -> str:
    if not isinstance(vendor, dict):
        return (
            "the server did not say that it enforces the relations, so the record may break them; "
            "use a server with FactorSpec, such as `factorspec serve`"
        )
    return (
        f"the server enforced another spec ({vendor.get('spec_hash')!r}); "
        "do client and server have the same version of factorspec?"
    )


def _problem(item: Mapping[str, object]) -> Problem:
    place = ""
    loc = item["loc"]
    for step in loc if isinstance(loc, tuple) else ():
        place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else str(step)
    return Problem(place, str(item["msg"]), shown(item["input"]))


def _json_or_none(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None
