"""Whatever requests say, what is remembered stays bounded: in number, and in bytes."""

from __future__ import annotations

import gc
import random
import sys
import threading
import tracemalloc
from typing import Any

import pytest

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.errors import JsonValue, TokenLimitTooSmall
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.testing.tokenizers import tricky_tokenizer
from factorspec_sdk.tokens import Canonical, Continuation, Vocabulary, certain
from factorspec_sdk.tokens.held import NOTHING_HELD
from factorspec_sdk.tokens.memo import Memo
from factorspec_sdk.wire import parse_document
from tests.graph.documents import integer, record

WORDS = ("Rome", "日本", '","', "]}{[", "😀", " ", "\\", "é", "x" * 40, "12", "<think", "'s")


def test_a_memo_is_bounded_by_number_and_by_bytes() -> None:
    memo: Memo[int, str] = Memo(max_entries=3, max_bytes=10_000)
    for key in range(4):
        assert memo.keep(key, "a", 1) == "a"
    assert list(memo) == [3]
    for key in range(100):
        memo.keep(key, "b", 1500)
        assert memo.num_bytes <= 10_000
    assert memo.keep(1000, "huge", 5000) == "huge"
    assert 1000 not in memo, "one large answer does not drive out all others"
    memo.keep(99, "c", 1500)
    assert memo[99] == "c" and memo.num_bytes == 1700 * len(memo), "kept again, counted once"
    memo.clear()
    assert (len(memo), memo.num_bytes) == (0, 0)


def test_a_memo_counts_right_under_threads() -> None:
    memo: Memo[int, int] = Memo(max_entries=50, max_bytes=1 << 20)

    def use(start: int) -> None:
        for number in range(start, start + 2000):
            assert memo.keep(number % 97, number % 97, 10) == number % 97
            assert memo.get(number % 89, number % 89) == number % 89

    threads = [threading.Thread(target=use, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memo.num_bytes == 210 * len(memo) and len(memo) <= 50


def text(source: random.Random, most: int = 6) -> str:
    return "".join(source.choice(WORDS) for _ in range(source.randint(1, most))) + str(
        source.randrange(10**6)
    )


def small_memos(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memos fill up at once, so that what grows all the same is not bounded by them."""
    made = Memo.__init__

    def small(self: Memo[Any, Any], *, max_entries: int, max_bytes: int) -> None:
        made(self, max_entries=min(max_entries, 200), max_bytes=min(max_bytes, 1 << 18))

    monkeypatch.setattr(Memo, "__init__", small)


def test_many_texts_leave_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    small_memos(monkeypatch)
    canonical, source = Canonical(vocabulary_like("qwen")), random.Random(1)

    def encode(count: int) -> None:
        for _ in range(count):
            written = text(source)
            literal = f'", "{written}": '
            certain(canonical, NOTHING_HELD, f'"{written}"', Continuation(literal, f"{written[:1]}x"))
            canonical.stable(written)

    encode(800)
    gc.collect()
    tracemalloc.start()
    encode(1600)
    gc.collect()
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 1 << 20, grown
    assert len(canonical._words) <= 200


def strange_document(number: int) -> dict[str, JsonValue]:
    source = random.Random(number)
    values: list[JsonValue] = list(dict.fromkeys(text(source) for _ in range(source.randint(2, 30))))
    ranges = integer(-number, 10**6 + number)
    fields: list[JsonValue] = [
        {"enum": values},
        {"type": "string", "maxLength": 1 + number},
        {"type": "string", "pattern": f"^[a-z]{{1,{1 + number % 50}}}-{number}$"},
        {"type": "array", "items": {"enum": values[:5]}, "maxItems": 20_000 + number},
        {"type": "array", "items": ranges, "maxItems": 3},
        {"type": "number"},
    ]
    return record({text(source): source.choice(fields) for _ in range(3)}, [])


def use(canonical: Canonical, number: int) -> None:
    compiled = compile_spec(parse_document(strange_document(number)))
    decoder = Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)
    source = random.Random(number)
    for limit in (None, 400):
        try:
            session = decoder.session(limit)
        except TokenLimitTooSmall:
            continue
        for _ in range(10):
            if session.state != "open":
                break
            ids = session.allowed().ids()
            session.commit([int(ids[source.randrange(len(ids))])])


def test_many_strange_specs_leave_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    small_memos(monkeypatch)
    canonical = Canonical(Vocabulary.from_tokenizer(tricky_tokenizer(9), name="of its own"))
    blocks = []
    for number in range(50):
        use(canonical, number)
        if number in (19, 34, 49):
            gc.collect()
            blocks.append(sys.getallocatedblocks())
    assert blocks[2] - blocks[1] < 12_000, blocks
