"""Chat completions without HTTP: from a request to what the engine runs, and from its result to the answer.

::

    ChatRequest ──► prepare (any thread) ──► ChatJob ──► engine ──► Completion ──► answer, or pieces of it
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from factorspec_sdk.errors import JsonValue, ModelNotFound
from factorspec_server.drafting import Certain, DraftingPolicy, Session
from factorspec_server.engines import (
    Completion,
    ContextTooLong,
    EngineClosed,
    Request,
    Sampling,
    seed_of_choice,
)
from factorspec_server.engines.answer_session import AnswerSession
from factorspec_server.engines.remembering import earlier_of, remember
from factorspec_server.housekeeping import Housekeeping
from factorspec_server.http.answer_maker import AnswerMaker, AnySession
from factorspec_server.http.answer_reader import AnswerReader, Reading
from factorspec_server.http.chat_job import ChatJob, ChoiceJob
from factorspec_server.http.chat_request import ChatRequest, read_chat_request
from factorspec_server.http.choice_message import ChoiceMessage, Delta
from factorspec_server.http.compiled_spec import Compiler
from factorspec_server.http.enforced import Enforced
from factorspec_server.http.kept import KeptChoice, SessionService
from factorspec_server.http.logprobs import LogprobEntries
from factorspec_server.http.report import Written, origins_of, report_from, report_of
from factorspec_server.http.served_model import ServedModel
from factorspec_server.salts import salt_of
from factorspec_server.settings import ServerSettings
from factorspec_server.version import distribution_version


class _Part(NamedTuple):
    """What one answer is written by: a session of this process or a kept one, which drafts by itself."""

    writes: Session | None
    session: AnySession | None
    kept: KeptChoice | None
    drafting: DraftingPolicy


class ChatService:
    """Prepares requests for one model and makes answers. Methods may be called from any thread."""

    def __init__(
        self,
        served: ServedModel,
        settings: ServerSettings,
        housekeeping: Housekeeping | None = None,
        service: SessionService | None = None,
    ) -> None:
        """``service``: keeps the sessions of records, and ends when the server does."""
        self.served = served
        self.settings = settings
        self.service = service
        budgets = settings.budgets
        self.compiler = Compiler(
            served.canonical,
            max_entries=budgets.cached_specs,
            max_bytes=budgets.cached_bytes,
            housekeeping=housekeeping,
            at_once=budgets.compile_workers,
        )
        self.maker = AnswerMaker(served, self.compiler, budgets, service)
        vocabulary = served.canonical.vocabulary
        self.fingerprint = f"factorspec-{distribution_version()}-{vocabulary.hash[:12]}"

    def prepare(self, chat: ChatRequest) -> ChatJob:
        """The request as the engine takes it. May take as long as the budgets for compiling allow.

        Raises:
            ModelNotFound: the request asks for another model.
            ContextTooLong: prompt and token limit do not fit into the model's context.
            DocumentError: the document cannot be enforced; places are pointers into it.
            InfeasibleError: no record can satisfy it, or none within the token limit.
        """
        self.check_model(chat.model)
        keeps = self.maker.keeps(chat)
        enforced = Enforced() if keeps else self.maker.compile(chat)
        prompt_ids = self.maker.prompt_ids(chat, enforced)
        room = self._room(len(prompt_ids), chat)
        limit = chat.token_limit or min(room, self.settings.budgets.default_tokens)
        most = limit if chat.token_limit else room
        if keeps:
            limit, records = self.maker.kept(chat, limit, most)
            for record in records:
                record.set_prompt(prompt_ids)
            parts: list[_Part] = [_Part(record, None, KeptChoice(record), Certain()) for record in records]
        else:
            limit, sessions = self.maker.sessions(chat, enforced, limit, most)
            parts = [_Part(each, each, None, self._drafting(prompt_ids, each)) for each in sessions]
        seed = secrets.randbits(63) if chat.seed is None else chat.seed
        choices = [
            ChoiceJob(
                Request(
                    prompt_ids=prompt_ids,
                    token_limit=limit,
                    session=part.writes,
                    sampling=_sampling(chat, seed_of_choice(seed, index)),
                    drafting=part.drafting,
                    stop=tuple(chat.stop),
                    salt=salt_of(chat.cache_salt),
                    top_logprobs=chat.top_logprobs if chat.logprobs else None,
                ),
                part.session,
                part.kept,
            )
            for index, part in enumerate(parts)
        ]
        return ChatJob(chat=chat, choices=tuple(choices), enforced=enforced)

    def read(self, body: Mapping[str, JsonValue]) -> ChatRequest:
        """The request that a JSON body holds; see ``read_chat_request`` for errors."""
        num_tokens = self.served.engine.model.num_tokens
        return read_chat_request(body, most_choices=self.most_choices, num_tokens=num_tokens)

    @property
    def most_choices(self) -> int:
        """Most answers to one request: they wait for the engine together."""
        return min(self.settings.budgets.choices, self.served.engine.max_waiting)

    def check_model(self, name: str) -> None:
        """Raise ``ModelNotFound`` unless the model is served under that name."""
        names = (self.served.name, *self.served.aliases)
        if name not in names:
            raise ModelNotFound(f"the model {name!r} is not served here; this server has {', '.join(names)}")

    def _drafting(self, prompt_ids: Sequence[int], session: AnySession | None) -> DraftingPolicy:
        """A policy for one request; an ordinary chat has nothing to draft."""
        settings = self.settings
        return (
            Certain()
            if session is None
            else self.served.drafting(settings.drafting, prompt_ids, settings.width, earlier_of(session))
        )

    def _room(self, num_prompt: int, chat: ChatRequest) -> int:
        most = self.served.engine.model.max_positions
        if num_prompt + (chat.token_limit or 1) > most:
            raise ContextTooLong(num_tokens=num_prompt + (chat.token_limit or 1), max_positions=most)
        return most - num_prompt

    async def finish(self, job: ChatJob, index: int, completion: Completion) -> None:
        """Gather what the report of one answer needs, before it is asked for. May wait for other processes.

        Raises:
            FactorspecError: they do not answer in time.
        """
        choice, settings = job.choices[index], self.settings
        if completion.error is not None:
            return
        if choice.kept is not None:
            await asyncio.to_thread(job.finish, index)
        elif choice.session is not None:
            if self.served.drafting_spec(settings.drafting, settings.width).remembers:
                remember(choice.session)

    def text_of(self, choice: ChoiceJob, completion: Completion) -> str:
        """The text of one answer.

        Raises:
            FactorspecError: the engine failed, or stopped before the record was complete.
        """
        text = self._written(choice, completion)
        if completion.error is not None:
            raise completion.error
        if completion.finish_reason == "cancelled":
            raise EngineClosed("the server stopped before the answer was complete; send it again")
        return text

    def _written(self, choice: ChoiceJob, completion: Completion) -> str:
        if choice.kept is not None:
            tokens = choice.kept.session.tokens
            return self.served.canonical.vocabulary.decode(tokens, errors="replace")
        return completion.text if choice.session is None else choice.session.text

    def answer(self, job: ChatJob, completions: Sequence[Completion]) -> dict[str, JsonValue]:
        """The body of a complete answer. Raises as ``text_of``."""
        failed = [completion.error for completion in completions if completion.error is not None]
        if failed:
            raise failed[0]  # it is why the others were cancelled
        messages = [self.message_of(choice) for choice in job.choices]
        for message, completion in zip(messages, completions, strict=True):
            if message is not None:
                message.feed(completion.token_ids)
                message.end()
        read = zip(completions, messages, strict=True)
        return {
            **self.envelope(job, "chat.completion"),
            "choices": [self._choice(job, index, *each) for index, each in enumerate(read)],
            "usage": usage_of(completions),
            **self._vendor_part(job, completions, messages),
        }

    def _choice(
        self, job: ChatJob, index: int, completion: Completion, message: ChoiceMessage | None
    ) -> JsonValue:
        text = self.text_of(job.choices[index], completion)
        entries = self.logprobs_of(job, index)
        plain: Delta = {"role": "assistant", "content": text, "refusal": None}
        return {
            "index": index,
            "message": plain if message is None else message.whole(),
            "logprobs": None if entries is None else entries.of(completion.logprobs),
            "finish_reason": finish_reason_of(completion, message),
        }

    def message_of(self, choice: ChoiceJob) -> ChoiceMessage | None:
        """Reads one answer that may hold calls or a refusal; None where it is text or a record alone."""
        if not isinstance(choice.session, AnswerSession):
            return None
        reading = Reading.of(choice.session.rules, self.served.engine.model, self.maker.form)
        return ChoiceMessage(AnswerReader(reading))

    def logprobs_of(self, job: ChatJob, index: int) -> LogprobEntries | None:
        """Makes what is told of one answer's tokens, None where nobody asked."""
        if not job.chat.logprobs:
            return None
        is_record = not job.choices[index].is_chat
        return LogprobEntries(self.served.canonical.vocabulary, is_record=is_record)

    def envelope(self, job: ChatJob, kind: str) -> dict[str, JsonValue]:
        """What an answer and its pieces begin with."""
        return {
            "id": job.id,
            "object": kind,
            "created": job.created,
            "model": self.served.name,
            "system_fingerprint": self.fingerprint,
        }

    def _vendor_part(
        self, job: ChatJob, completions: Sequence[Completion], messages: Sequence[ChoiceMessage | None]
    ) -> dict[str, JsonValue]:
        """``{"factorspec": {...}}`` where a spec was enforced; of several answers each one's report."""
        choices = zip(job.choices, completions, messages, strict=True)
        reports = [self.report(job, *choice) for choice in choices]
        first = reports[0]
        if first is None:
            return {}
        several: dict[str, JsonValue] = {"reports": [*reports]} if len(reports) > 1 else {}
        return {"factorspec": {**job.echo(), "report": first, **several}}

    def report(
        self, job: ChatJob, choice: ChoiceJob, completion: Completion, message: ChoiceMessage | None
    ) -> dict[str, JsonValue] | None:
        """The report of one answer, None where no spec was enforced."""
        if choice.kept is not None:
            return _kept_report(choice.kept, choice.request, completion)
        if not job.enforced.specs or choice.session is None:
            return None
        written = _written(job.enforced, choice.session, message)
        report = report_of(choice.session, completion.usage, job.enforced, written)
        report["spec_cached"] = not job.enforced.fresh
        report["seed"] = choice.request.sampling.seed
        if job.chat.factorspec.origins:
            report["origins"] = origins_of(choice.session, self.served.canonical.vocabulary)
        return report


def _kept_report(kept: KeptChoice, request: Request, completion: Completion) -> dict[str, JsonValue]:
    """The report of a record whose ``finish`` has told what there is to tell."""
    assert kept.told is not None, "finished before"
    report = report_from(kept.told, completion.usage, kept.session.compile_s)
    return {**report, "spec_cached": kept.session.was_cached, "seed": request.sampling.seed}


def finish_reason_of(completion: Completion, message: ChoiceMessage | None) -> str:
    """Why an answer ended, as OpenAI says it."""
    return "tool_calls" if message is not None and message.calls else completion.finish_reason


def _written(enforced: Enforced, session: AnySession, message: ChoiceMessage | None) -> list[Written]:
    """The record or the calls that an answer holds."""
    if message is not None:
        calls = [(call.name, call.arguments) for call in message.calls]
        found = [Written(enforced.tools[name], json.loads(text), name) for name, text in calls]
        record = message.content if session.state == "complete" and not found else None
    else:
        found, record = [], session.text if session.state == "complete" else None
    if enforced.record is not None and record:
        found.append(Written(enforced.record, json.loads(record)))
    return found


def usage_of(completions: Sequence[Completion]) -> dict[str, JsonValue]:
    """Token counts as OpenAI names them: the prompt counts once, the answers' tokens are added up."""
    usages = [completion.usage for completion in completions]
    prompt, written = usages[0].prompt_tokens, sum(usage.tokens for usage in usages)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": written,
        "total_tokens": prompt + written,
        # what one answer read, the others reused
        "prompt_tokens_details": {"cached_tokens": min(usage.reused for usage in usages)},
    }


def _sampling(chat: ChatRequest, seed: int) -> Sampling:
    return Sampling(
        temperature=chat.temperature,
        top_p=chat.top_p,
        top_k=chat.top_k,
        min_p=chat.min_p,
        frequency_penalty=chat.frequency_penalty,
        presence_penalty=chat.presence_penalty,
        repetition_penalty=chat.repetition_penalty,
        logit_bias=tuple((int(token), bias) for token, bias in chat.logit_bias.items()),
        seed=seed,
    )
