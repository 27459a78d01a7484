"""One choice of an answer as its client gets it: pieces of a message as they come, and the whole message.

Both are made of the same deltas, in OpenAI's form. A call's first says its id and name, the others go on with
its arguments::

    {"content": "Let me see."}
    {"tool_calls": [{"index": 0, "id": "call_…", "type": "function",
                     "function": {"name": "book", "arguments": ""}}]}
    {"tool_calls": [{"index": 0, "function": {"arguments": "{\\"days\\": 3}"}}]}
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from factorspec_sdk.errors import JsonValue
from factorspec_server.http.answer_reader import AnswerReader, CallArguments, CallBegun, Piece

Delta = dict[str, JsonValue]


@dataclass(slots=True)
class MadeCall:
    """A call of a tool; ``arguments``: JSON text, as far as it is written."""

    id: str
    name: str
    arguments: str = ""


class ChoiceMessage:
    """The message of one choice, whose tokens are told in order.

    Attributes:
        calls: the calls so far.
    """

    def __init__(self, reader: AnswerReader) -> None:
        self.calls: list[MadeCall] = []
        self._reader = reader
        self._said: dict[str, str] = {}

    def feed(self, token_ids: Sequence[int]) -> list[Delta]:
        """What the next tokens add to the message."""
        return [self._delta(piece) for piece in self._reader.feed(token_ids)]

    def end(self) -> list[Delta]:
        """What was held back; no more tokens come."""
        return [self._delta(piece) for piece in self._reader.end()]

    @property
    def content(self) -> str | None:
        """The text, or the record; None where there are calls or a refusal instead."""
        return self._said.get("content") or (None if self.calls or "refusal" in self._said else "")

    def whole(self) -> Delta:
        """The message so far."""
        calls: list[JsonValue] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in self.calls
        ]
        return {
            "role": "assistant",
            "content": self.content,
            "refusal": self._said.get("refusal"),
            **({"tool_calls": calls} if calls else {}),
        }

    def _delta(self, piece: Piece) -> Delta:
        if isinstance(piece, CallBegun):
            call = MadeCall(f"call_{secrets.token_hex(12)}", piece.name)
            self.calls.append(call)
            function: JsonValue = {"name": call.name, "arguments": ""}
            return {
                "tool_calls": [
                    {"index": piece.index, "id": call.id, "type": "function", "function": function}
                ]
            }
        if isinstance(piece, CallArguments):
            self.calls[piece.index].arguments += piece.text
            return {"tool_calls": [{"index": piece.index, "function": {"arguments": piece.text}}]}
        self._said[piece.kind] = self._said.get(piece.kind, "") + piece.text
        return {piece.kind: piece.text}
