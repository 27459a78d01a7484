"""Documents with relations, compiled for the served model's tokenizer, and sessions for their requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any, Protocol

from factorspec_sdk.errors import EngineError, Problem
from factorspec_sdk.tokens import Canonical
from factorspec_server.engines.chat_tokenizer import ChatTokenizer
from factorspec_server.engines.chat_vocabulary import chat_vocabulary
from factorspec_server.http.compiled_spec import Compiler
from factorspec_server.http.opening import SessionOpener
from factorspec_server.settings import Budgets
from factorspec_server.sglang.envelope import Envelope
from factorspec_server.sglang.records import Opened, opened_here


class OpensRecords(Protocol):
    """Opens records for the requests of one tokenizer. Methods may be called from any thread."""

    @property
    def end_ids(self) -> tuple[int, ...]:
        """The tokens that end an answer, the tokenizer's own first."""

    def forget_records(self) -> None:
        """Forget what finished records wrote, of which others are guessed. Never waits."""

    def open(self, envelope: Envelope, /) -> Opened:
        """A record. May take as long as the budgets for compiling allow.

        Raises:
            DocumentError: the document cannot be enforced; places are pointers into it.
            InfeasibleError: no record can satisfy it, or none within the token limit.
            EngineError: the tokenizer is of a kind whose tokens cannot be predicted exactly, or whoever keeps
                records has no place left.
        """


class Relations:
    """Opens sessions in this process (``OpensRecords``).

    The tokenizer's tables are made on a thread, since servers start meanwhile; the first request waits for
    them.
    """

    def __init__(
        self, tokenizer: Any, vocab_size: int, end_ids: Iterable[int], budgets: Budgets | None = None
    ) -> None:
        """``vocab_size``: columns of the model's logits."""
        self._budgets = budgets or Budgets()
        self.end_ids = end_ids_of(tokenizer, end_ids)
        self._opener: Future[SessionOpener] = Future()
        make = threading.Thread(
            target=_settle, args=(self._opener, lambda: self._made(tokenizer, vocab_size)), daemon=True
        )
        make.start()

    def open(self, envelope: Envelope) -> Opened:
        """See ``OpensRecords``."""
        return opened_here(self._opener.result(), envelope)

    def forget_records(self) -> None:
        """See ``OpensRecords``."""
        if self._opener.done() and self._opener.exception() is None:
            self._opener.result().forget_records()

    def _made(self, tokenizer: Any, vocab_size: int) -> SessionOpener:
        chat = ChatTokenizer(tokenizer, end_ids=self.end_ids)
        name = str(getattr(tokenizer, "name_or_path", "") or "tokenizer")
        canonical = Canonical(chat_vocabulary(chat, vocab_size, name=name))
        budgets = self._budgets
        compiler = Compiler(canonical, max_entries=budgets.cached_specs, max_bytes=budgets.cached_bytes)
        return SessionOpener(canonical, chat, compiler, budgets)


def _settle(future: Future[Any], make: Callable[[], Any]) -> None:
    try:
        future.set_result(make())
    except BaseException as error:  # noqa: BLE001 - whoever waits gets it
        future.set_exception(error)


def end_ids_of(tokenizer: Any, given: Iterable[int]) -> tuple[int, ...]:
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
