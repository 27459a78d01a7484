"""Log-probabilities as OpenAI's answers have them, one entry a token.

::

    {"refusal": null, "content": [entry, ...]}

    {"token": "Os", "logprob": -0.31, "bytes": [79, 115], "factorspec": {"origin": "chosen"},
     "top_logprobs": [{"token": "Os", "logprob": -0.31, "bytes": [79, 115]}, ...]}

The bytes of all entries, joined, are the answer's text (the last token's may go on behind a stop string).
What the numbers mean is told in ``engines.logprobs``; ``origin`` stands in entries of records alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.tokens import Vocabulary
from factorspec_server.engines import TokenLogprob

LEAST = -9999.0
"""Stands for logarithms below it, as at OpenAI; JSON has no infinity."""


class LogprobEntries:
    """Makes the entries of one answer, whose tokens are told in order."""

    def __init__(self, vocabulary: Vocabulary, *, is_record: bool) -> None:
        self._vocabulary = vocabulary
        self._is_record = is_record
        self._num_told = 0

    @property
    def num_told(self) -> int:
        """Tokens that were told."""
        return self._num_told

    def of(self, tokens: Sequence[TokenLogprob]) -> dict[str, JsonValue]:
        """What an answer or a chunk tells of the next tokens."""
        return {"content": [self._entry(token) for token in tokens], "refusal": None}

    def _entry(self, told: TokenLogprob) -> JsonValue:
        lead = self._vocabulary.lead.encode() if self._num_told == 0 else b""
        self._num_told += 1
        top: list[JsonValue] = [self._named(token_id, logprob, lead) for token_id, logprob in told.top]
        vendor: dict[str, JsonValue] = {"factorspec": {"origin": told.origin}} if self._is_record else {}
        return {**self._named(told.token_id, told.logprob, lead), "top_logprobs": top, **vendor}

    def _named(self, token_id: int, logprob: float, lead: bytes) -> dict[str, JsonValue]:
        """A token by its text and bytes; one that stands for no text, as an end token does, has no bytes."""
        data = self._vocabulary.token_bytes(token_id).removeprefix(lead)
        text = data.decode("utf-8", errors="backslashreplace")
        is_text = token_id not in self._vocabulary.special_ids
        return {"token": text, "logprob": max(logprob, LEAST), "bytes": [*data] if is_text else None}
