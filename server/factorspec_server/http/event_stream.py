"""One answer as OpenAI's stream of server-sent events."""

from __future__ import annotations

import codecs
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import cast

from factorspec_sdk.errors import FactorspecError, JsonValue
from factorspec_server.engines import Commit, Completion
from factorspec_server.http.chat_service import ChatJob, ChatService, usage_of
from factorspec_server.http.error_body import DEFECT, defect_body, error_body
from factorspec_server.http.metrics import Tally

_logger = logging.getLogger(__name__)


async def answer_events(service: ChatService, job: ChatJob, tally: Tally) -> AsyncGenerator[str]:
    """The events of one answer: text as it is committed, the end with the report, usage if asked for.

    The first comes with the engine's first tokens. An error before it is raised; a later one becomes an event
    of its own, as OpenAI clients expect.

    Args:
        service: makes the answer's parts.
        job: what to run.
        tally: told how it ended, errors that became events included.
    """
    is_open = False
    try:
        async with aclosing(_events(service, job, tally)) as events:
            async for event in events:
                yield _event(event)
                is_open = True
    except FactorspecError as error:
        if not is_open:
            raise
        tally.failed(error.code)
        _logger.warning("a stream ended with an error: %s", error)
        yield _event(error_body(error))
    except Exception:
        if not is_open:
            raise
        tally.failed(DEFECT)
        _logger.exception("a stream failed")
        yield _event(defect_body())
    yield "data: [DONE]\n\n"


async def _events(service: ChatService, job: ChatJob, tally: Tally) -> AsyncGenerator[dict[str, JsonValue]]:
    chunks = AnswerChunks(service, job)
    running = cast("AsyncGenerator[Commit | Completion]", service.served.engine.stream(job.request))
    async with aclosing(running) as parts:
        async for part in parts:
            if isinstance(part, Completion):
                last = chunks.end(part)
                tally.completed(part)
            else:
                last = chunks.of_commit(part)
            for chunk in last:
                yield chunk


class AnswerChunks:
    """The chunks of one answer, as its commits come."""

    def __init__(self, service: ChatService, job: ChatJob) -> None:
        self._service = service
        self._job = job
        self._with_usage = job.chat.stream_options.include_usage
        usage: dict[str, JsonValue] = {"usage": None} if self._with_usage else {}
        self._envelope = service.envelope(job, "chat.completion.chunk") | usage
        self._read = _Reader(service, job)
        self._role: dict[str, JsonValue] = {"role": "assistant", "refusal": None}

    def of_commit(self, commit: Commit) -> list[dict[str, JsonValue]]:
        """The chunk of a commit; none while there is no whole character."""
        text = self._read.text_of(commit)
        return [self._content(text)] if text else []

    def end(self, completion: Completion) -> list[dict[str, JsonValue]]:
        """The last chunks: what is left of the text, the end with the report, usage if asked for.

        Raises:
            FactorspecError: as ``ChatService.text_of``.
        """
        rest = self._service.text_of(self._job, completion)[self._read.num_characters :]
        chunks = [self._content(rest)] if rest or self._role else []
        end = {**self._envelope, "choices": [_choice({}, completion.finish_reason)]}
        chunks.append({**end, **self._service.vendor_part(self._job, completion)})
        if self._with_usage:
            chunks.append({**self._envelope, "choices": [], "usage": usage_of(completion)})
        return chunks

    def _content(self, text: str) -> dict[str, JsonValue]:
        role, self._role = self._role, {}
        return {**self._envelope, "choices": [_choice({**role, "content": text})]}


class _Reader:
    """Text of commits, whole characters only."""

    def __init__(self, service: ChatService, job: ChatJob) -> None:
        self._vocabulary = service.served.canonical.vocabulary
        self._is_chat = job.session is None
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._lead = self._vocabulary.lead
        self.num_characters = 0

    def text_of(self, commit: Commit) -> str:
        if self._is_chat:
            text = commit.text
        else:
            text = self._decoder.decode(self._vocabulary.decode_bytes(commit.token_ids))
            if text and self._lead:  # a record's leading mark is no part of its text
                text, self._lead = text.removeprefix(self._lead), ""
        self.num_characters += len(text)
        return text


def _choice(delta: dict[str, JsonValue], finish_reason: str | None = None) -> JsonValue:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _event(value: dict[str, JsonValue]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
