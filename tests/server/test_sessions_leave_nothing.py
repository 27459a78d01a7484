"""Sessions and specs come and go: what they held is freed at once, and a process does not grow."""

from __future__ import annotations

import gc
import sys
import weakref

import pytest

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical
from factorspec_server.http.compiled_spec import Compiler
from tests.benchmarks.sessions_growth import small_document
from tests.benchmarks.sessions_runs import RandomModel

SPECS = 30
CACHED = 5


@pytest.fixture(scope="module")
def canonical() -> Canonical:
    return Canonical(vocabulary_like("smollm2"))


def write_records(compiler: Compiler, canonical: Canonical, num_sessions: int) -> list[weakref.ref[Decoder]]:
    """Records of the specs in turn, always the same ones."""
    model, seen = RandomModel(canonical.vocabulary, 0), []
    for number in range(num_sessions):
        decoder = compiler.compile(small_document(number % SPECS))[0].decoder
        session = decoder.session(300)
        while session.state == "open":
            session.commit(session.plan().tokens)
            if session.state == "open":
                session.commit((model.choose(session.allowed()),))
        seen.append(weakref.ref(decoder))
        del decoder, session
    return seen


def test_specs_that_leave_the_cache_are_freed_without_the_collector(canonical: Canonical) -> None:
    compiler = Compiler(canonical, max_entries=CACHED, max_bytes=1 << 30)
    gc.collect()
    gc.disable()
    try:
        seen = write_records(compiler, canonical, 2 * SPECS)
        alive = {decoder for reference in seen if (decoder := reference()) is not None}
        assert len(alive) == CACHED
        assert all(decoder.runs.num_bytes for decoder in alive)
    finally:
        gc.enable()


@pytest.mark.parametrize("cached", [CACHED, SPECS])
def test_a_process_does_not_grow(canonical: Canonical, cached: int) -> None:
    compiler = Compiler(canonical, max_entries=cached, max_bytes=1 << 30)
    blocks = []
    for _ in range(4):
        write_records(compiler, canonical, 2 * SPECS)
        gc.collect()
        blocks.append(sys.getallocatedblocks())
    assert max(blocks[2:]) - blocks[1] < 500
