"""Records that the constraint service's workers keep, opened for SGLang's requests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from factorspec_server.constraint_service import ConstraintService, ServiceOptions, VocabularySource
from factorspec_server.engines.chat_tokenizer import ChatTokenizer
from factorspec_server.sglang import compat
from factorspec_server.sglang.envelope import Envelope, KeptDocument
from factorspec_server.sglang.process_parts import parts
from factorspec_server.sglang.records import Opened
from factorspec_server.sglang.relations import Relations, end_ids_of
from factorspec_server.sglang.service_settings import ServiceSettings

#: places for records, for each request that may run: those that wait for their turn have one already
_PLACES = 16
_LEAST_PLACES, _MOST_PLACES = 1024, 4096


class ServiceRelations:
    """Opens records at a service of its own (``OpensRecords``).

    Attributes:
        end_ids: the tokens that end an answer, the tokenizer's own first.
        service: its workers start with it, and end with this process.
    """

    def __init__(
        self, tokenizer: Any, vocab_size: int, end_ids: Iterable[int], options: ServiceOptions
    ) -> None:
        """Returns at once; tables are made meanwhile. ``vocab_size``: columns of the model's logits.

        Raises:
            EngineError: the tokenizer cannot be handed to other processes.
        """
        self.end_ids = end_ids_of(tokenizer, end_ids)
        chat = ChatTokenizer(tokenizer, end_ids=self.end_ids)
        name = str(getattr(tokenizer, "name_or_path", "") or "tokenizer")
        self.service = ConstraintService(VocabularySource.of_chat(chat, vocab_size, name=name), options)
        # its tables are made while the model loads, not while requests run
        self._here = Relations(tokenizer, vocab_size, end_ids)
        drafting = parts().drafting
        if drafting is not None:
            self.service.draft(drafting)

    def open(self, envelope: Envelope, /) -> Opened:
        """See ``OpensRecords``. Answers that may be several are kept here, not by workers."""
        options = envelope.options
        if options.answer is not None:
            return self._here.open(envelope)
        kept = envelope.kept or KeptDocument(envelope.document)
        if kept.written is None:
            kept.written = self.service.written(kept.document)
        record = self.service.open(
            kept.written, token_limit=options.token_limit, on_budget=options.on_budget, salt=envelope.salt
        )
        return Opened(record, options, record.compile_s, record.was_cached, [*record.certificates])

    def forget_records(self) -> None:
        """See ``OpensRecords``."""
        self.service.forget()
        self._here.forget_records()


def service_options(server_args: Any, settings: ServiceSettings) -> ServiceOptions:
    """Sizes of the service of one scheduler."""
    most: int = compat.setting(server_args, "speculative_num_draft_tokens") or 1
    running: int = compat.setting(server_args, "max_running_requests") or 0
    return ServiceOptions(
        workers=settings.workers,
        records=min(_MOST_PLACES, max(_LEAST_PLACES, _PLACES * running)),
        most_tokens=max(64, most),
        deadline_s=settings.deadline_s,
    )
