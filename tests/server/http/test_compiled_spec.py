"""Compiling for the server: what is shared between requests, and what the cache believes a spec to take."""

from __future__ import annotations

import gc
import json
import random
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import factorspec_sdk as fs
from factorspec_sdk.decoding import Decoder
from factorspec_sdk.errors import DocumentError, JsonValue
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical
from factorspec_server.http import compiled_spec
from factorspec_server.http.compiled_spec import CompiledSpec, Compiler
from tests.fixtures.test_many_specs import different
from tests.graph.documents import integer, record
from tests.records.trip import TODAY, Trip

TEXT: JsonValue = {"type": "string"}


@pytest.fixture(scope="module")
def canonical() -> Canonical:
    return Canonical(vocabulary_like("smollm2"))


def documents() -> dict[str, dict[str, Any]]:
    listed: JsonValue = {"enum": [f"a value with the number {i}" for i in range(800)]}
    item = {key: value for key, value in record({"k": integer(0, 9), "s": TEXT}, []).items() if key[0] != "x"}
    rows: JsonValue = {"type": "array", "items": item, "maxItems": 50}
    return {
        "trip": fs.document(fs.bind(Trip, TODAY)),
        "order": different(1),
        "fields": record({f"f{i}": TEXT if i % 2 else integer(0, 99) for i in range(60)}, []),
        "rows": record({"rows": rows}, []),
        "listed": record({"pick": listed}, []),
    }


def write(decoder: Decoder, seed: int) -> None:
    session, source = decoder.session(20_000), random.Random(seed)
    while session.state == "open":
        ids = session.allowed().ids()
        session.commit([int(ids[source.randrange(len(ids))])])


@pytest.mark.parametrize("name", documents())
def test_a_spec_takes_about_the_memory_that_it_says(canonical: Canonical, name: str) -> None:
    document = documents()[name]

    def used() -> CompiledSpec:
        made, _ = Compiler(canonical, max_entries=1, max_bytes=1 << 30).compile(document)
        for seed in range(3):
            write(made.decoder, seed)
        return made

    used()  # what the vocabulary keeps is there
    gc.collect()
    tracemalloc.start()
    try:
        made = used()
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 0.7 < made.num_bytes / taken < 3, (made.num_bytes, taken)


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
