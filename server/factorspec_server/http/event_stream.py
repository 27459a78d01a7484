"""One answer as OpenAI's stream of server-sent events."""

from __future__ import annotations

import codecs
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from factorspec_sdk.errors import FactorspecError, JsonValue
from factorspec_server.engines import Commit, Completion, Event, TokenLogprob
from factorspec_server.http.chat_job import ChatJob, ChoiceJob
from factorspec_server.http.chat_service import ChatService, finish_reason_of, usage_of
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
    finally:
        job.close()
    yield "data: [DONE]\n\n"


async def _events(service: ChatService, job: ChatJob, tally: Tally) -> AsyncGenerator[dict[str, JsonValue]]:
    chunks = AnswerChunks(service, job)
    async with aclosing(service.served.engine.stream(job.requests)) as running:
        async for event in running:
            if isinstance(event.part, Completion):
                await service.finish(job, event.index, event.part)
            last = chunks.of(event)
            if chunks.is_complete:
                tally.completed(chunks.completions)
            for chunk in last:
                yield chunk


class AnswerChunks:
    """The chunks of one answer, as its choices' commits come."""

    def __init__(self, service: ChatService, job: ChatJob) -> None:
        self._with_usage = job.chat.stream_options.include_usage
        usage: dict[str, JsonValue] = {"usage": None} if self._with_usage else {}
        self._envelope = service.envelope(job, "chat.completion.chunk") | usage
        self._choices = [_ChoiceChunks(service, job, index) for index in range(len(job.choices))]

    @property
    def is_complete(self) -> bool:
        """True once all choices have ended."""
        return all(choice.completion is not None for choice in self._choices)

    @property
    def completions(self) -> list[Completion]:
        """Those of the choices that have ended, in order."""
        return [choice.completion for choice in self._choices if choice.completion is not None]

    def of(self, event: Event) -> list[dict[str, JsonValue]]:
        """The chunks of what came; the last event's are followed by the usage, if it was asked for.

        Raises:
            FactorspecError: as ``ChatService.text_of``.
        """
        choice, part = self._choices[event.index], event.part
        made = choice.end(part) if isinstance(part, Completion) else choice.of_commit(part)
        chunks = [self._envelope | one for one in made]
        if self.is_complete and self._with_usage:
            chunks.append({**self._envelope, "choices": [], "usage": usage_of(self.completions)})
        return chunks


class _ChoiceChunks:
    """What is the choice's own in its chunks."""

    def __init__(self, service: ChatService, job: ChatJob, index: int) -> None:
        self.completion: Completion | None = None
        self._service = service
        self._job = job
        self._index = index
        self._choice = job.choices[index]
        self._read = _Reader(service, self._choice)
        self._message = service.message_of(self._choice)
        self._entries = service.logprobs_of(job, index)
        self._untold: tuple[TokenLogprob, ...] = ()
        self._role: dict[str, JsonValue] = {"role": "assistant", "refusal": None}

    def of_commit(self, commit: Commit) -> list[dict[str, JsonValue]]:
        """The chunks of a commit; none while there is no whole character."""
        if self._message is not None:
            return [self._delta(delta) for delta in self._message.feed(commit.token_ids)]
        self._untold += commit.logprobs
        text = self._read.text_of(commit)
        return [self._delta({"content": text})] if text else []

    def end(self, completion: Completion) -> list[dict[str, JsonValue]]:
        """The last chunks: what is left of the text, and the end with the report."""
        text = self._service.text_of(self._choice, completion)
        self.completion = completion
        if self._message is None:
            rest = text[self._read.num_characters :]
            if self._entries is not None:
                self._untold = completion.logprobs[self._entries.num_told :]
            chunks = [self._delta({"content": rest})] if rest or self._role else []
        else:
            chunks = [self._delta(delta) for delta in self._message.end()]
            chunks += [self._delta({"content": ""})] if self._role else []
        end = self._chunk({}, finish_reason_of(completion, self._message))
        report = self._service.report(self._job, self._choice, completion, self._message)
        vendor: JsonValue = {**self._job.echo(), "report": report}
        return [*chunks, end if report is None else end | {"factorspec": vendor}]

    def _delta(self, delta: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """A chunk with a piece of the message; the first says whose it is."""
        if self._role:
            begun, self._role = self._role | ({} if "content" in delta else {"content": None}), {}
            delta = begun | delta
        return self._chunk(delta)

    def _chunk(self, delta: dict[str, JsonValue], finish_reason: str | None = None) -> dict[str, JsonValue]:
        told: JsonValue = None
        if self._entries is not None and self._untold:
            told, self._untold = self._entries.of(self._untold), ()
        return {
            "choices": [
                {"index": self._index, "delta": delta, "logprobs": told, "finish_reason": finish_reason}
            ]
        }


class _Reader:
    """Text of commits, whole characters only."""

    def __init__(self, service: ChatService, choice: ChoiceJob) -> None:
        self._vocabulary = service.served.canonical.vocabulary
        self._is_chat = choice.is_chat
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


def _event(value: dict[str, JsonValue]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
