"""The grammar backend ``factorspec``: relations by sessions, all other grammars by XGrammar as ever.

Specs are compiled by the constraint service's workers, or on two threads of the scheduler's process, never on
its main one. SGLang keeps each grammar that it has seen, without end; those of relations are kept by whoever
compiles them, within budgets (``Compiler``), and records are opened for each request, since its options stand
in the key.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from typing import Any

from factorspec_sdk.errors import EngineError, FactorspecError
from factorspec_server.engines.precedence import go_first, go_last
from factorspec_server.housekeeping import Housekeeping
from factorspec_server.settings import Budgets
from factorspec_server.sglang import compat
from factorspec_server.sglang.asked_salt import asked_salt
from factorspec_server.sglang.envelope import has_vendor_key, may_ask_for_relations, refused_in_tags
from factorspec_server.sglang.envelopes import Envelopes
from factorspec_server.sglang.grammars import FollowingGrammars, Grammars, OwnGrammars
from factorspec_server.sglang.process_parts import parts
from factorspec_server.sglang.ranks import Ranks, ranks_of
from factorspec_server.sglang.record_metrics import RecordMetrics
from factorspec_server.sglang.refusals import refusal_text
from factorspec_server.sglang.relations import OpensRecords, Relations, end_ids_of
from factorspec_server.sglang.reports import ReportSender
from factorspec_server.sglang.service_relations import ServiceRelations, service_options
from factorspec_server.sglang.service_settings import ServiceSettings, keeps_records
from factorspec_server.sglang.shared_grammar import SharedOutcome
from factorspec_server.sglang.step_metrics import ServiceMetrics, StepMetrics

_logger = logging.getLogger(__name__)
#: other threads let the scheduler's main one go on after so many seconds
_GIVE_WAY_S = 0.0001


def make_backend(server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: set[int] | None) -> Any:
    """What SGLang calls where the backend is named; wrapped for models that think before they answer."""
    # while the main thread waits for those that open records and send reports, the device waits for it
    sys.setswitchinterval(min(sys.getswitchinterval(), _GIVE_WAY_S))
    go_first()
    Housekeeping()  # the model is loaded: the collector need not walk it in the middle of steps
    ranks, end_ids = ranks_of(server_args), eos_token_ids or ()
    metrics = reports = None
    if ranks is not None and not ranks.is_first:
        grammars: Grammars = FollowingGrammars(end_ids_of(tokenizer, end_ids), ranks)
    else:
        relations = _opening(server_args, tokenizer, vocab_size, end_ids)
        if compat.is_first_rank():
            metrics = _metrics() if compat.setting(server_args, "enable_metrics") else None
            reports = ReportSender.of_environment(metrics)
        grammars = OwnGrammars(relations, reports, ranks)
    any_whitespace = not compat.setting(server_args, "constrained_json_disable_any_whitespace")
    backend = RelationBackend(tokenizer, vocab_size, eos_token_ids, any_whitespace, grammars)
    backend.metrics, backend.ranks = metrics, ranks
    thinks_as = compat.setting(server_args, "reasoning_parser")
    if not thinks_as:
        return backend
    parser = compat.ReasoningParser(model_type=thinks_as, stream_reasoning=False, tokenizer=tokenizer)
    is_strict = compat.setting(server_args, "enable_strict_thinking")
    thinking = ThinkingBackend(backend, parser, tokenizer, enable_strict_thinking=is_strict)
    thinking.ranks = ranks
    return thinking


def _metrics() -> RecordMetrics:
    """What is counted in this process."""
    parts().metrics = StepMetrics()
    service = parts().service
    if service is not None:
        ServiceMetrics(service.stats).start()
    return RecordMetrics()


def _opening(server_args: Any, tokenizer: Any, vocab_size: int, end_ids: Iterable[int]) -> OpensRecords:
    """Who opens records: the constraint service's workers where there are to be any, else this process."""
    settings = ServiceSettings.read(os.environ, str(compat.setting(server_args, "device")))
    if keeps_records(settings, partial(compat.setting, server_args)):
        try:
            options = service_options(server_args, settings)
            served = ServiceRelations(tokenizer, vocab_size, end_ids, options)
        except EngineError as error:
            _logger.warning("records are kept by the scheduler: %s", error)
        else:
            parts().service, parts().workers = served.service, settings.workers
            return served
    return Relations(tokenizer, vocab_size, end_ids)


def _num_openers() -> int:
    """Threads that open records: they compile, or wait for workers that do, each for more than one."""
    return max(Budgets().compile_workers, 2 * parts().workers)


class _BoundedCache(compat.BaseGrammarBackend):
    """Grammars that may be of relations are made anew each time; the specs behind them are kept.

    Attributes:
        opens_records: sessions write what asks for relations (``room.py``).
        ranks: that follow each other; None: there is one, or each works for itself.
    """

    opens_records = True
    ranks: Ranks | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._compiling = ThreadPoolExecutor(
            _num_openers(), thread_name_prefix="factorspec-compile", initializer=go_last
        )

    def get_cached_or_future_value(
        self, key: tuple[str, Any], require_reasoning: bool
    ) -> tuple[Any | Future[Any], bool]:
        """A grammar, or the promise of one."""
        if not isinstance(key[1], str):  # SGLang looks it up as it is, which would end the scheduler
            return compat.InvalidGrammarObject(f"must be a JSON text, not a {type(key[1]).__name__}"), True
        if not _is_of_relations(key):
            found: tuple[Any | Future[Any], bool] = super().get_cached_or_future_value(key, require_reasoning)
            return found
        make = partial(copy_context().run, self._init_value_dispatch, key, require_reasoning)
        made = self._compiling.submit(make)
        if self.ranks is None:
            return made, False
        return SharedOutcome(made, self.ranks, compat.InvalidGrammarObject), False

    def set_cache(self, key: tuple[str, str], value: Any) -> None:
        """Keep a grammar for requests to come."""
        if not _is_of_relations(key):
            super().set_cache(key, value)


class RelationBackend(_BoundedCache, compat.XGrammarGrammarBackend):
    """The backend of one scheduler.

    Attributes:
        metrics: counts what is refused; None: nobody does.
    """

    metrics: RecordMetrics | None = None

    def __init__(
        self,
        tokenizer: Any,
        vocab_size: int,
        eos_token_ids: set[int] | None,
        any_whitespace: bool,
        grammars: Grammars,
    ) -> None:
        super().__init__(
            tokenizer,
            vocab_size=vocab_size,
            model_eos_token_ids=sorted(eos_token_ids) if eos_token_ids else None,
            any_whitespace=any_whitespace,
        )
        self._grammars = grammars
        self._envelopes = Envelopes()

    def reset(self) -> None:
        """Forget what was asked for and written: SGLang empties its caches (``/flush_cache``)."""
        super().reset()
        self._grammars.forget_records()

    def dispatch_json(self, key_string: str) -> Any:
        """The grammar of a JSON Schema."""
        try:
            envelope = self._envelopes.open(key_string)
            if envelope is None:
                return super().dispatch_json(key_string)
            return self._grammars.of(replace(envelope, salt=asked_salt()))
        except FactorspecError as error:
            return self._refused(error)

    def dispatch_structural_tag(self, key_string: str) -> Any:
        """The grammar of text with tagged pieces: XGrammar's, which would pass over relations in it."""
        if has_vendor_key(key_string):
            return self._refused(refused_in_tags(""))
        return super().dispatch_structural_tag(key_string)

    def _refused(self, error: FactorspecError) -> Any:
        _logger.info("a document is refused: %s", error)
        if self.metrics is not None:
            self.metrics.refused(error.code)
        return compat.InvalidGrammarObject(refusal_text(error))


class ThinkingBackend(_BoundedCache, compat.ReasonerGrammarBackend):
    """SGLang's own wrapper: grammars wait until the model has thought."""

    def reset(self) -> None:
        """See ``RelationBackend``."""
        super().reset()
        self.grammar_backend.reset()


def _is_of_relations(key: tuple[str, str]) -> bool:
    return key[0] == "json" and may_ask_for_relations(key[1])
