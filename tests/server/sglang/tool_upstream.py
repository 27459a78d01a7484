"""An app with SGLang's ``/generate``, in which sessions of ours write what they are told, then at random."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel

from factorspec_sdk.errors import FactorspecError
from factorspec_sdk.testing.tokenizers import END
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import parse_document
from factorspec_sdk.wire.check import check_spec
from factorspec_server.engines.chat_tokenizer import ChatTokenizer
from factorspec_server.http.compiled_spec import Compiler
from factorspec_server.http.opening import SessionOpener
from factorspec_server.settings import Budgets
from factorspec_server.sglang.answers import Answers
from factorspec_server.sglang.envelope import open_envelope
from factorspec_server.sglang.records import Opened, opened_here
from factorspec_server.sglang.refusals import refusal_text
from factorspec_server.sglang.reports import ReportBoard, report_of
from factorspec_server.sglang.session_grammar import Ended, SessionGrammar
from tests.server.http.calling import TOOLS, vocabulary_of

ASK = [{"role": "user", "content": "Go away."}]
FREE: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}


def tool(name: str, document: Any) -> dict[str, Any]:
    function = {"name": name} if document is None else {"name": name, "parameters": document}
    return {"type": "function", "function": function}


def asked(**fields: Any) -> dict[str, Any]:
    tools = [tool(name, document) for name, document in TOOLS.items()]
    body = {"model": "m", "messages": ASK, "tools": tools, "max_tokens": 200} | fields
    return {name: value for name, value in body.items() if value is not None}


def named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def message_of(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    message: dict[str, Any] = answer.json()["choices"][0]["message"]
    return message


def check_calls(calls: list[dict[str, Any]]) -> None:
    for call in calls:
        function = call["function"]
        verdicts = check_spec(parse_document(TOOLS[function["name"]]), json.loads(function["arguments"]))
        assert all(verdict.outcome == "holds" for verdict in verdicts)


def events_of(answer: httpx.Response) -> list[Any]:
    assert answer.status_code == 200, answer.text
    datas = [event.removeprefix("data: ") for event in answer.text.split("\n\n") if event]
    assert datas.pop() == "[DONE]"
    return [json.loads(data) for data in datas]


def wrapped_tokenizer(family: str, template: str) -> Any:
    from transformers import PreTrainedTokenizerFast

    make: Any = PreTrainedTokenizerFast
    tokenizer = Tokenizer.from_str(vocabulary_of(family).tokenizer.to_str())
    tokenizer.decoder = ByteLevel()
    return make(tokenizer_object=tokenizer, chat_template=template, eos_token=END)


class ToolUpstream:
    """What SGLang is here.

    Attributes:
        seen: bodies that ``/generate`` and chat completions got.
        told: texts that answers begin with, where their sessions allow it; one for each choice.
        incremental: streams tell the last tokens alone.
        thinks: tokens that stand before each answer.
        breaks: ``/generate`` ends so instead.
    """

    def __init__(self, board: ReportBoard, family: str, template: str) -> None:
        self.board = board
        self.vocabulary = vocabulary_of(family)
        self.tokenizer = wrapped_tokenizer(family, template)
        self.words = ChatTokenizer(self.tokenizer, end_ids=self.vocabulary.end_ids)
        canonical = Canonical(self.vocabulary)
        compiler = Compiler(canonical, max_entries=50, max_bytes=1 << 28)
        self.opener = SessionOpener(canonical, self.words, compiler)
        self.seen: list[dict[str, Any]] = []
        self.told: list[str] = []
        self.incremental = False
        self.thinks: tuple[int, ...] = ()
        self.breaks: dict[str, Any] | None = None
        self.reports = True
        self.seed = 0
        self.handler = self._handler()

    def _handler(self) -> Any:
        config = SimpleNamespace(
            hf_eos_token_id=set(self.vocabulary.end_ids), vocab_size=self.vocabulary.logit_width
        )
        manager = SimpleNamespace(
            tokenizer=self.tokenizer,
            served_model_name="m",
            model_config=config,
            context_len=4096,
            max_req_input_len=4090,
            num_reserved_tokens=0,
            server_args=SimpleNamespace(enable_lora=False),
        )
        return SimpleNamespace(
            tokenizer_manager=manager,
            template_manager=SimpleNamespace(chat_template_name=None),
            reasoning_parser=None,
            default_sampling_params={"top_k": 20},
            default_chat_template_kwargs=None,
            chat_encoding_spec=None,
        )

    async def chat(self, request: Request) -> Response:
        """Chat completions: whatever passes."""
        self.seen.append(await request.json())
        return JSONResponse({"passed": True, "choices": []})

    async def generate(self, request: Request) -> Response:
        """SGLang's own endpoint."""
        body = await request.json()
        self.seen.append(body)
        try:
            outputs = [self._written(at, each) for at, each in enumerate(body["sampling_params"])]
        except FactorspecError as error:
            message = f"Failed to compile json grammar: {refusal_text(error)}"
            if not body["stream"]:
                return JSONResponse({"error": {"message": message}}, 400)
            told = {"type": "abort", "message": message, "status_code": 400}
            outputs = [([], told)]
        if body["stream"]:
            return StreamingResponse(self._stream(outputs), media_type="text/event-stream")
        return JSONResponse([self._told(ids, reason) for ids, reason in outputs])

    def _written(self, at: int, parameters: dict[str, Any]) -> tuple[list[int], dict[str, Any]]:
        envelope = open_envelope(parameters["json_schema"])
        assert envelope is not None
        opened = opened_here(self.opener, envelope)
        grammar = SessionGrammar(opened.record, self.vocabulary.end_ids[0])
        wanted = list(self.vocabulary.encode_inside(self.told[at])) if at < len(self.told) else []
        source, ids = random.Random(f"{self.seed} {at}"), list(self.thinks)
        reason: dict[str, Any] = {"type": "stop", "matched": self.vocabulary.end_ids[0]}
        while not grammar.is_terminated():
            if len(ids) == parameters["max_new_tokens"]:
                reason = {"type": "length", "length": len(ids)}
                break
            token = self._next(opened, grammar, wanted, source)
            grammar.accept_token(token)
            ids.append(token)
        if self.breaks is not None:
            reason = self.breaks
        self._report(opened, grammar, envelope.options.id)
        return ids, reason

    def _next(self, opened: Opened, grammar: SessionGrammar, wanted: list[int], source: random.Random) -> int:
        rows = grammar.allocate_vocab_mask(self.vocabulary.logit_width, 1, "cpu")
        grammar.fill_vocab_mask(rows, 0)
        row = rows[0].numpy()
        if wanted:
            token = wanted.pop(0)
            assert row[token >> 5] >> (token & 31) & 1, "the session does not allow what was told"
            return token
        ids = [at for at in range(self.vocabulary.logit_width) if row[at >> 5] >> (at & 31) & 1]
        ends = [token for token in ids if token in self.vocabulary.end_ids]
        return ends[0] if ends and source.random() < 0.5 else source.choice(ids)

    def _report(self, opened: Opened, grammar: SessionGrammar, request_id: str | None) -> None:
        grammar.finished = True
        if self.reports:
            assert request_id is not None
            self.board._note(request_id, report_of(opened, Ended(request_id, grammar)))

    def _told(self, ids: Sequence[int], reason: dict[str, Any] | None, num_all: int | None = None) -> Any:
        meta = {
            "id": "r",
            "finish_reason": reason,
            "prompt_tokens": 7,
            "cached_tokens": 2,
            "completion_tokens": len(ids) if num_all is None else num_all,
        }
        return {"text": "", "output_ids": list(ids), "meta_info": meta}

    async def _stream(self, outputs: Sequence[tuple[list[int], dict[str, Any]]]) -> AsyncIterator[bytes]:
        source = random.Random(self.seed)
        sent = [0] * len(outputs)
        while True:
            open_ones = [at for at, (ids, _) in enumerate(outputs) if sent[at] <= len(ids)]
            if not open_ones:
                break
            at = source.choice(open_ones)
            ids, reason = outputs[at]
            upto = min(len(ids), sent[at] + source.randint(1, 5))
            is_last = upto == len(ids)
            given = ids[sent[at] : upto] if self.incremental else ids[:upto]
            told = {**self._told(given, reason if is_last else None, upto), "index": at}
            sent[at] = len(ids) + 1 if is_last else upto
            event = b"data: " + json.dumps(told).encode() + b"\n\n"
            for piece in (event[:9], event[9:]):  # events may come in parts
                yield piece
        yield b"data: [DONE]\n\n"

    def app(self) -> Starlette:
        """The app, with our middleware around it."""
        routes = [
            Route("/v1/chat/completions", self.chat, methods=["POST"]),
            Route("/generate", self.generate, methods=["POST"]),
        ]
        app = Starlette(routes=routes)
        app.state.openai_serving_chat = self.handler
        app.add_middleware(Answers, board=self.board, budgets=Budgets(body_bytes=4_000_000))
        return app

    def post(self, body: Any) -> httpx.Response:
        """Ask."""

        async def main() -> httpx.Response:
            transport = httpx.ASGITransport(self.app())
            async with aclosing(httpx.AsyncClient(transport=transport, base_url="http://x")) as client:
                return await client.post("/v1/chat/completions", json=body)

        return asyncio.run(main())
