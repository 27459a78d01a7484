"""Ways to a valid record, as steps that ask for answers and do not care how these come.

::

    steps of a strategy ──body──► driver (client/asking.py) ──► transport
                        ◄─answer─

``constrained``  the server enforces the spec, and says so
``retry``        the answer is checked here; what is broken is named, and the model is asked again
``repair``       as ``retry``, but the fewest fields of the answer are changed so that it is valid
``determined``   the spec leaves nothing open: no model is asked
``auto``         ``constrained``; where the server does not say that it enforces the spec, the fallback
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TypeVar

from pydantic import BaseModel

from factorspec_sdk.client.answer_errors import InvalidAnswer
from factorspec_sdk.client.determined import filled
from factorspec_sdk.client.exchange import Exchange
from factorspec_sdk.client.option_values import Fallback
from factorspec_sdk.client.prompting import correction_of
from factorspec_sdk.client.reading import Reading, attempt_of, read_record, text_of
from factorspec_sdk.client.repairing import repaired
from factorspec_sdk.client.result import RelationReport, Report, Result, Route
from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import (
    Attempt,
    DocumentError,
    FactorspecError,
    Problem,
    TooLarge,
    UnsupportedKeyword,
    Usage,
)

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back of a request body.

    Attributes:
        body: of the answer.
        time_s: seconds from request to answer.
    """

    body: JsonObject
    time_s: float


#: yields request bodies, is sent their answers, returns the result
Steps = Generator[JsonObject, Answer, Result[T]]


@dataclass(slots=True)
class _Log:
    """The answers of one call, in order."""

    attempts: list[Attempt] = field(default_factory=list)

    def add(self, answer: Answer, problems: tuple[Problem, ...]) -> None:
        self.attempts.append(attempt_of(answer.body, problems, answer.time_s))

    @property
    def usage(self) -> Usage:
        counted = [attempt.usage for attempt in self.attempts if attempt.usage is not None]
        return Usage(
            sum(usage.prompt_tokens for usage in counted),
            sum(usage.completion_tokens for usage in counted),
            sum(usage.total_tokens for usage in counted),
        )


def steps_of(exchange: Exchange[T]) -> Steps[T]:
    """The steps of the exchange's strategy. Errors that end them, thrown in or raised, carry the attempts.

    Raises:
        FactorspecError: as ``Client.generate``.
    """
    log = _Log()
    try:
        return (yield from _route(exchange, log))
    except FactorspecError as error:
        error.attempts = tuple(log.attempts)
        raise


def _route(exchange: Exchange[T], log: _Log) -> Steps[T]:
    match exchange.options.strategy:
        case "auto":
            return (yield from _auto(exchange, log))
        case "constrained":
            return _confirmed(exchange, log, (yield exchange.body))
        case "determined":
            return _determined(exchange, log)
        case "retry" | "repair" as route:
            _refuse_objective(exchange)
            return (yield from _checked(exchange, log, (yield exchange.plain_body(exchange.turns)), route))


def _auto(exchange: Exchange[T], log: _Log) -> Steps[T]:
    options = exchange.options
    if options.skip_model and (result := _determined_or_none(exchange, log)) is not None:
        return result
    answer = yield exchange.body
    if options.fallback is None or exchange.is_enforced(answer.body) or exchange.spec.objective:
        return _confirmed(exchange, log, answer)
    return (yield from _checked(exchange, log, answer, options.fallback))


def _confirmed(exchange: Exchange[T], log: _Log, answer: Answer) -> Result[T]:
    """The result of an answer that the server has to have enforced."""
    try:
        result = exchange.result(answer.body, answer.time_s)
    except FactorspecError as error:
        log.add(answer, error.problems or (Problem("", error.message),))
        raise
    log.add(answer, ())
    return replace(result, attempts=tuple(log.attempts))


# -- answers that are checked here ------------------------------------------------------------------


def _checked(exchange: Exchange[T], log: _Log, answer: Answer, route: Fallback) -> Steps[T]:
    """Ask until an answer is valid, or can be made so; each correction names what is wrong with the last."""
    while True:
        text, reading = _read(exchange, answer)
        log.add(answer, reading.problems)
        if route == "repair":
            reading = repaired(exchange.record, exchange.spec, reading, text)
        if reading.value is not None:
            return _result(exchange, log, reading, reading.value, route, answer.body)
        if len(log.attempts) >= exchange.options.max_answers:
            raise _given_up(exchange, log, answer, reading)
        again: list[JsonObject] = [
            *exchange.turns,
            {"role": "assistant", "content": text},
            {"role": "user", "content": correction_of(reading.problems)},
        ]
        answer = yield exchange.plain_body(again)


def _read(exchange: Exchange[T], answer: Answer) -> tuple[str, Reading[T]]:
    text, finish_reason = text_of(answer.body)
    reading = read_record(exchange.record, exchange.spec, text)
    if reading.value is None and finish_reason == "length":
        cut = Problem("", "the answer was cut off at the token limit; be brief")
        return text, Reading(None, "", None, (cut,))
    return text, reading


def _given_up(exchange: Exchange[T], log: _Log, answer: Answer, reading: Reading[T]) -> InvalidAnswer:
    num_answers, name = len(log.attempts), exchange.record.__name__
    return InvalidAnswer(
        f"none of {num_answers} answers is a valid {name}; wrong with the last one is"
        if num_answers > 1
        else f"the answer is no valid {name}",
        reading.problems,
        text=log.attempts[-1].text,
        value=reading.data,
        raw=answer.body,
    )


def _refuse_objective(exchange: Exchange[T]) -> None:
    if exchange.spec.objective:
        hint = "use strategy='constrained' with a server that has FactorSpec"
        problem = Problem("/x-factorspec/objective", "answers cannot be held to an objective", hint=hint)
        raise UnsupportedKeyword("the record cannot be asked for like this", [problem])


# -- records that no model has to write -------------------------------------------------------------


def _determined(exchange: Exchange[T], log: _Log) -> Result[T]:
    started = perf_counter()
    found = filled(exchange.spec)
    if found.undecided is not None:
        raise DocumentError("the spec does not determine the record", [found.undecided])
    return _written(exchange, log, found.text, perf_counter() - started)


def _determined_or_none(exchange: Exchange[T], log: _Log) -> Result[T] | None:
    started = perf_counter()
    try:
        found = filled(exchange.spec)
    except TooLarge:  # the server, or its model, may still know what to do
        return None
    if found.undecided is not None:
        return None
    return _written(exchange, log, found.text, perf_counter() - started)


def _written(exchange: Exchange[T], log: _Log, text: str, time_s: float) -> Result[T]:
    reading = read_record(exchange.record, exchange.spec, text)
    if reading.value is None:
        message = f"the only record of the spec does not pass the validation of {exchange.record.__name__}"
        raise InvalidAnswer(message, reading.problems, text=text, value=reading.data, raw={})
    return replace(_result(exchange, log, reading, reading.value, "determined", {}), time_s=time_s)


def _result(
    exchange: Exchange[T], log: _Log, reading: Reading[T], value: T, route: Route, raw: JsonObject
) -> Result[T]:
    return Result(
        value,
        _report(reading, log.usage),
        reading.text,
        log.usage,
        exchange.spec.hash,
        sum(attempt.time_s for attempt in log.attempts),
        raw,
        route,
        tuple(log.attempts),
        reading.changes,
    )


def _report(reading: Reading[T], usage: Usage) -> Report:
    """What is known of a record that no server reports on."""
    relations = (
        RelationReport(one.name, one.place, one.outcome, one.enforced, one.why, one.explanation or None)
        for one in reading.verdicts
    )
    return Report(
        exact=True,
        near_limit=False,
        prompt_tokens=usage.prompt_tokens,
        tokens=usage.completion_tokens,
        certain=0,
        chosen=0,
        free=usage.completion_tokens,
        choice_points=0,
        model_steps=0,
        guessed=0,
        accepted=0,
        prefill_s=0.0,
        decode_s=0.0,
        compile_s=0.0,
        spec_cached=False,
        seed=0,
        relations=tuple(relations),
    )
