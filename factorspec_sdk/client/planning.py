"""What a call would do, without doing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from factorspec_sdk.client.asking import Done, advance
from factorspec_sdk.client.exchange import Exchange
from factorspec_sdk.client.option_values import Fallback
from factorspec_sdk.client.result import Route
from factorspec_sdk.client.strategies import steps_of
from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import FactorspecError

if TYPE_CHECKING:
    from factorspec_sdk.explaining import SpecReport

T = TypeVar("T", bound=BaseModel)

_LEAVES_NOTHING = "the spec leaves nothing open"
_CHECKED: Mapping[Fallback, str] = {
    "retry": "answers are checked here, and asked for again with what is broken",
    "repair": "answers are checked here, and the fewest fields changed so that all relations hold",
}


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One thing that a call would do.

    Attributes:
        route: the strategy that it belongs to.
        what: is done.
        why: it is done, or when.
        most_calls: most requests that it sends.
    """

    route: Route
    what: str
    why: str
    most_calls: int

    def __str__(self) -> str:
        return f"{self.route}: {self.what} ({self.why})"


@dataclass(frozen=True, slots=True)
class CallPlan:
    """What a call would do, in order; each step is taken where the one before gave no record.

    Attributes:
        steps: of the call; empty where it would raise ``error`` before anything is sent.
        error: why there will be no record; None where nothing is known against it.
        body: the first request; None where none would be sent.
        spec: what is enforced of the spec, and how; sizes and conflicts.
    """

    steps: tuple[PlannedStep, ...]
    error: FactorspecError | None
    body: JsonObject | None
    spec: SpecReport

    @property
    def most_calls(self) -> int:
        """Most requests that the call sends."""
        return max((step.most_calls for step in self.steps), default=0)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for number, step in enumerate(self.steps, 1):
            yield f"{number}. {step}"
        yield f"at most {self.most_calls} request{'' if self.most_calls == 1 else 's'}"
        if self.error is not None and self.error is not self.spec.error:
            yield f"error: {self.error}"
        yield str(self.spec)


def plan_of(exchange: Exchange[T]) -> CallPlan:
    """The plan of a call. Compiles the spec, and asks nobody."""
    # this brings the constraint core, which a client does without otherwise
    from factorspec_sdk.explaining import report

    spec = report(exchange.spec)
    try:
        first = advance(steps_of(exchange), None)  # as far as the first request, which is not sent
    except FactorspecError as error:
        return CallPlan((), error, None, spec)
    if isinstance(first, Done):
        step = PlannedStep("determined", "the record is filled without a model", _LEAVES_NOTHING, 0)
        return CallPlan((step,), None, None, spec)
    return CallPlan(tuple(_asking(exchange)), spec.error, first, spec)


def _asking(exchange: Exchange[T]) -> Iterator[PlannedStep]:
    """The steps of a call that has to ask."""
    options = exchange.options
    strategy = options.strategy
    if strategy == "retry" or strategy == "repair":
        yield PlannedStep(strategy, _CHECKED[strategy], "it is what the call asks for", options.max_answers)
        return
    confirmed = "a server that does not say that it does is an error"
    falls_back = strategy == "auto" and options.fallback is not None and not exchange.spec.objective
    if falls_back:
        confirmed = "it is tried first"
    if strategy == "auto" and options.skip_model:
        confirmed = f"the spec leaves something open; {confirmed}"
    yield PlannedStep("constrained", "the server enforces the spec while the model writes", confirmed, 1)
    if falls_back and options.fallback is not None:
        why = "where the server does not say that it enforces the spec; the answer that is there is the first"
        yield PlannedStep(options.fallback, _CHECKED[options.fallback], why, options.max_answers)
