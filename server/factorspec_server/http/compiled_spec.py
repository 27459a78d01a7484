"""A request's document, parsed and compiled for one vocabulary."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from time import perf_counter

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.graph.collector import collector_paused
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.graph.factor_graph import FactorGraph
from factorspec_sdk.graph.objective import Certificate
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import Spec, canonical_json, parse_document
from factorspec_server.housekeeping import Housekeeping
from factorspec_server.http.spec_cache import SpecCache

# Measured, in bytes: a spec by itself, and a character of its document, which is kept as it was read too.
_SPEC_BYTES = 8192
_BYTES_PER_CHARACTER = 8
#: about what the runs of a spec may take that its sessions share, in bytes
RUN_BYTES = 1 << 20
#: documents whose spec's hash is remembered, for each spec that is kept
_TEXTS_PER_SPEC = 4


@dataclass(frozen=True, slots=True)
class CompiledSpec:
    """A spec and what opens sessions for it.

    Attributes:
        spec: the parsed document.
        decoder: opens sessions; shared by all requests of equal spec.
        graph: the decoder's oracle.
        num_chars: of the spec's text.
        certificates: what is proven about each level of the objective.
        compile_s: seconds it took.
    """

    spec: Spec
    decoder: Decoder
    graph: FactorGraph
    certificates: tuple[Certificate, ...]
    compile_s: float
    num_chars: int

    @property
    def num_bytes(self) -> int:
        """About the memory that it takes now, in bytes: it grows while requests are served. Cheap."""
        document = _SPEC_BYTES + _BYTES_PER_CHARACTER * self.num_chars
        return document + self.graph.num_bytes + self.decoder.num_bytes


class Compiler:
    """Compiles documents for one vocabulary and keeps the results. Methods may be called from any thread."""

    def __init__(
        self,
        canonical: Canonical,
        *,
        max_entries: int,
        max_bytes: int,
        housekeeping: Housekeeping | None = None,
        at_once: int = 2,
    ) -> None:
        """``at_once``: most specs that are compiled at the same time."""
        self._canonical = canonical
        self._housekeeping = housekeeping
        self._compiling = threading.BoundedSemaphore(at_once)
        self.cache: SpecCache[CompiledSpec] = SpecCache(
            max_entries=max_entries, max_bytes=max_bytes, size_of=lambda compiled: compiled.num_bytes
        )
        # The hash of a document's text -> that of its spec, so that a document is not read again.
        self._lock = threading.Lock()
        self._hashes: OrderedDict[bytes, str] = OrderedDict()
        self._max_hashes = _TEXTS_PER_SPEC * max_entries

    def compile(self, document: dict[str, JsonValue]) -> tuple[CompiledSpec, bool]:
        """The compiled document, and True if it was compiled for an earlier request.

        Raises:
            DocumentError: the document is not well formed or holds what cannot be enforced.
            InfeasibleError: no record can satisfy it, or proving that some can exceeds the budgets.
        """
        text = _hash_of_text(document)
        known = self._known(text)
        if known is not None:
            return known, True
        with collector_paused():
            spec = parse_document(document)
            found = self.cache.get(spec.hash, lambda: self._compile_in_turn(spec))
            if text is not None:
                self._remember(text, spec.hash)
            if self._housekeeping is not None and not found.was_cached:
                self._housekeeping.spec_compiled()
        return found.value, found.was_cached

    def find_text(self, text: bytes) -> CompiledSpec | None:
        """The compiled document, if it was compiled for an earlier request; ``text``: as ``json.dumps``
        writes it. It is not read for that.
        """
        return self._known(sha256(text).digest())

    def forget_records(self) -> None:
        """Forget what records wrote, of which those that come after them are guessed."""
        for compiled in self.cache.values():
            compiled.decoder.memories.forget()

    def _known(self, text: bytes | None) -> CompiledSpec | None:
        spec_hash = None if text is None else self._hashes.get(text)
        return None if spec_hash is None else self.cache.find(spec_hash)

    def _compile_in_turn(self, spec: Spec) -> CompiledSpec:
        with self._compiling:
            return self._compile(spec)

    def _remember(self, text: bytes, spec_hash: str) -> None:
        with self._lock:
            self._hashes[text] = spec_hash
            while len(self._hashes) > self._max_hashes:
                self._hashes.popitem(last=False)

    def _compile(self, spec: Spec) -> CompiledSpec:
        started = perf_counter()
        compiled, canonical = compile_spec(spec), self._canonical
        decoder = Decoder(
            compiled.program,
            compiled.feasibility,
            canonical.vocabulary,
            canonical=canonical,
            max_run_bytes=RUN_BYTES,
        )
        took, num_chars = perf_counter() - started, len(canonical_json(spec.document))
        return CompiledSpec(spec, decoder, compiled.feasibility, compiled.certificates, took, num_chars)


def _hash_of_text(document: dict[str, JsonValue]) -> bytes | None:
    """The hash of a document as it was written; None if it cannot be written again."""
    try:
        return sha256(json.dumps(document).encode()).digest()
    except (RecursionError, TypeError, ValueError):
        return None  # reading it says what is wrong
