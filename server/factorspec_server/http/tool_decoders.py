"""Decoders of calls and refusals for one model, kept by what they write.

Each tool's document is compiled alone, as that of a response format is, and kept by its hash; what stands in
front of the arguments is put around it afterwards. Requests with the same tools share one pair of decoders.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.graph.alternatives import Alternative, any_of
from factorspec_sdk.tokens import Canonical, Vocabulary
from factorspec_server.engines.call_decoders import CallDecoders
from factorspec_server.engines.opener_watch import OpenerWatch
from factorspec_server.http.call_format import (
    REASON,
    REFUSAL_CLOSER,
    REFUSAL_OPENER,
    SpelledCalls,
)
from factorspec_server.http.compiled_spec import RUN_BYTES, CompiledSpec, Compiler
from factorspec_server.http.spec_cache import SpecCache

_REFUSAL: dict[str, JsonValue] = {
    "type": "object",
    "properties": {REASON: {"type": "string", "minLength": 1, "maxLength": 400}},
    "required": [REASON],
    "additionalProperties": False,
}


class _Kept(NamedTuple):
    """Decoders and what they were made of, which lives as long as they do."""

    decoders: CallDecoders
    compiled: tuple[CompiledSpec, ...]

    @property
    def num_bytes(self) -> int:
        return self.decoders.num_bytes + sum(compiled.num_bytes for compiled in self.compiled)


class ToolDecoders:
    """Makes decoders of calls. Methods may be called from any thread."""

    def __init__(
        self,
        compiler: Compiler,
        canonical: Canonical,
        spelled: SpelledCalls,
        *,
        max_entries: int,
        max_bytes: int,
    ) -> None:
        """Cheap.

        Args:
            compiler: of single documents.
            canonical: encodes records' texts.
            spelled: how calls are written.
            max_entries: sets of tools that are kept.
            max_bytes: and their approximate size together.
        """
        self._compiler = compiler
        self._canonical = canonical
        self.spelled = spelled
        self.cache: SpecCache[_Kept] = SpecCache(
            max_entries=max_entries, max_bytes=max_bytes, size_of=lambda kept: kept.num_bytes
        )

    def calls(self, tools: Sequence[tuple[str, CompiledSpec]], num_tokens: int) -> CallDecoders:
        """Decoders of a call of one of these tools, at least one.

        Args:
            tools: names and compiled documents.
            num_tokens: ids from there on are never chosen.
        """
        key = tuple((name, compiled.spec.hash) for name, compiled in tools)
        compiled = tuple(compiled for _, compiled in tools)
        made = self.cache.get(key, lambda: _Kept(self._calls(tools, num_tokens), compiled))
        return made.value.decoders

    def forget_records(self) -> None:
        """Forget what calls were, of which those that come after them are guessed."""
        for kept in self.cache.values():
            kept.decoders.first.memories.forget()

    @cached_property
    def refusal(self) -> Decoder:
        """Of the record with which a model declines."""
        compiled, _ = self._compiler.compile(_REFUSAL)
        return self._decoder([("refusal", compiled, (REFUSAL_OPENER, REFUSAL_CLOSER))], self._canonical)

    def _calls(self, tools: Sequence[tuple[str, CompiledSpec]], num_tokens: int) -> CallDecoders:
        parts = [(name, compiled, self.spelled.around(name)) for name, compiled in tools]
        first = self._decoder(parts, self._canonical)
        inside = self._decoder(parts, self._inside) if self._canonical.vocabulary.lead else first
        vocabulary = self._canonical.vocabulary
        watch = OpenerWatch(self.spelled.opener(vocabulary), vocabulary, num_tokens)
        return CallDecoders.of(first, inside, self.spelled.tokens, self.spelled.begun, watch)

    def _decoder(
        self, parts: Sequence[tuple[str, CompiledSpec, tuple[str, str]]], canonical: Canonical
    ) -> Decoder:
        alternatives = []
        for name, compiled, (before, after) in parts:
            graph = compiled.graph.around(before, after)
            alternatives.append(Alternative(name, graph.program, graph))
        whole = any_of(alternatives)
        decoder = Decoder(
            whole.program,
            whole.feasibility,
            canonical.vocabulary,
            canonical=canonical,
            max_run_bytes=RUN_BYTES,
        )
        decoder.prepare()
        return decoder

    @cached_property
    def _inside(self) -> Canonical:
        """For what follows other text: no leading mark is put before it."""
        vocabulary = self._canonical.vocabulary
        return Canonical(
            Vocabulary.from_tokenizer(
                vocabulary.tokenizer,
                vocabulary.logit_width,
                vocabulary.end_ids,
                name=vocabulary.name,
                leading_mark=False,
            )
        )
