"""An answer came, but not the record: errors that hold it, under the classes of ``factorspec_sdk.errors``."""

from __future__ import annotations

from collections.abc import Sequence

from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import Incomplete, NotEnforced, Problem, RecordError


class UnenforcedAnswer(NotEnforced):
    """The server did not echo the spec's hash.

    Attributes:
        raw: the whole answer.
    """

    code = "answer_not_enforced"

    def __init__(self, message: str, *, raw: JsonObject) -> None:
        self.raw = raw
        super().__init__(message)


class IncompleteAnswer(Incomplete):
    """The answer ended before the record was complete; ``partial`` is what there is.

    Attributes:
        raw: the whole answer.
    """

    code = "answer_incomplete"

    def __init__(self, message: str, *, partial: str, raw: JsonObject) -> None:
        self.raw = raw
        super().__init__(message, partial=partial)


class InvalidAnswer(RecordError):
    """The record does not pass its model's own validation.

    Attributes:
        text: the record as it was written.
        value: the JSON value of it, None if it is no JSON.
        raw: the whole answer.
    """

    code = "answer_invalid"

    def __init__(
        self, message: str, problems: Sequence[Problem], *, text: str, value: object, raw: JsonObject
    ) -> None:
        self.text = text
        self.value = value
        self.raw = raw
        super().__init__(message, problems)
