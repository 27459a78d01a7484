"""An answer of SGLang's that comes as server-sent events.

::

    data: {… "choices": [{"delta": {"content": "{\"ci"}}]}          passes, and is read along
    data: {… "choices": [{"delta": {}, "finish_reason": "stop"}]}   the last of these waits for the counts,
    data: {… "choices": [], "usage": {…}}                           and goes out with the vendor part
    data: [DONE]
"""

from __future__ import annotations

import json
from typing import Any

from factorspec_server.http.chat_request import SCHEMA_POINTER
from factorspec_server.sglang.asked import Asked
from factorspec_server.sglang.finished import Choice
from factorspec_server.sglang.refusals import Refusal, refusal_of_answer
from factorspec_server.sglang.whole_answer import VendorPart, without_end_tokens

_END = b"\n\n"
_DATA = b"data: "
_DONE = b"[DONE]"


class StreamedAnswer:
    """The events of one answer."""

    def __init__(self, asked: Asked, vendor: VendorPart) -> None:
        self._asked = asked
        self._vendor = vendor
        self._rest = b""
        self._texts: dict[int, str] = {}
        self._reasons: dict[int, str] = {}
        self._last: dict[str, Any] | None = None

    async def feed(self, data: bytes) -> bytes:
        """What goes out for the next bytes; whole events.

        Raises:
            Refusal: SGLang says that the request failed, or the record must not go out.
        """
        *events, self._rest = (self._rest + data).split(_END)
        return b"".join([part for event in events for part in await self._event(event + _END)])

    async def _event(self, event: bytes) -> list[bytes]:
        """What goes out for an event."""
        if not event.startswith(_DATA):
            return [event]
        if event[len(_DATA) :].strip() == _DONE:
            return [*await self._ended({}), event]
        try:
            chunk = json.loads(event[len(_DATA) :])
        except ValueError:
            return [event]
        if "error" in chunk:
            raise self._refused(chunk)
        if self._last is not None and chunk.get("usage"):
            ended = await self._ended(chunk["usage"])
            chunk["usage"] = without_end_tokens(chunk["usage"], self._choices())
            return [*ended, _written(chunk)] if self._asked.wants_usage else ended
        if self._has_ended(chunk):
            self._last = chunk
            return []
        return [event]

    async def _ended(self, usage: dict[str, Any]) -> list[bytes]:
        """The event that ends the last choice, if it has not gone out."""
        last, self._last = self._last, None
        if last is None:
            return []
        last["factorspec"] = await self._vendor(self._choices(), usage)
        return [_written(last)]

    def _has_ended(self, chunk: dict[str, Any]) -> bool:
        """Read a chunk along; True if with it all choices have ended."""
        has_ended = False
        for choice in chunk.get("choices") or ():
            index = choice.get("index", 0)
            self._texts[index] = self._texts.get(index, "") + (choice.get("delta", {}).get("content") or "")
            if choice.get("finish_reason") is not None:
                self._reasons[index] = choice["finish_reason"]
                has_ended = len(self._reasons) == self._asked.num_choices
        return has_ended

    def _choices(self) -> list[Choice]:
        return [Choice(self._texts.get(index, ""), self._reasons[index]) for index in sorted(self._reasons)]

    def _refused(self, chunk: dict[str, Any]) -> Refusal:
        code = chunk["error"].get("code") if isinstance(chunk["error"], dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
        known = refusal_of_answer(status, chunk, SCHEMA_POINTER, self._asked.limit_field)
        return known or Refusal(status, {"error": chunk["error"]})


def _written(chunk: dict[str, Any]) -> bytes:
    return _DATA + json.dumps(chunk, ensure_ascii=False).encode() + _END
