"""What a constraint service is made with: its sizes and deadlines, the model's tokens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from factorspec_sdk.errors import EngineError, Problem
from factorspec_sdk.tokens.marks import MARK
from factorspec_server.engines.cache_dir import cache_dir
from factorspec_server.engines.chat_tokenizer import ChatTokenizer
from factorspec_server.engines.chat_vocabulary import ANSWER
from factorspec_server.settings import Budgets


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions:
    """Sizes and deadlines of a constraint service.

    Attributes:
        workers: processes that keep sessions, at least 1; where none are wanted plans are made in process.
        records: most records that are open at a time.
        rows: mask rows of a record in shared memory; those of further decisions of a plan are sent when they
            are asked for.
        most_tokens: of a plan.
        deadline_s: longest wait of the step thread, in seconds. A worker that does not answer in half of it
            is killed, and its records are opened elsewhere in the other half; one that compiles is asked for
            a sign of life. A nursery that has forked no worker in all of it is replaced.
        open_deadline_s: longest wait for a record to be opened, in seconds: compiling is in it, and at the
            start the tables of the vocabulary.
        budgets: bounds on documents, on what is compiled and on what is kept of it; compiled specs have their
            room together (``worker_budgets``).
    """

    workers: int
    records: int = 512
    rows: int = 8
    most_tokens: int = 512
    deadline_s: float = 10.0
    open_deadline_s: float = 120.0
    budgets: Budgets = Budgets()

    def __post_init__(self) -> None:
        for name in ("workers", "records", "rows", "most_tokens"):
            value = getattr(self, name)
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value!r}")
        for name in ("deadline_s", "open_deadline_s"):
            value = getattr(self, name)
            if not value > 0:
                raise ValueError(f"{name} must be above 0 seconds, got {value!r}")

    @property
    def worker_budgets(self) -> Budgets:
        """Those of one worker: its share of the bytes for compiled specs, and all else as it stands."""
        return replace(self.budgets, cached_bytes=self.budgets.cached_bytes // self.workers)


@dataclass(frozen=True, slots=True, kw_only=True)
class VocabularySource:
    """All that another process needs to make the same vocabulary; data only.

    Attributes:
        definition: the tokenizer's ``tokenizer.json``.
        logit_width: columns of the model's logits.
        end_ids: tokens that end an answer.
        name: what errors call it.
        answer_ids: tokens of the answer ``ANSWER`` where the chat template writes one, which tell whether
            records have a leading mark; None: as the tokenizer has it.
        cache: directory for what is worked out of a tokenizer; None: nothing is kept on disk.
    """

    definition: str
    logit_width: int
    end_ids: tuple[int, ...] = ()
    name: str = "tokenizer"
    answer_ids: tuple[int, ...] | None = None
    cache: str | None = None

    @property
    def row_words(self) -> int:
        """Words of a mask row."""
        return -(-self.logit_width // 32)

    @classmethod
    def of_tokenizer(
        cls,
        backend: Any,
        logit_width: int,
        end_ids: Sequence[int] = (),
        *,
        name: str = "tokenizer",
        answer_ids: Sequence[int] | None = None,
        cache: Path | None = None,
    ) -> Self:
        """The source of a ``tokenizers.Tokenizer``.

        Raises:
            EngineError: the tokenizer has parts written in Python, which no file can hold.
        """
        try:
            definition = backend.to_str()
        except Exception as error:
            problem = Problem(
                "tokenizer",
                f"it cannot be written as a tokenizer.json: {error}",
                type(backend).__name__,
                "serve without constraint workers",
            )
            message = f"tokenizer {name!r} cannot be handed to constraint workers"
            raise EngineError(message, [problem]) from error
        return cls(
            definition=definition,
            logit_width=logit_width,
            end_ids=tuple(end_ids),
            name=name,
            answer_ids=None if answer_ids is None else tuple(answer_ids),
            cache=None if cache is None else str(cache),
        )

    @classmethod
    def of_chat(cls, chat: ChatTokenizer, logit_width: int, *, name: str) -> Self:
        """The source of a chat model's vocabulary, as ``chat_vocabulary`` would make it.

        Raises:
            EngineError: as ``of_tokenizer``.
        """
        source = cls.of_tokenizer(
            chat.backend, logit_width, chat.end_ids, name=name, cache=cache_dir() / "vocabularies"
        )
        stages = json.loads(source.definition)
        marked = json.dumps([stages.get("normalizer"), stages.get("pre_tokenizer")], ensure_ascii=False)
        if MARK not in marked:
            return source
        return cls.of_tokenizer(
            chat.backend,
            logit_width,
            chat.end_ids,
            name=name,
            answer_ids=chat.answer_ids(ANSWER),
            cache=cache_dir() / "vocabularies",
        )
