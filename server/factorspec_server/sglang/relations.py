"""Documents with relations, compiled for the served model's tokenizer, and sessions for their requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from factorspec_sdk.decoding import Session
from factorspec_sdk.errors import EngineError, Problem
from factorspec_sdk.tokens import Canonical
from factorspec_server.engines.chat_tokenizer import ChatTokenizer
from factorspec_server.engines.chat_vocabulary import chat_vocabulary
from factorspec_server.http.compiled_spec import CompiledSpec, Compiler
from factorspec_server.settings import Budgets
from factorspec_server.sglang.envelope import Envelope, RequestOptions


@dataclass(frozen=True, slots=True)
class Opened:
    """A session for one request, and what it was opened from."""

    session: Session
    options: RequestOptions
    compiled: CompiledSpec
    was_cached: bool


class Relations:
    """Opens sessions for one tokenizer. Methods may be called from any thread.

    The tokenizer's tables are made on a thread, since servers start meanwhile; the first request waits for
    them.
    """

    def __init__(
        self, tokenizer: Any, vocab_size: int, end_ids: Iterable[int], budgets: Budgets | None = None
    ) -> None:
        """``vocab_size``: columns of the model's logits."""
        self._budgets = budgets or Budgets()
        self.end_ids = _end_ids(tokenizer, end_ids)
        self._compiler: Future[Compiler] = Future()
        make = threading.Thread(
            target=_settle, args=(self._compiler, lambda: self._made(tokenizer, vocab_size)), daemon=True
        )
        make.start()

    def open(self, envelope: Envelope) -> Opened:
        """A session. May take as long as the budgets for compiling allow.

        Raises:
            DocumentError: the document cannot be enforced; places are pointers into it.
            InfeasibleError: no record can satisfy it, or none within the token limit.
            EngineError: the tokenizer is of a kind whose tokens cannot be predicted exactly.
        """
        compiled, was_cached = self._compiler.result().compile(envelope.document)
        compiled.decoder.prepare()
        options = envelope.options
        session = compiled.decoder.session(options.token_limit, on_budget=options.on_budget)
        return Opened(session, options, compiled, was_cached)

    def _made(self, tokenizer: Any, vocab_size: int) -> Compiler:
        chat = ChatTokenizer(tokenizer, end_ids=self.end_ids)
        name = str(getattr(tokenizer, "name_or_path", "") or "tokenizer")
        canonical = Canonical(chat_vocabulary(chat, vocab_size, name=name))
        budgets = self._budgets
        return Compiler(canonical, max_entries=budgets.cached_specs, max_bytes=budgets.cached_bytes)


def _settle(future: Future[Any], make: Callable[[], Any]) -> None:
    try:
        future.set_result(make())
    except BaseException as error:  # noqa: BLE001 - whoever waits gets it
        future.set_exception(error)


def _end_ids(tokenizer: Any, given: Iterable[int]) -> tuple[int, ...]:
    """The tokens that end an answer, the tokenizer's own first.

    Raises:
        EngineError: there is none.
    """
    own = getattr(tokenizer, "eos_token_id", None)
    ids = tuple(dict.fromkeys(([] if own is None else [int(own)]) + sorted(map(int, given))))
    if not ids:
        problem = Problem("eos_token_id", "records end with one", hint="add it to the model's config.json")
        raise EngineError("the model has no end token", [problem])
    return ids
