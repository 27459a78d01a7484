"""A request's document, parsed and compiled for one vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.graph.collector import collector_paused
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.graph.objective import Certificate
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import Spec, canonical_json, parse_document
from factorspec_server.housekeeping import Housekeeping
from factorspec_server.http.spec_cache import SpecCache

# Measured on trips: programs, tables and rows take about this much more than the document's text.
_BYTES_PER_CHARACTER = 40
# What sessions of a spec leave to those that come after them.
_RUN_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class CompiledSpec:
    """A spec and what opens sessions for it.

    Attributes:
        spec: the parsed document.
        decoder: opens sessions; shared by all requests of equal spec.
        certificates: what is proven about each level of the objective.
        compile_s: seconds it took.
    """

    spec: Spec
    decoder: Decoder
    certificates: tuple[Certificate, ...]
    compile_s: float


class Compiler:
    """Compiles documents for one vocabulary and keeps the results. Methods may be called from any thread."""

    def __init__(
        self,
        canonical: Canonical,
        *,
        max_entries: int,
        max_bytes: int,
        housekeeping: Housekeeping | None = None,
    ) -> None:
        self._canonical = canonical
        self._housekeeping = housekeeping
        self.cache: SpecCache[CompiledSpec] = SpecCache(max_entries=max_entries, max_bytes=max_bytes)

    def compile(self, document: dict[str, JsonValue]) -> tuple[CompiledSpec, bool]:
        """The compiled document, and True if it was compiled for an earlier request.

        Raises:
            DocumentError: the document is not well formed or holds what cannot be enforced.
            InfeasibleError: no record can satisfy it, or proving that some can exceeds the budgets.
        """
        with collector_paused():
            spec = parse_document(document)
            size = len(canonical_json(spec.document)) * _BYTES_PER_CHARACTER + _RUN_BYTES
            found = self.cache.get(spec.hash, lambda: self._compile(spec), size)
            if self._housekeeping is not None and not found.was_cached:
                self._housekeeping.spec_compiled()
        return found.value, found.was_cached

    def _compile(self, spec: Spec) -> CompiledSpec:
        started = perf_counter()
        compiled, canonical = compile_spec(spec), self._canonical
        decoder = Decoder(
            compiled.program,
            compiled.feasibility,
            canonical.vocabulary,
            canonical=canonical,
            max_run_bytes=_RUN_BYTES,
        )
        return CompiledSpec(spec, decoder, compiled.certificates, perf_counter() - started)
