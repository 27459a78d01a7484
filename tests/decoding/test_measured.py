"""Free text whose length relations read: every feasible length can be written, and no other."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from factorspec_sdk.decoding import Decoder, Session
from factorspec_sdk.errors import TokenLimitTooSmall, Unsatisfiable
from factorspec_sdk.graph.compile import CompiledSpec, compile_spec
from factorspec_sdk.graph.program import Branch, End, Length, Value
from factorspec_sdk.graph.reference import Record, all_records
from factorspec_sdk.testing import byte_vocabulary, vocabulary_like
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import parse_document
from factorspec_sdk.wire.check import check_spec

FAMILIES = ("tricky", "gpt2", "smollm2", "qwen", "cl100k", "o200k", "sentencepiece", "gemma", "bytes")
Json = dict[str, Any]


@pytest.fixture(scope="module", params=FAMILIES)
def canonical(request: pytest.FixtureRequest) -> Canonical:
    return Canonical(byte_vocabulary() if request.param == "bytes" else vocabulary_like(request.param))


def op(name: str, *args: Any) -> Json:
    return {"op": name, "args": [arg if isinstance(arg, dict) else {"const": arg} for arg in args]}


def size(path: str) -> Json:
    return {"op": "len", "of": path}


def ref(path: str) -> Json:
    return {"ref": path}


def text(most: int, least: int = 0) -> Json:
    return {"type": "string", "minLength": least, "maxLength": most}


def integer(most: int) -> Json:
    return {"type": "integer", "minimum": 0, "maximum": most}


def record(properties: Json, *exprs: Json, optional: tuple[str, ...] = (), **more: Any) -> Json:
    relations = [{"kind": "intension", "name": f"r{n}", "expr": expr} for n, expr in enumerate(exprs)]
    required = [name for name in properties if name not in optional]
    vendor = {"x-factorspec": {"version": 1, "relations": relations}} if exprs else {}
    return {"type": "object", "properties": properties, "required": required, **vendor, **more}


def notes(most: int, *exprs: Json) -> Json:
    item = record({"t": text(4), "m": integer(3)})
    return record({"a": {"type": "array", "items": item, "maxItems": most}, "n": integer(5)}, *exprs)


EVEN = op("eq", op("mod", size("$.t"), 2), 0)
DOCUMENTS: dict[str, Json] = {
    "even": record({"t": text(7, 1), "z": {"const": 1}}, EVEN),
    "gaps": record({"t": text(9), "n": {"enum": [0, 2, 3, 7]}}, op("eq", size("$.t"), ref("$.n"))),
    "earlier": record({"n": {"enum": [0, 2, 3, 7]}, "t": text(9)}, op("eq", size("$.t"), ref("$.n"))),
    "alone": record({"t": text(300, 60)}, op("eq", op("mod", size("$.t"), 97), 0)),
    "two": record({"t": text(6), "u": text(8, 2), "z": integer(2)}, op("eq", size("$.t"), size("$.u"))),
    "neighbours": record(
        {"t": text(6), "u": text(8), "z": integer(9)},
        op("eq", op("add", size("$.t"), size("$.u")), ref("$.z")),
        op("ne", size("$.t"), 1),
        EVEN,
    ),
    "presence": record(
        {"t": text(6), "u": text(3, 1), "z": integer(1)},
        op("eq", op("gt", size("$.t"), 3), {"op": "present", "of": "$.u"}),
        op("or", op("not", {"op": "present", "of": "$.u"}), op("lt", size("$.u"), 3)),
        optional=("u",),
    ),
    "last": record({"t": text(6), "u": integer(3)}, op("gt", size("$.t"), 4), optional=("u",)),
    "null": record({"t": {"anyOf": [text(6), {"type": "null"}]}, "n": integer(3)}, op("gt", size("$.t"), 3)),
    "items": notes(
        2,
        {"op": "every", "in": "$.a", "as": "s", "body": op("le", size("s.t"), ref("s.m"))},
        op("eq", {"op": "sum", "in": "$.a", "as": "s", "body": size("s.t")}, ref("$.n")),
    ),
    "first item": notes(2, op("eq", size("$.a[0].t"), ref("$.n"))),
    "union": record(
        {
            "p": {
                "anyOf": [
                    record({"k": {"const": "x"}, "t": text(5, 2)}),
                    record({"k": {"const": "y"}, "t": {"enum": ["a", "abc", "abcd"]}}),
                ]
            },
            "n": integer(4),
        },
        op("eq", size("$.p.t"), ref("$.n")),
    ),
    "unknown": record(
        {
            "p": {"anyOf": [record({"k": {"const": "x"}, "t": text(3)}), record({"k": {"const": "y"}})]},
            "q": {"anyOf": [text(2), {"type": "null"}]},
            "n": integer(4),
        },
        op("eq", op("most", size("$.p.t"), 1), ref("$.n")),
        op("ne", op("least", size("$.q"), 1), size("$.p.t")),
    ),
}


@cache
def compiled_of(name: str) -> CompiledSpec:
    return compile_spec(parse_document(DOCUMENTS[name]))


@cache
def records_of(name: str) -> tuple[Record, ...]:
    compiled = compiled_of(name)
    return tuple(all_records(compiled.spec, compiled.program))


def decoder_of(canonical: Canonical, name: str) -> Decoder:
    compiled = compiled_of(name)
    return Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)


def is_valid(compiled: CompiledSpec, record: Json) -> bool:
    """By meaning, and within the schema as far as its lengths go."""
    return all(v.outcome != "broken" for v in check_spec(compiled.spec, record))


def random_record(session: Session, rng: random.Random, closing: float = 0.3) -> Json:
    """Commit random allowed tokens until the record is complete: there is never a dead end."""
    vocabulary = session.decoder.vocabulary
    while session.state != "complete":
        ids = session.allowed().ids().tolist()
        assert ids, session.text
        if rng.random() < closing:
            ids = [i for i in ids if b'"' in vocabulary.token_bytes(i)] or ids
        assert session.commit([rng.choice(ids)]) == 1
    made: Json = json.loads(session.text)
    return made


def decisions(compiled: CompiledSpec) -> Iterator[tuple[tuple[int, int], ...]]:
    """All that the compiled form lets a record decide."""
    program, feasibility = compiled.program, compiled.feasibility
    stack: list[Any] = [(program.start, feasibility.start(), ())]
    while stack:
        pc, state, made = stack.pop()
        node = program.nodes[pc]
        if isinstance(node, End):
            yield made
        elif isinstance(node, Value | Branch | Length):
            for index in feasibility.values(state, node.slot):
                target = node.targets[index] if isinstance(node, Branch) else node.next
                after = feasibility.assign(state, node.slot, index)
                stack.append((target, after, (*made, (node.slot, index))))
        else:
            stack.append((node.next, state, made))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_feasible_lengths_are_those_of_valid_records(name: str) -> None:
    compiled = compiled_of(name)
    valid = {found.decisions for found in records_of(name)}
    assert valid
    assert set(decisions(compiled)) == valid


def test_random_relations_on_lengths_equal_their_meaning() -> None:
    rng = random.Random(4)
    satisfiable = 0
    for _ in range(60):
        properties = {"t": text(3), "n": integer(3), "u": text(4, 1), "m": {"enum": [None, 1, 4]}}
        names = rng.sample(list(properties), 4)
        terms = [size("$.t"), size("$.u"), ref("$.n"), ref("$.m"), {"const": 2}]
        exprs = []
        for _ in range(rng.randint(1, 3)):
            a, b, c, d = (rng.choice(terms) for _ in range(4))
            sides = op(rng.choice(["add", "sub", "mul", "least", "most"]), a, b), op("add", c, d)
            exprs.append(op(rng.choice(["eq", "ne", "le", "gt"]), *sides))
        spec = parse_document(record({n: properties[n] for n in names}, op("gt", size("$.t"), -1), *exprs))
        try:
            compiled = compile_spec(spec)
        except Unsatisfiable:
            assert not all_records(spec)
            continue
        satisfiable += 1
        assert set(decisions(compiled)) == {r.decisions for r in all_records(spec, compiled.program)}
    assert satisfiable > 20


def filled(text_of: str, template: str) -> str:
    """The record with every character of its free texts replaced by one of ``text_of``, escaped."""
    made = json.loads(template)

    def fill(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: fill(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [fill(inner) for inner in value]
        if isinstance(value, str) and set(value) <= {"0"}:
            return (text_of * len(value))[: len(value)]
        return value

    return json.dumps(fill(made), ensure_ascii=False)


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("letters", ["a", "😀", '"', "\\n é", "né東 \t", "the cat. "])
def test_every_valid_record_can_be_written_in_the_tokenizers_own_way(
    canonical: Canonical, name: str, letters: str
) -> None:
    """Every feasible length is reachable; emoji and escapes count as one character."""
    decoder, records = decoder_of(canonical, name), records_of(name)
    for template in random.Random(name).sample(records, min(25, len(records))):
        written = filled(letters, template.text)
        ids = canonical.vocabulary.encode(written)
        session = decoder.session()
        assert session.commit(ids) == len(ids), (written, session.text)
        assert session.state == "complete"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_random_walks_write_valid_records_and_never_end_early(canonical: Canonical, name: str) -> None:
    compiled, decoder = compiled_of(name), decoder_of(canonical, name)
    rng = random.Random(name)
    for closing in (0.0, 0.1, 0.3, 0.7) * 5:
        made = random_record(decoder.session(), rng, closing)
        assert is_valid(compiled, made), made
        for least, most, value in bounded(compiled.spec.root, made):
            assert least <= len(value) <= most


def bounded(node: Any, value: Any) -> Iterator[tuple[int, int, str]]:
    """(least, most, text) of all free texts of a record."""
    if isinstance(value, str) and getattr(node, "max_length", None) is not None:
        yield node.min_length, node.max_length, value
    elif isinstance(value, dict) and hasattr(node, "properties"):
        for known in node.properties:
            if known.name in value:
                yield from bounded(known.node, value[known.name])
    elif isinstance(value, list):
        for item in value:
            yield from bounded(node.item, item)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_token_limit_is_kept(canonical: Canonical, name: str) -> None:
    compiled, decoder = compiled_of(name), decoder_of(canonical, name)
    rng = random.Random(name)
    shortest = decoder.shortest()
    assert shortest is not None
    with pytest.raises(TokenLimitTooSmall):
        decoder.session(shortest - 1)
    for limit in range(shortest, shortest + 24):
        for closing in (0.0, 0.3):
            session = decoder.session(limit)
            assert is_valid(compiled, random_record(session, rng, closing))
            assert session.num_tokens <= limit


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_shortest_record_byte_by_byte(name: str) -> None:
    """With a token for each byte the shortest record is known."""
    decoder = decoder_of(Canonical(byte_vocabulary()), name)
    texts = [found.text for found in records_of(name)]
    shortest = min(len(found.encode()) for found in texts)
    assert decoder.shortest() == shortest
    assert decoder.session(shortest).num_tokens == 0


@pytest.mark.parametrize("name", ["even", "gaps", "earlier", "two", "presence", "last", "alone"])
def test_masks_inside_the_text_equal_the_definition(canonical: Canonical, name: str) -> None:
    """Token by token, over the whole vocabulary: text goes on below the longest feasible length, and a token
    that closes it does so at a feasible length and leads to a valid record.
    """
    vocabulary = canonical.vocabulary
    records = [found.text.encode() for found in records_of(name)]
    key = b'"t": "'
    rng = random.Random(name)
    clean = {i: data for i in vocabulary.text_ids if (data := whole(vocabulary.token_bytes(i))) is not None}
    for _ in range(4):
        session = decoder_of(canonical, name).session()
        while session.state != "complete":
            allowed = set(session.allowed().ids().tolist())
            data = vocabulary.decode_bytes(session.tokens)[len(vocabulary.lead) :]
            head, found, inside = data.partition(key)
            choice = sorted(allowed)
            if found and whole(inside) is not None and b'"' not in inside:
                starts = [r[len(head + key) :] for r in records if r.startswith(head + key)]
                for token, added in clean.items():
                    longer = zeros(inside + added)
                    possible = any(start.startswith(longer) for start in starts)
                    assert possible or token not in allowed, (data, added)
                    if b'"' not in longer or added == b'"':
                        assert possible == (token in allowed), (data, added)
                choice = [token for token in choice if token in clean] or choice
            assert session.commit([rng.choice(choice)]) == 1


def whole(data: bytes) -> bytes | None:
    """The bytes if they are whole characters that need no escape (quotes aside)."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\\" in text or any(c < " " for c in text) else data


def zeros(data: bytes) -> bytes:
    """Every character before the first quote replaced by 0."""
    text, quote, rest = data.decode().partition('"')
    return ("0" * len(text) + quote + rest).encode()
