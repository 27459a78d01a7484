"""Free text: what may be written, how it opens and closes, and that the rest of the record is canonical."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from factorspec_sdk.decoding import Decoder, Session
from factorspec_sdk.errors import DocumentError, TokenLimitTooSmall
from factorspec_sdk.fields.domains import BranchDomain, Domain, EnumDomain, IntRange
from factorspec_sdk.graph.program import Branch, End, Hole, HoleSpec, Literal, Node, Program, Slot, Value
from factorspec_sdk.testing import byte_vocabulary, vocabulary_like
from factorspec_sdk.tokens import Canonical
from tests.decoding.brute import NASTY, FreeFeasibility

FAMILIES = (
    "tricky",
    "whole_word",
    "gpt2",
    "smollm2",
    "qwen",
    "cl100k",
    "o200k",
    "sentencepiece",
    "gemma",
    "bytes",
)
_CLOSERS = frozenset(b'"]},')
TEXTS = (
    *NASTY,
    "Hi there.",
    '"quoted"',
    "(x)",
    "…",
    "a" * 40,
    "The end!!!",
    "x\\y",
    "tab\there",
    "👩‍👩‍👧 ok",
    "ing",
    " .",
    "},",
    '",',
)


@pytest.fixture(scope="module", params=FAMILIES)
def canonical(request: pytest.FixtureRequest) -> Canonical:
    return Canonical(byte_vocabulary() if request.param == "bytes" else vocabulary_like(request.param))


def decoder_of(canonical: Canonical, program: Program) -> Decoder:
    return Decoder(program, FreeFeasibility(program), canonical.vocabulary, canonical=canonical)


def note_program(least: int = 0, most: int | None = None) -> Program:
    """{"note": "...", "day": "Mon" | "Tue"}."""
    nodes = (
        Literal('{"note": "', 1),
        Hole(0, 2),
        Literal('", "day": ', 3),
        Value(0, 4),
        Literal("}", 5),
        End(),
    )
    days = Slot(0, "day", EnumDomain(("Mon", "Tue", "")))
    return Program(nodes, 0, (days,), (HoleSpec("note", "string", None, least, most),))


def list_program(kind: Any = "string", schema: Any = None, most: int | None = None) -> Program:
    """{"a": [up to 2 objects with a free part, or null], "z": 1}: closings that pass decisions."""
    quote = '"' if kind == "string" else ""
    nodes = (
        Literal('{"a": [', 1),
        Branch(0, (11, 2)),
        Literal('{"t": ' + quote, 3),
        Hole(0, 4),
        Literal(quote + "}", 5),
        Branch(1, (11, 6)),
        Literal(", ", 7),
        Branch(2, (8, 9)),
        Literal("null]" + ', "z": ', 12),
        Literal('{"t": ' + quote, 10),
        Hole(1, 14),
        Literal("]" + ', "z": ', 12),
        Value(3, 13),
        Literal("}", 15),
        Literal(quote + "}]" + ', "z": ', 12),
        End(),
    )
    slots = (
        Slot(0, "a[0]?", BranchDomain(2)),
        Slot(1, "a[1]?", BranchDomain(2)),
        Slot(2, "a[1]", BranchDomain(2)),
        Slot(3, "z", EnumDomain((1, None, "x"))),
    )
    hole = HoleSpec("a[*].t", kind, schema, 0, most)
    return Program(nodes, 0, slots, (hole, hole))


PROGRAMS = {
    "note": note_program(),
    "note 5": note_program(0, 5),
    "note 2..9": note_program(2, 9),
    "list": list_program(),
    "list 3": list_program(most=3),
}


def walk(session: Session, source: random.Random, closing: float = 0.3) -> None:
    """Commit random allowed tokens until the record is complete; now and then one that may close a part."""
    vocabulary = session.decoder.vocabulary
    for _ in range(3000):
        if session.state == "complete":
            return
        ids = session.allowed().ids().tolist()
        assert ids, session.text
        assert not vocabulary.added_ids.intersection(ids)
        if source.random() < closing:
            ids = [i for i in ids if not _CLOSERS.isdisjoint(vocabulary.token_bytes(i))] or ids
        token = source.choice(ids)
        assert session.commit([token]) == 1
    pytest.fail("no end")


def texts_of(record: Any) -> list[str]:
    if "note" in record:
        return [record["note"]]
    return [item["t"] for item in record["a"] if item is not None]


@pytest.mark.parametrize("name", PROGRAMS)
def test_random_walks_write_valid_records(canonical: Canonical, name: str) -> None:
    program = PROGRAMS[name]
    decoder = decoder_of(canonical, program)
    source = random.Random(name)
    least, most = program.holes[0].min_length, program.holes[0].max_length
    for _ in range(25):
        session = decoder.session()
        walk(session, source, closing=source.choice((0.05, 0.3, 0.7)))
        text = canonical.vocabulary.decode(session.tokens)
        record = json.loads(text)
        for note in texts_of(record):
            note.encode()
            assert least <= len(note)
            assert most is None or len(note) <= most


def test_canonical_texts_can_be_written(canonical: Canonical) -> None:
    """Whatever the text, the record's own encoding is among what is allowed."""
    vocabulary = canonical.vocabulary
    for text in TEXTS:
        inside = vocabulary.escape(json.dumps(text, ensure_ascii=False))
        for program, record in (
            (note_program(), f'{{"note": {inside}, "day": "Mon"}}'),
            (list_program(), f'{{"a": [{{"t": {inside}}}, {{"t": {inside}}}], "z": null}}'),
            (list_program(), f'{{"a": [{{"t": {inside}}}, null], "z": 1}}'),
            (list_program(), f'{{"a": [{{"t": {inside}}}], "z": 1}}'),
        ):
            session = decoder_of(canonical, program).session()
            ids = vocabulary.encode(record)
            assert session.commit(ids) == len(ids), (record, session.text)
            assert session.state == "complete"


def test_tokens_are_canonical_again_after_the_text(canonical: Canonical) -> None:
    vocabulary = canonical.vocabulary
    source = random.Random(1)
    decoder = decoder_of(canonical, note_program())
    for _ in range(40):
        session = decoder.session()
        walk(session, source)
        text = vocabulary.decode(session.tokens)
        quote = text.rindex('", "day"')
        cut = canonical.cuts.first_cut_at_or_after(text, quote + 1)
        assert cut is not None
        end = len((vocabulary.lead + text[:cut]).encode())
        sizes = [len(vocabulary.token_bytes(i)) for i in session.tokens]
        starts = [sum(sizes[:at]) for at in range(len(sizes))]
        assert end in starts
        rest = session.tokens[starts.index(end) :]
        own = vocabulary.encode(text)
        assert own[len(own) - len(rest) :] == rest


def test_every_token_inside_the_text_is_allowed(canonical: Canonical) -> None:
    """Against the definition, token by token: letters stay, quotes and escapes are looked at one by one."""
    vocabulary = canonical.vocabulary
    session = decoder_of(canonical, note_program(0, 4)).session()
    for token in vocabulary.encode('{"note": "a'):
        assert session.commit([token]) == 1
    for token in vocabulary.text_ids:
        data = vocabulary.token_bytes(token)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            continue
        if '"' in text or "\\" in text:
            continue
        legal = len(text) <= 3 and all(c >= " " for c in text)
        assert (token in session.allowed()) == legal, text


@pytest.mark.parametrize("name", PROGRAMS)
def test_token_limits(canonical: Canonical, name: str) -> None:
    decoder = decoder_of(canonical, PROGRAMS[name])
    source = random.Random(name)
    shortest = decoder.shortest()
    assert shortest is not None
    for limit in range(60):
        if shortest > limit:
            with pytest.raises(TokenLimitTooSmall) as error:
                decoder.session(limit)
            assert error.value.shortest == shortest
            continue
        for _ in range(4):
            session = decoder.session(limit)
            walk(session, source, closing=source.choice((0.0, 0.02, 0.3)))
            assert session.num_tokens <= limit
            json.loads(session.text)


SCHEMAS: dict[str, Any] = {
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "bool": {"type": "boolean"},
    "ints": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
    "object": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
        "required": ["a", "b"],
    },
    "text": {"type": "string"},
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_json_values(canonical: Canonical, name: str) -> None:
    import jsonschema

    decoder = decoder_of(canonical, list_program("json", SCHEMAS[name]))
    source = random.Random(name)
    for number in range(16):
        limit = None if number % 2 else source.randint(60, 120)
        session = decoder.session(limit)
        walk(session, source, closing=0.5)
        if limit is not None:
            assert session.num_tokens <= limit
        record = json.loads(canonical.vocabulary.decode(session.tokens))
        for value in texts_of(record):
            jsonschema.validate(value, SCHEMAS[name])
            json.dumps(value, ensure_ascii=False).encode()


def test_canonical_json_values_can_be_written(canonical: Canonical) -> None:
    vocabulary = canonical.vocabulary
    for name, value in (
        ("integer", 0),
        ("integer", -12),
        ("integer", 12345),
        ("number", 1.5),
        ("ints", [1, 2, 33]),
        ("text", 'a"b'),
    ):
        inside = vocabulary.escape(json.dumps(value, ensure_ascii=False))
        record = f'{{"a": [{{"t": {inside}}}, {{"t": {inside}}}], "z": 1}}'
        session = decoder_of(canonical, list_program("json", SCHEMAS[name])).session()
        ids = vocabulary.encode(record)
        assert session.commit(ids) == len(ids), (record, session.text)
        assert session.state == "complete"


@pytest.mark.parametrize("joined", ["e\u0301", "a\u0323\u0301", "\u1100\u1161", "\u212b"])
def test_what_a_normaliser_would_join_stands_as_written(joined: str) -> None:
    canonical = Canonical(vocabulary_like("qwen"))
    vocabulary = canonical.vocabulary
    spelled = [vocabulary.token_id(bytes([byte])) for byte in joined.encode()]
    record = f'{{"note": "x{joined}y", "day": "Mon"}}'
    before, behind = record.split(joined)
    ids = [*vocabulary.encode(before), *(i for i in spelled if i is not None), *vocabulary.encode(behind)]
    session = decoder_of(canonical, note_program()).session()
    assert session.commit(ids) == len(ids)
    assert session.state == "complete"
    assert session.text == record == vocabulary.decode(session.tokens)
    assert json.loads(session.text) == {"note": f"x{joined}y", "day": "Mon"}
    assert not canonical.tokens_are_canonical(session.tokens)
    filtered = decoder_of(canonical, note_program()).session(canonical_text=True)
    assert filtered.commit(ids) < len(ids)


ENDLESS: dict[str, tuple[tuple[Node, ...], tuple[Domain | int, ...], HoleSpec | None]] = {
    "integer": ((Value(0, 1), End()), (IntRange(0, 999),), None),
    "enum": ((Value(0, 1), End()), (EnumDomain((1, 12)),), None),
    "list, or a number": (
        (Branch(0, (1, 2)), Literal("[]", 3), Value(1, 3), End()),
        (2, IntRange(0, 9)),
        None,
    ),
    "open value": ((Hole(0, 1), End()), (), HoleSpec("v", "json", {"type": "integer"})),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_records_that_end_with_a_value_are_refused(canonical: Canonical, name: str) -> None:
    nodes, domains, hole = ENDLESS[name]
    slots = tuple(
        Slot(at, "v", BranchDomain(domain) if isinstance(domain, int) else domain)
        for at, domain in enumerate(domains)
    )
    program = Program(nodes, 0, slots, () if hole is None else (hole,))
    with pytest.raises(DocumentError, match="a record must end with fixed text") as error:
        decoder_of(canonical, program)
    assert [problem.place for problem in error.value.problems] == ["v"]
