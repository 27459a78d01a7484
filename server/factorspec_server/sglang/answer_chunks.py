"""An answer that may hold calls, from what ``/generate`` tells to OpenAI's form: whole, or chunk by chunk."""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from factorspec_sdk.errors import JsonValue
from factorspec_server.http.choice_message import Delta
from factorspec_server.http.error_body import plain_error
from factorspec_server.http.refused_chat import document_pointer
from factorspec_server.sglang.answer_asked import AnswerAsked
from factorspec_server.sglang.answer_choice import AnswerChoice
from factorspec_server.sglang.answer_vendor import answer_report, echo, finish_reason_of, raise_given_up
from factorspec_server.sglang.generate_request import Generation, Output
from factorspec_server.sglang.refusals import Refusal, refusal_of_answer
from factorspec_server.sglang.reports import DEADLINE_S, Report
from factorspec_server.sglang.served_chat import ServedChat

Chunk = dict[str, JsonValue]
Take = Callable[[str, float], Awaitable[list[Report]]]
"""The reports of a choice by its id; waits for one, so many seconds at most."""

#: longest wait for the report of an answer that SGLang gave up: its session may not have been the reason
_GIVEN_UP_S = 1.0


class AnswerChunks:
    """One answer. Its choices are told of in any order; each ends once."""

    def __init__(self, asked: AnswerAsked, served: ServedChat, generation: Generation, take: Take) -> None:
        self._asked = asked
        self._take = take
        self._ids = generation.ids
        thinking = served.thinking if generation.thinks else None
        reading = served.reading(asked.chat)
        self._choices = [AnswerChoice(reading, thinking) for _ in generation.ids]
        self._outputs = [Output() for _ in generation.ids]
        self._ended: dict[int, Report] = {}
        self._begun: set[int] = set()
        self._envelope: Chunk = {
            "id": f"chatcmpl-{secrets.token_hex(12)}",
            "object": "chat.completion.chunk" if asked.chat.stream else "chat.completion",
            "created": int(time.time()),
            "model": asked.chat.model,
        }

    @property
    def is_complete(self) -> bool:
        """All choices have ended."""
        return len(self._ended) == len(self._choices)

    def refused(self, status: int, answer: object) -> Refusal:
        """What an error of SGLang's stands for."""
        chat = self._asked.chat
        known = refusal_of_answer(
            status, answer, document_pointer(chat, is_placed=False), chat.token_limit_field
        )
        if known is not None:
            return known
        told = answer.get("error", answer) if isinstance(answer, dict) else None
        message = told.get("message") if isinstance(told, dict) else None
        kind = "invalid_request_error" if status < 500 else "server_error"
        text = str(message or "SGLang gave the answer up; its log may say why")
        return Refusal(status, plain_error(text, code="sglang_error", kind=kind))

    async def whole(self, told: Sequence[dict[str, Any]]) -> Chunk:
        """The body of an answer. Raises Refusal: it goes out as an error."""
        choices: list[JsonValue] = []
        reports: list[JsonValue] = []
        for index, (choice, output) in enumerate(zip(self._choices, self._outputs, strict=True)):
            choice.feed(output.take(told[index]))
            choice.end()
            reason, report = await self._end(index)
            message = choice.whole()
            choices.append({"index": index, "message": message, "logprobs": None, "finish_reason": reason})
            reports.append(report)
        several: Chunk = {"reports": reports} if len(reports) > 1 else {}
        vendor: JsonValue = {**echo(self._asked), "report": reports[0], **several}
        return {**self._envelope, "choices": choices, "usage": self._usage(), "factorspec": vendor}

    async def chunks(self, told: dict[str, Any]) -> list[Chunk]:
        """The chunks of what is told of one choice. Raises Refusal: the stream ends with an error."""
        index = told.get("index", 0)
        choice, output = self._choices[index], self._outputs[index]
        if index in self._ended:
            return []
        found = [self._delta(index, delta) for delta in choice.feed(output.take(told))]
        if output.finish_reason is None:
            return found
        found += [self._delta(index, delta) for delta in choice.end()]
        if index not in self._begun:
            found.append(self._delta(index, {"content": ""}))
        reason, report = await self._end(index)
        vendor: JsonValue = {**echo(self._asked), "report": report}
        found.append({**self._chunk(index, {}, reason), "factorspec": vendor})
        if self.is_complete and self._asked.chat.stream_options.include_usage:
            found.append({**self._envelope, "choices": [], "usage": self._usage()})
        return found

    async def _end(self, index: int) -> tuple[str, Chunk]:
        """Why a choice ended, and its report."""
        choice, output = self._choices[index], self._outputs[index]
        abort = output.abort
        if abort is not None:
            await self._give_up(index, *abort)
        found = await self._take(self._ids[index], DEADLINE_S)
        report = answer_report(self._asked, choice, output, found)
        self._ended[index] = found[0]
        return finish_reason_of(choice, found[0]), report

    async def _give_up(self, index: int, status: int, message: str) -> None:
        """Raise what SGLang gave a choice up for: what its session says of it, or SGLang itself."""
        refused = self.refused(status, {"message": message})
        if status >= 500:
            for report in await self._take(self._ids[index], _GIVEN_UP_S):
                raise_given_up(report)
        raise refused

    def _usage(self) -> dict[str, JsonValue]:
        """Token counts as OpenAI names them: the prompt counts once, the answers' tokens are added up."""
        prompt = self._outputs[0].prompt_tokens
        thought = sum(choice.num_thought for choice in self._choices)
        written = thought + sum(cast(int, report["tokens"]) for report in self._ended.values())
        details: dict[str, JsonValue] = {"completion_tokens_details": {"reasoning_tokens": thought}}
        return {
            "prompt_tokens": prompt,
            "completion_tokens": written,
            "total_tokens": prompt + written,
            "prompt_tokens_details": {"cached_tokens": min(each.cached_tokens for each in self._outputs)},
            **(details if thought else {}),
        }

    def _delta(self, index: int, delta: Delta) -> Chunk:
        """A chunk with a piece of the message; the first of a choice says whose it is."""
        if index not in self._begun:
            self._begun.add(index)
            content: Delta = {} if "content" in delta else {"content": None}
            delta = {"role": "assistant", "refusal": None, **content, **delta}
        return self._chunk(index, delta)

    def _chunk(self, index: int, delta: Delta, finish_reason: str | None = None) -> Chunk:
        usage: Chunk = {"usage": None} if self._asked.chat.stream_options.include_usage else {}
        choice: JsonValue = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return {**self._envelope, **usage, "choices": [choice]}
