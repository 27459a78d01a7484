"""The whole exception tree, one branch for whoever must act.

::

    FactorspecError
    ├── DeclarationError        the developer: a model, decorator, path or binding is wrong
    │   ├── UnknownField            a path names a field that the model does not have
    │   ├── TracingError            Python logic on a symbolic value that cannot be recorded
    │   ├── UnsupportedField        a field type that has no finite domain where one is needed
    │   └── BindingError            parameters are missing, unknown or of the wrong shape
    ├── DocumentError           the sender: a wire document or request is not well formed
    │   ├── UnsupportedKeyword      a keyword, kind or version that cannot be enforced exactly
    │   └── RequestTooLarge         a request is larger than the declared budget
    ├── InfeasibleError         the data: no record can satisfy what was asked
    │   ├── EmptyDomain             a slot has no value at all
    │   ├── Unsatisfiable           the relations contradict each other (``conflict``: their names)
    │   ├── TokenLimitTooSmall      the shortest valid record needs more tokens
    │   └── TooLarge                proving feasibility exceeds the declared budget
    │       └── BudgetSpent             .. in mid-record, and the request asked to abort then
    ├── RecordError             the record: it breaks its schema or relations
    └── EngineError             the operator: server, model or connection
        ├── NotEnforced             the server did not enforce the spec
        ├── MissingExtra            an optional dependency is not installed
        ├── ModelNotFound           the model cannot be loaded
        ├── Overloaded              no capacity now; try again
        ├── Incomplete              decoding ended before the record was complete
        └── ConnectionLost          the transport failed

Every error has a ``code`` (stable, for programs), a sentence, and a list of ``problems``: all that
is wrong at once, each with its place, the offending value and a hint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]

_SHOWN_CHARS = 120


def shown(value: object) -> str:
    """``repr`` of a value, cut to a length that fits into one line."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, a value nested without end
        text = f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"


def reason_of(message: str) -> str:
    """A message of Pydantic without what it puts before a validator's own words."""
    return message.removeprefix("Value error, ").removeprefix("Assertion failed, ")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: where, what, why, and what to do about it.

    ``place`` is a JSON pointer (documents) or a field path (models); "" is the whole.
    """

    place: str
    message: str
    value: str | None = None
    hint: str | None = None

    def within(self, pointer: str) -> Problem:
        """The problem, its place behind a JSON pointer; a place that is no pointer goes into the message."""
        if self.place == "" or self.place.startswith("/"):
            return replace(self, place=pointer + self.place)
        return replace(self, place=pointer, message=f"{self.place}: {self.message}")

    def __str__(self) -> str:
        text = f"{self.place or '(root)'}: {self.message}"
        if self.value is not None:
            text += f" (got {self.value})"
        if self.hint is not None:
            text += f". {self.hint}"
        return text


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as OpenAI's API gives them."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """One answer that a client got on the way to a record.

    Attributes:
        text: of the answer.
        problems: what is wrong with it: relations by name, with the values that break them; empty for a valid
            record.
        usage: token counts; None where the server gave none.
        finish_reason: as the server gave it.
        time_s: seconds from request to answer.
    """

    text: str
    problems: tuple[Problem, ...]
    usage: Usage | None = None
    finish_reason: str | None = None
    time_s: float = 0.0


def _text_of(message: str, problems: Sequence[Problem]) -> str:
    if not problems:
        return message
    if len(problems) == 1:
        return f"{message}: {problems[0]}"
    return f"{message}:" + "".join(f"\n  - {problem}" for problem in problems)


class FactorspecError(Exception):
    """Base of all errors of this package.

    Attributes:
        code: stable identifier of the kind of error.
        message: one sentence for people.
        problems: everything that is wrong, in order; may be empty.
        attempts: answers that a client got before it gave up, first to last.
        is_placed: the places of its problems are pointers into the whole request, not into one document.
    """

    code: ClassVar[str] = "factorspec_error"
    attempts: tuple[Attempt, ...] = ()
    is_placed: bool = False

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        self.message = message
        self.problems = tuple(problems)
        super().__init__(_text_of(message, self.problems))

    def within(self, pointer: str) -> Self:
        """The same error; the document that it is about stands at a JSON pointer of a request."""
        twin = type(self).__new__(type(self))
        vars(twin).update(vars(self))
        twin.problems = tuple(problem.within(pointer) for problem in self.problems)
        twin.is_placed = True
        twin.args = (_text_of(self.message, twin.problems),)
        return twin

    @property
    def place(self) -> str | None:
        """Place of the first problem, or None where no place is known."""
        return self.problems[0].place if self.problems else None

    @property
    def last_attempt(self) -> Attempt | None:
        """The last answer that a client got, or None where there was none."""
        return self.attempts[-1] if self.attempts else None


class DeclarationError(FactorspecError):
    """A declaration in Python is wrong; the developer must change it."""

    code = "declaration_error"


class UnknownField(DeclarationError):
    """A path names a field that the model does not have."""

    code = "unknown_field"


class TracingError(DeclarationError):
    """A symbolic value was used in a way that cannot be recorded faithfully."""

    code = "tracing_error"


class UnsupportedField(DeclarationError):
    """A field's type has no finite domain or no exact form where one is needed."""

    code = "unsupported_field"


class BindingError(DeclarationError):
    """Parameters of a model are missing, unknown or of the wrong shape."""

    code = "binding_error"


class DocumentError(FactorspecError):
    """A wire document or request is not well formed; the sender must change it."""

    code = "document_error"


class UnsupportedKeyword(DocumentError):
    """A keyword, relation kind or version that cannot be enforced exactly."""

    code = "unsupported_keyword"


class RequestTooLarge(DocumentError):
    """A request is larger than the declared budget."""

    code = "request_too_large"


class InfeasibleError(FactorspecError):
    """No record can satisfy what was asked; the data must change."""

    code = "infeasible"


class EmptyDomain(InfeasibleError):
    """A slot has no value at all."""

    code = "empty_domain"


class Unsatisfiable(InfeasibleError):
    """The relations contradict each other.

    Attributes:
        conflict: names of relations that together have no solution.
        minimal: True if every proper subset of ``conflict`` was shown to be satisfiable.
    """

    code = "unsatisfiable"

    def __init__(
        self,
        message: str,
        problems: Sequence[Problem] = (),
        *,
        conflict: Sequence[str] = (),
        minimal: bool = True,
    ) -> None:
        self.conflict = tuple(conflict)
        self.minimal = minimal
        super().__init__(message, problems)


class TokenLimitTooSmall(InfeasibleError):
    """The shortest valid record needs more tokens than the request allows.

    Attributes:
        token_limit: tokens that were allowed.
        shortest: tokens of the shortest valid record, or None where only a bound is known.
    """

    code = "token_limit_too_small"

    def __init__(self, message: str, *, token_limit: int, shortest: int | None) -> None:
        self.token_limit = token_limit
        self.shortest = shortest
        super().__init__(message)


class TooLarge(InfeasibleError):
    """Proving feasibility exceeds the declared budget of states, slots or time."""

    code = "too_large"


class BudgetSpent(TooLarge):
    """A budget ended while a record was written, and the request asked to abort rather than to narrow.

    Attributes:
        partial: the text written so far; it begins valid records, but is none.
    """

    code = "budget_spent"

    def __init__(self, message: str, problems: Sequence[Problem] = (), *, partial: str = "") -> None:
        self.partial = partial
        super().__init__(message, problems)


class RecordError(FactorspecError):
    """A record breaks its schema or a relation."""

    code = "record_error"


class EngineError(FactorspecError):
    """Server, model or connection; the operator must act."""

    code = "engine_error"


class NotEnforced(EngineError):
    """The server did not confirm that it enforces the spec."""

    code = "not_enforced"


class MissingExtra(EngineError):
    """An optional dependency is not installed; the message names the command."""

    code = "missing_extra"


class ModelNotFound(EngineError):
    """The model cannot be found or loaded."""

    code = "model_not_found"


class Overloaded(EngineError):
    """No capacity at the moment."""

    code = "overloaded"


class Incomplete(EngineError):
    """Decoding ended before the record was complete.

    Attributes:
        partial: the text written so far.
    """

    code = "incomplete"

    def __init__(self, message: str, problems: Sequence[Problem] = (), *, partial: str = "") -> None:
        self.partial = partial
        super().__init__(message, problems)


class ConnectionLost(EngineError):
    """The transport failed.

    Attributes:
        timed_out: no answer came in time; the server may still be at work on it.
    """

    code = "connection_lost"

    def __init__(self, message: str, problems: Sequence[Problem] = (), *, timed_out: bool = False) -> None:
        self.timed_out = timed_out
        super().__init__(message, problems)
