"""One choice of an answer as its client gets it: from tokens to a message, thinking told apart.

::

    think think </think>  Let me see. <tool_call> …
    reasoning_content     content     tool_calls          (``http/answer_reader.py``)
"""

from __future__ import annotations

from collections.abc import Sequence

from factorspec_server.engines.chat import TextStream
from factorspec_server.http.answer_reader import AnswerReader, Reading
from factorspec_server.http.choice_message import ChoiceMessage, Delta, MadeCall
from factorspec_server.sglang.served_chat import Thinking


class AnswerChoice:
    """The message of one choice, whose tokens are told in order.

    Attributes:
        num_thought: tokens of thinking, the one that ends it included.
    """

    def __init__(self, reading: Reading, thinking: Thinking | None) -> None:
        """``thinking``: how it ends, where the model thinks first."""
        self._message = ChoiceMessage(AnswerReader(reading))
        self._thinking = thinking
        self._stream = TextStream(reading.words.decode)
        self._begun: str | None = ""
        self._thought = ""
        self.num_thought = 0

    @property
    def calls(self) -> Sequence[MadeCall]:
        """The calls so far."""
        return self._message.calls

    @property
    def content(self) -> str | None:
        """The text, or the record."""
        return self._message.content

    def feed(self, token_ids: Sequence[int]) -> list[Delta]:
        """What the next tokens add to the message."""
        deltas: list[Delta] = []
        at = 0
        while self._thinking is not None and at < len(token_ids):
            deltas += self._think(token_ids[at], self._thinking)
            at += 1
        return deltas + self._message.feed(token_ids[at:])

    def end(self) -> list[Delta]:
        """What was held back; no more tokens come."""
        left = [] if self._thinking is None else self._told(self._stream.flush(), is_end=True)
        return left + self._message.end()

    def whole(self) -> Delta:
        """The message so far."""
        thought: Delta = {"reasoning_content": self._thought} if self.num_thought else {}
        return {**self._message.whole(), **thought}

    def _think(self, token_id: int, thinking: Thinking) -> list[Delta]:
        self.num_thought += 1
        if token_id != thinking.end_id:
            return self._told(self._stream.push(token_id))
        told = self._told(self._stream.flush(), is_end=True)
        self._thinking = None
        return told

    def _told(self, text: str, *, is_end: bool = False) -> list[Delta]:
        """Some of the thinking; the mark with which it may begin is left out."""
        assert self._thinking is not None
        if self._begun is not None:
            self._begun += text
            start = self._thinking.start
            if not is_end and start.startswith(self._begun):
                return []
            text, self._begun = self._begun.removeprefix(start), None
        self._thought += text
        return [{"reasoning_content": text}] if text else []
