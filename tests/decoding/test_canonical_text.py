"""The canonical filter: exactly the tokens by which some canonical record goes on, and never a dead end."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import pytest

from factorspec_sdk.decoding import Decoder, Session
from factorspec_sdk.errors import EngineError
from factorspec_sdk.fields.domains import EnumDomain
from factorspec_sdk.graph.program import End, Hole, HoleSpec, Literal, Program, Slot, Value
from factorspec_sdk.testing import byte_vocabulary, vocabulary_like
from factorspec_sdk.tokens import Canonical, Vocabulary
from tests.decoding.brute import FreeFeasibility
from tests.decoding.test_holes import FAMILIES, PROGRAMS, TEXTS, decoder_of, list_program, note_program
from tests.decoding.tries import Trie


@cache
def canonical_of(name: str) -> Canonical:
    return Canonical(byte_vocabulary() if name == "bytes" else vocabulary_like(name))


@pytest.fixture(params=FAMILIES)
def canonical(request: pytest.FixtureRequest) -> Canonical:
    return canonical_of(request.param)


def small_program(alphabet: str, most: int, separator: str, *, ends: bool) -> Program:
    """{"note": "<up to ``most`` characters of an alphabet>", and perhaps a day."""
    schema: Any = {"type": "string", "pattern": f"^[{alphabet}]{{0,{most}}}$"}
    hole = HoleSpec("note", "string", schema, 0, None)
    opening = Literal('{"note":' + separator + '"', 1)
    if ends:
        return Program((opening, Hole(0, 2), Literal('"}', 3), End()), 0, (), (hole,))
    behind = Literal(f'",{separator}"day":{separator}', 3)
    days = Slot(0, "day", EnumDomain(("Mon", 1, "")))
    return Program((opening, Hole(0, 2), behind, Value(0, 4), Literal("}", 5), End()), 0, (days,), (hole,))


def small_records(program: Program, alphabet: str, most: int) -> list[str]:
    texts = ["".join(text) for size in range(most + 1) for text in product(alphabet, repeat=size)]
    literals = [node.text for node in program.nodes if isinstance(node, Literal)]
    if len(literals) == 2:
        return [literals[0] + text + literals[1] for text in texts]
    days = ('"Mon"', "1", '""')
    return [f"{literals[0]}{text}{literals[1]}{day}}}" for text in texts for day in days]


def check_trie(decoder: Decoder, trie: Trie, most_nodes: int) -> None:
    """Walk the trie of the records' own tokens, some of its nodes: what is admitted are the children."""
    source = random.Random(1)
    stack: list[tuple[Trie, Session]] = [(trie, decoder.session(canonical_text=True))]
    for _ in range(most_nodes):
        if not stack:
            return
        node, session = stack.pop(source.randrange(len(stack)))
        admitted = {token for token in session.allowed() if session.admits(token)}
        assert admitted == set(node.children), (
            session.text,
            session.tokens,
            [(decoder.vocabulary.token_bytes(i), i in admitted) for i in admitted ^ set(node.children)],
        )
        assert (session.state == "complete") == (not node.children)
        for token, child in node.children.items():
            after = session.copy()
            assert after.commit([token]) == 1
            stack.append((child, after))


SMALL = {
    "letters": ("ab e", 4),
    "marks": ("a.' ", 4),
    "digits": ("1a 2", 4),
    "wide": ("é中 a", 4),
    "emoji": ("😀👩e ", 3),
}


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("separator", ["", " "])
@pytest.mark.parametrize("name", SMALL)
def test_what_is_admitted_is_the_true_trie(
    canonical: Canonical, name: str, separator: str, ends: bool
) -> None:
    alphabet, most = SMALL[name]
    program = small_program(alphabet, most, separator, ends=ends)
    vocabulary = canonical.vocabulary
    trie = Trie.of([vocabulary.encode(text) for text in small_records(program, alphabet, most)])
    decoder = Decoder(program, FreeFeasibility(program), vocabulary, canonical=canonical)
    check_trie(decoder, trie, 60)


def walk(session: Session, source: random.Random, closing: float) -> None:
    """Draw allowed tokens; what is refused is drawn again."""
    vocabulary = session.decoder.vocabulary
    for _ in range(3000):
        if session.state == "complete":
            return
        ids = session.allowed().ids().tolist()
        if source.random() < closing:
            ids.sort(key=lambda i: (b'"' not in vocabulary.token_bytes(i), source.random()))
        else:
            source.shuffle(ids)
        token = next((i for i in ids if session.admits(i)), None)
        assert token is not None, ("a dead end", session.text)
        assert session.commit([token]) == 1
    pytest.fail("no end")


@pytest.mark.parametrize("name", PROGRAMS)
def test_random_walks_write_canonical_records(canonical: Canonical, name: str) -> None:
    decoder = decoder_of(canonical, PROGRAMS[name])
    source = random.Random(name)
    for _ in range(12):
        session = decoder.session(canonical_text=True)
        walk(session, source, closing=source.choice((0.05, 0.3, 0.7)))
        text = canonical.vocabulary.decode(session.tokens)
        json.loads(text)
        assert canonical.vocabulary.encode(text) == session.tokens
        assert session.report.text_filter is not None
        assert session.report.text_filter.dropped == 0


def test_every_canonical_record_is_admitted(canonical: Canonical) -> None:
    vocabulary = canonical.vocabulary
    for text in TEXTS:
        inside = vocabulary.escape(json.dumps(text, ensure_ascii=False))
        for program, record in (
            (note_program(), f'{{"note": {inside}, "day": "Mon"}}'),
            (list_program(), f'{{"a": [{{"t": {inside}}}, {{"t": {inside}}}], "z": null}}'),
            (list_program(), f'{{"a": [{{"t": {inside}}}, null], "z": 1}}'),
        ):
            session = decoder_of(canonical, program).session(canonical_text=True)
            ids = vocabulary.encode(record)
            assert session.commit(ids) == len(ids), (record, session.text)
            assert session.state == "complete"


ENDS = ("", " ", "x", "a b", "'s it", "1", "é", " 1", "中", "ing", ".", "\\n", "  x", "👩‍👩‍👧")


def test_what_is_refused_begins_no_record(canonical: Canonical) -> None:
    """Of plain text, where anything may follow: whatever is put behind a refused token, it is another's."""
    vocabulary = canonical.vocabulary
    decoder = decoder_of(canonical, note_program())
    source = random.Random(4)
    for text in (
        "It's the meeting, isn't it?  12345 a.b",
        "Zürich 東京 👩‍👩‍👧 ok",
        'x\\\\y \\"tab\\t here ...',
    ):
        session = decoder.session(canonical_text=True)
        for token in vocabulary.encode(f'{{"note": "{text}", "day": "Mon"}}'):
            ids = session.allowed().ids().tolist()
            for other in source.sample(ids, min(12, len(ids))):
                if not session.admits(other):
                    assert not set(continued(vocabulary, (*session.tokens, other)))
            assert session.commit([token]) == 1


def continued(vocabulary: Vocabulary, tokens: tuple[int, ...]) -> Iterator[str]:
    """Records whose encoding begins with some tokens, among a few that begin with their text."""
    for more, end in product(ENDS, ('", "day": "Mon"}', ' and", "day": 1}')):
        try:
            text = vocabulary.decode(tokens) + more + end
            is_record = set(json.loads(text)) == {"note", "day"}
        except ValueError:  # ends inside a character, or is no JSON
            continue
        if is_record and vocabulary.encode(text)[: len(tokens)] == tokens:
            yield text


@pytest.mark.parametrize("name", ["note 5", "list 3"])
def test_near_a_token_limit_records_end_in_time(canonical: Canonical, name: str) -> None:
    decoder = decoder_of(canonical, PROGRAMS[name])
    source = random.Random(name)
    shortest = decoder.shortest()
    assert shortest is not None
    for limit in range(shortest, shortest + 12):
        session = decoder.session(limit, canonical_text=True)
        walk(session, source, closing=0.1)
        assert session.num_tokens <= limit
        text = canonical.vocabulary.decode(session.tokens)
        json.loads(text)
        found = session.report.text_filter
        assert found is not None
        assert found.dropped or canonical.vocabulary.encode(text) == session.tokens


@pytest.mark.parametrize("name", ["gpt2", "qwen", "cl100k"])
def test_near_a_token_limit_the_report_says_what_is_not_canonical(name: str) -> None:
    """Also where a limit leaves but one token, which is certain then."""
    canonical, source = canonical_of(name), random.Random(1)
    decoder = decoder_of(canonical, PROGRAMS["note"])
    shortest = decoder.shortest()
    assert shortest is not None
    for number in range(40):
        session = decoder.session(shortest + number % 8, canonical_text=True)
        while session.state == "open":  # as engines do: what is certain is not asked about
            certain = session.plan().tokens
            if not certain:
                ids = session.allowed().ids().tolist()
                source.shuffle(ids)
                certain = (next(token for token in ids if session.admits(token)),)
            session.commit(certain)
        found = session.report.text_filter
        assert found is not None
        assert found.dropped or canonical.vocabulary.encode(session.text) == session.tokens


def test_what_was_admitted_at_a_place_is_forgotten_when_it_is_left() -> None:
    canonical = canonical_of("gpt2")
    vocabulary = canonical.vocabulary
    session = decoder_of(canonical, note_program()).session(canonical_text=True)
    start = vocabulary.encode('{"note": "x')
    assert session.commit(start) == len(start)
    first, second = vocabulary.token_id(b" t"), vocabulary.token_id(b"he")
    assert first is not None and second is not None
    session.commit(vocabulary.encode(" 1"))
    place = session.num_tokens
    assert session.admits(second)
    session.rollback(place - len(start))
    assert session.commit([first]) == 1
    assert session.num_tokens == place
    assert not session.copy().admits(second)
    assert session.commit([second]) == 0


def test_asking_ahead_is_asking_there(canonical: Canonical) -> None:
    session = decoder_of(canonical, note_program()).session(canonical_text=True)
    tokens = canonical.vocabulary.encode('{"note": "It is it\'s end. ", "day": "Mon"}')
    for at in range(len(tokens)):
        there = session.copy()
        assert there.commit(tokens[:at]) == at
        for token in there.allowed().ids()[::37].tolist():
            assert session.admits(token, tokens[:at]) == there.admits(token)
    assert not session.tokens


def test_a_token_that_is_not_admitted_refuses() -> None:
    canonical = canonical_of("gpt2")
    vocabulary = canonical.vocabulary
    session = decoder_of(canonical, note_program()).session(canonical_text=True)
    whole = vocabulary.encode('{"note": "the end')
    assert session.commit(whole) == len(whole)
    found = [vocabulary.token_id(bytes([byte])) for byte in vocabulary.token_bytes(whole[-1])]
    spelled = [token for token in found if token is not None]
    session.rollback(1)
    assert len(spelled) == len(found) > 1
    assert session.allowed() and spelled[0] in session.allowed()
    assert session.commit(spelled) < len(spelled)
    assert session.state == "refused"


def test_a_tokenizer_that_splits_in_an_unknown_way_is_refused() -> None:
    decoder = decoder_of(canonical_of("unfamiliar"), note_program())
    with pytest.raises(EngineError, match="canonical text is not supported"):
        decoder.session(canonical_text=True)
