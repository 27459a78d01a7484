"""Text that must be a piece of a source: exactly the pieces can be written."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from factorspec_sdk.decoding import Decoder, Session
from factorspec_sdk.decoding.pieces import Piece, Pieces
from factorspec_sdk.errors import TokenLimitTooSmall
from factorspec_sdk.graph.program import End, Hole, HoleSpec, Literal, Program
from factorspec_sdk.testing import byte_vocabulary, vocabulary_like
from factorspec_sdk.tokens import Canonical
from tests.decoding.brute import FreeFeasibility

FAMILIES = ("tricky", "gpt2", "smollm2", "qwen", "cl100k", "o200k", "sentencepiece", "gemma", "bytes")
SOURCES: dict[str, tuple[str, ...]] = {
    "plain": ("the cat sat on the mat",),
    "two": ("abcab", "bca d"),
    "escapes": ('a"b\\c\n\t\x00"',),
    "scripts": ("né 東京😀 שלום", "e\u0301x"),
    "repeats": ("aaaaaaa",),
    "json": ('", "day": 1}', "}]"),
    "empty": ("",),
    "added": ("so <|im_end|> it",),
}
BOUNDS = ((0, 400), (0, 3), (2, 5), (4, 400))


@pytest.fixture(scope="module", params=FAMILIES)
def canonical(request: pytest.FixtureRequest) -> Canonical:
    return Canonical(byte_vocabulary() if request.param == "bytes" else vocabulary_like(request.param))


def program(sources: tuple[str, ...], least: int, most: int) -> Program:
    nodes = (Literal('{"q": "', 1), Hole(0, 2), Literal('", "z": 1}', 3), End())
    fitting = tuple(text for text in sources if len(text) >= least)
    longest = max(map(len, fitting), default=0)
    return Program(nodes, 0, (), (HoleSpec("q", "string", None, least, min(most, longest), fitting),))


def pieces_of(sources: tuple[str, ...], least: int, most: int) -> set[str]:
    return {
        text[begin:end]
        for text in sources
        for begin in range(len(text) + 1)
        for end in range(begin, len(text) + 1)
        if least <= end - begin <= most
    }


def decoder_of(canonical: Canonical, sources: tuple[str, ...], least: int, most: int) -> Decoder:
    made = program(sources, least, most)
    return Decoder(made, FreeFeasibility(made), canonical.vocabulary, canonical=canonical)


def written(session: Session) -> str:
    record: dict[str, Any] = json.loads(session.text)
    assert list(record) == ["q", "z"]
    return str(record["q"])


def random_record(session: Session, rng: random.Random) -> str:
    """Commit random allowed tokens until the record is complete: there is never a dead end."""
    while session.state != "complete":
        ids = session.allowed().ids().tolist()
        assert ids, session.text
        assert session.commit([rng.choice(ids)]) == 1
    return written(session)


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("bounds", BOUNDS)
def test_every_piece_can_be_written_in_the_tokenizers_own_way(
    canonical: Canonical, name: str, bounds: tuple[int, int]
) -> None:
    wanted = pieces_of(SOURCES[name], *bounds)
    decoder = decoder_of(canonical, SOURCES[name], *bounds)
    for text in sorted(wanted):
        record = f'{{"q": {json.dumps(text, ensure_ascii=False)}, "z": 1}}'
        ids = canonical.vocabulary.encode(record)
        if canonical.vocabulary.added_ids.intersection(ids) or canonical.vocabulary.decode(ids) != record:
            continue
        session = decoder.session()
        assert session.commit(ids) == len(ids), (text, session.text)
        assert session.state == "complete"


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("bounds", BOUNDS)
def test_random_walks_write_pieces_only_and_never_end_early(
    canonical: Canonical, name: str, bounds: tuple[int, int]
) -> None:
    wanted = pieces_of(SOURCES[name], *bounds)
    decoder = decoder_of(canonical, SOURCES[name], *bounds)
    if not wanted:
        return
    rng = random.Random(f"{name}{bounds}")
    found = {random_record(decoder.session(), rng) for _ in range(40)}
    assert found <= wanted
    if len(wanted) < 4:
        assert found == wanted


@pytest.mark.parametrize("name", SOURCES)
def test_every_token_limit_is_kept(canonical: Canonical, name: str) -> None:
    rng = random.Random(name)
    for bounds in BOUNDS:
        if not pieces_of(SOURCES[name], *bounds):
            continue
        decoder = decoder_of(canonical, SOURCES[name], *bounds)
        shortest = decoder.shortest()
        assert shortest is not None
        with pytest.raises(TokenLimitTooSmall):
            decoder.session(shortest - 1)
        for limit in range(shortest, shortest + 12):
            session = decoder.session(limit)
            text = random_record(session, rng)
            assert session.num_tokens <= limit
            assert text in pieces_of(SOURCES[name], *bounds)


@pytest.mark.parametrize("name", ["two", "escapes", "scripts", "repeats"])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_masks_equal_brute_force_over_the_whole_vocabulary(
    canonical: Canonical, name: str, bounds: tuple[int, int]
) -> None:
    """Inside the text: a token is allowed exactly if some piece goes on with its bytes, or ends within it."""
    vocabulary = canonical.vocabulary
    texts = [json.dumps(p, ensure_ascii=False)[1:-1].encode() for p in pieces_of(SOURCES[name], *bounds)]
    wholes = [text + b'", "z": 1}' for text in texts]
    decoder = decoder_of(canonical, SOURCES[name], *bounds)
    rng = random.Random(name)
    single = {vocabulary.token_bytes(i) for i in vocabulary.text_ids}
    splits = all(bytes([byte]) in single for byte in range(0x80, 0xC0))
    head = b'{"q": "'
    for _ in range(6):
        session = decoder.session()
        while session.state != "complete":
            allowed = set(session.allowed().ids().tolist())
            data = b"".join(vocabulary.token_bytes(i) for i in session.tokens)
            if data.startswith(head) and any(text.startswith(data[len(head) :]) for text in texts):
                for token in vocabulary.text_ids:
                    longer = data[len(head) :] + vocabulary.token_bytes(token)
                    if any(text.startswith(longer) for text in texts) and (splits or _is_whole(longer)):
                        assert token in allowed, longer
                    elif not any(whole.startswith(longer) for whole in wholes):
                        assert token not in allowed, longer
            assert session.commit([rng.choice(sorted(allowed))]) == 1


def _is_whole(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_dropped_places_are_found_again() -> None:
    pieces = Pieces(("abracadabra" * 3,), 0)
    first = pieces.after(Piece(), b"abra")
    assert first is not None
    pieces._places.clear()
    assert pieces.after(first, b"cad") == pieces.after(Piece(), b"abracad")
    assert pieces.after(first, b"x") is None
    assert pieces.missing_bytes(first, 4) == 0


def test_a_long_source_is_no_burden() -> None:
    rng = random.Random(5)
    words = ["".join(rng.choice("abcdefghij ") for _ in range(rng.randint(2, 9))) for _ in range(800)]
    source = " ".join(rng.choice(words) for _ in range(15_000))
    canonical = Canonical(vocabulary_like("smollm2"))
    decoder = decoder_of(canonical, (source,), 200, 400)
    text = random_record(decoder.session(), rng)
    assert text in source
    assert 200 <= len(text) <= 400
