"""Integers over ranges too wide to list, under every digit rule and at token limits near the shortest."""

from __future__ import annotations

import json
import random

import pytest

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.errors import TokenLimitTooSmall, TooLarge
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.testing import byte_vocabulary, vocabulary_like
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import parse_document
from factorspec_sdk.wire.check import check_spec
from tests.graph.documents import integer, record

RANGES = [(1, 900), (0, 10_000_000), (-500, 1_200), (5, 70_000), (-3, 300)]
ORDER = {"kind": "intension", "expr": {"op": "le", "args": [{"ref": "$.a"}, {"ref": "$.c"}]}}


@pytest.mark.slow
@pytest.mark.parametrize("bounds", RANGES, ids=str)
@pytest.mark.parametrize("family", ["tricky", "smollm2", "cl100k", "gpt2", "gemma"])
def test_random_walks_complete_within_every_limit(family: str, bounds: tuple[int, int]) -> None:
    rng = random.Random(f"{family}{bounds}")
    lo, hi = bounds
    number = integer(lo, hi)
    items = {"type": "array", "items": number, "minItems": 0, "maxItems": 3}
    doc = record({"a": number, "b": {"enum": ["Rome", "x", "10"]}, "c": number, "l": items}, [ORDER])
    compiled = compile_spec(parse_document(doc))
    canonical = Canonical(byte_vocabulary() if family == "bytes" else vocabulary_like(family))
    decoder = Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)
    # the true shortest where the search for it ends, else a bound that some record surely keeps
    found_shortest = decoder.shortest()
    shortest = decoder.bounds.costs.sure(compiled.feasibility.start(), compiled.program.start)
    assert found_shortest is None or found_shortest <= shortest
    with pytest.raises(TokenLimitTooSmall):
        decoder.session((found_shortest or shortest) - 4)
    for limit in [shortest, shortest + 1, shortest + 4, shortest + 20, None]:
        session = decoder.session(limit)
        while session.state == "open":
            session.commit([rng.choice(sorted(session.allowed()))])
        found = json.loads(session.text)
        assert lo <= found["a"] <= found["c"] <= hi
        assert all(lo <= value <= hi for value in found["l"])
        assert limit is None or len(session.tokens) <= limit
        assert canonical.vocabulary.encode(session.text) == session.tokens


def decimal(least: str, most: str, places: int) -> dict[str, object]:
    return {"type": "string", "x-factorspec": {"domain": {"places": places, "min": least, "max": most}}}


def moment(kind: str, least: str, most: str) -> dict[str, object]:
    return {"type": "string", "format": kind, "x-factorspec": {"domain": {"min": least, "max": most}}}


WIDE = {
    "amounts": decimal("0.00", "100000.00", 2),
    "signed": decimal("-1234.567", "98765.432", 3),
    "fine": decimal("-0.5", "0.5", 6),
    "numbers": {**decimal("-20.00", "99999.99", 2), "type": "number"},
    "seconds of a day": moment("time", "00:00:00", "23:59:59"),
    "seconds of years": moment("date-time", "2019-12-31T00:00:00", "2029-03-01T23:59:59"),
    "instants": moment("date-time", "2024-01-01T00:00:00Z", "2029-03-01T23:59:59Z"),
    "instants elsewhere": moment("date-time", "2024-01-01T00:00:00-05:30", "2024-03-01T23:59:59-05:30"),
    "six centuries": moment("date", "1583-01-01", "2199-12-31"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("family", ["tricky", "smollm2", "cl100k", "gpt2"])
def test_wide_texts_complete_within_every_limit(family: str, name: str) -> None:
    rng, value = random.Random(f"{family}{name}"), WIDE[name]
    items = {"type": "array", "items": value, "minItems": 0, "maxItems": 2}
    doc = record({"a": value, "b": {"enum": ["Rome", "x", "10"]}, "c": value, "l": items}, [ORDER])
    spec = parse_document(doc)
    compiled = compile_spec(spec)
    canonical = Canonical(vocabulary_like(family))
    decoder = Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)
    shortest = decoder.bounds.costs.sure(compiled.feasibility.start(), compiled.program.start)
    domain = compiled.program.slots[0].domain
    for limit in [shortest, shortest + 1, shortest + 4, shortest + 20, None]:
        session = decoder.session(limit)
        while session.state == "open":
            session.commit([rng.choice(sorted(session.allowed()))])
        found = json.loads(session.text)
        places = [domain.index(found[key]) for key in "ac"]
        assert None not in places and places[0] <= places[1]  # type: ignore[operator]
        assert all(domain.index(item) is not None for item in found["l"])
        assert limit is None or len(session.tokens) <= limit
        assert canonical.vocabulary.encode(session.text) == session.tokens
        assert all(verdict.outcome == "holds" for verdict in check_spec(spec, found))


@pytest.mark.parametrize("name", WIDE)
def test_texts_too_wide_to_list_are_refused_under_an_unknown_digit_rule(name: str) -> None:
    compiled = compile_spec(parse_document(record({"a": WIDE[name]}, [])))
    canonical = Canonical(vocabulary_like("unfamiliar"))
    with pytest.raises(TooLarge, match="too many candidates"):
        Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)
