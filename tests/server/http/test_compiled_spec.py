"""Compiling for the server: what is shared between requests."""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.errors import DocumentError
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical
from factorspec_server.http import compiled_spec
from factorspec_server.http.compiled_spec import Compiler
from tests.fixtures.test_many_specs import different


@pytest.fixture(scope="module")
def canonical() -> Canonical:
    return Canonical(vocabulary_like("smollm2"))


def write(decoder: Decoder, seed: int) -> None:
    session, source = decoder.session(20_000), random.Random(seed)
    while session.state == "open":
        ids = session.allowed().ids()
        session.commit([int(ids[source.randrange(len(ids))])])


def test_a_document_is_read_once_whatever_the_number_of_requests(
    canonical: Canonical, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = Compiler(canonical, max_entries=4, max_bytes=1 << 30)
    first, was_cached = compiler.compile(different(1))
    assert not was_cached
    reordered = {**different(1), "properties": dict(reversed(different(1)["properties"].items()))}
    other, was_cached = compiler.compile(reordered)
    assert not was_cached and other is not first, "the order of writing is meaning"
    monkeypatch.setattr(compiled_spec, "parse_document", None)
    assert compiler.compile(different(1)) == (first, True)


def test_a_document_is_found_by_its_text_as_json_writes_it(canonical: Canonical) -> None:
    compiler = Compiler(canonical, max_entries=2, max_bytes=1 << 30)
    document: dict[str, Any] = {"type": "object", "properties": {"ä": {"enum": [1, 1.50, "ü\u2028"]}}}
    text = json.dumps(document).encode()
    assert compiler.find_text(text) is None
    compiled, _ = compiler.compile(json.loads(text))
    assert compiler.find_text(text) is compiled
    assert compiler.find_text(text + b" ") is None


def test_what_was_dropped_is_compiled_again_and_errors_are_not_kept(canonical: Canonical) -> None:
    compiler = Compiler(canonical, max_entries=1, max_bytes=1 << 30)
    for number in (1, 2, 1):
        assert not compiler.compile(different(number))[1]
    for _ in range(2):
        with pytest.raises(DocumentError):
            compiler.compile({"type": "object", "properties": {"a": {"type": "no type"}}})
    assert len(compiler.cache) == 1


def test_equal_requests_at_once_compile_once(canonical: Canonical) -> None:
    compiler = Compiler(canonical, max_entries=4, max_bytes=1 << 30)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: compiler.compile(different(3)), range(16)))
    assert len({id(compiled) for compiled, _ in found}) == 1
    assert sum(not was_cached for _, was_cached in found) == 1


def test_many_different_documents_leave_as_many_as_there_is_room_for(canonical: Canonical) -> None:
    compiler = Compiler(canonical, max_entries=5, max_bytes=1 << 30)
    for number in range(40):
        write(compiler.compile(different(number))[0].decoder, number)
    assert len(compiler.cache) == 5
    assert len(compiler._hashes) == 20
    small = Compiler(canonical, max_entries=100, max_bytes=400_000)
    for number in range(40):
        write(small.compile(different(number))[0].decoder, number)
        small.compile(different(number))
        assert small.cache.num_bytes <= 400_000
    assert 1 <= len(small.cache) < 40
