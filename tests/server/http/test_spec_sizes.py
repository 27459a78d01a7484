"""What the cache believes a spec to take is what Python says that it takes, within a third."""

from __future__ import annotations

import gc
import random
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

import factorspec_sdk as fs
from examples.meeting_planner import appointment
from examples.meeting_planner.models import schedule
from examples.meeting_planner.problem import Calendars, Day
from examples.meeting_planner.problem import load as load_meeting
from examples.meeting_planner.problem import own_problems as meetings
from examples.trip_planner.models import Variant, itinerary
from examples.trip_planner.problem import load as load_trip
from examples.trip_planner.problem import own_problems as trips
from factorspec_sdk.decoding import counted_rules, grammar_ways, placed_rules
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical
from factorspec_server.http.compiled_spec import CompiledSpec, Compiler
from tests.fixtures.test_decimal_invoice import Invoice
from tests.fixtures.test_many_specs import different
from tests.graph.documents import integer, record
from tests.server.http.test_compiled_spec import write

Document = dict[str, Any]

TEXT: Document = {"type": "string"}
LEAST, MOST = 0.7, 1.3


@pytest.fixture(scope="module")
def canonical() -> Canonical:
    return Canonical(vocabulary_like("smollm2"))


def trip(name: str, variant: Variant) -> Document:
    return fs.document(itinerary(load_trip(trips()[name]), variant))


def calendar() -> Document:
    problem = load_meeting(meetings()["team"])
    assert isinstance(problem, Calendars)
    return fs.document(appointment.appointment(problem, earliest=False))


def meeting() -> Document:
    problem = load_meeting(meetings()["lisbon"])
    assert isinstance(problem, Day)
    return fs.document(schedule(problem, most=True))


def nested() -> Document:
    """Lists in lists, all of whose numbers are different."""
    row: Document = {
        "type": "array",
        "items": {"type": "array", "items": integer(0, 40), "maxItems": 3},
        "maxItems": 4,
    }
    return record({"rows": row}, [{"name": "once", "kind": "all_different", "over": ["$.rows[*][*]"]}])


def numbered(count: int) -> Document:
    return record({"pick": {"enum": [f"a value with the number {at}" for at in range(count)]}}, [])


def worded(count: int) -> Document:
    source, letters = random.Random(3), "abcdefghij klmnopqrst uvwxyz"
    texts = {"".join(source.choices(letters, k=source.randint(2, 30))) for _ in range(count)}
    return record({"pick": {"enum": [*sorted(texts)]}}, [])


def rows() -> Document:
    item = {key: value for key, value in record({"k": integer(0, 9), "s": TEXT}, []).items() if key[0] != "x"}
    return record({"rows": {"type": "array", "items": item, "maxItems": 50}}, [])


def tool() -> Document:
    """Parameters of a tool, some of which may be left out."""
    guest = {"type": "object", "properties": {"name": TEXT, "age": {"type": "integer"}}, "required": ["name"],
             "additionalProperties": False}  # fmt: skip
    fields: Document = {
        "city": {**TEXT, "description": "where to"}, "guests": integer(1, 12),
        "kind": {"enum": ["room", "suite", "flat"]}, "rate": {"type": "number"},
        "days": {"type": "array", "items": TEXT, "maxItems": 5}, "who": guest,
    }  # fmt: skip
    return {**record(fields, []), "required": ["city", "kind"], "description": "Books a place."}


KINDS: dict[str, Callable[[], Document]] = {
    "strict trip": lambda: trip("harbours", "strict"),
    "loose trip": lambda: trip("grand-tour", "loose"),
    "open trip": lambda: trip("long-weekend", "open"),
    "calendar": calendar,
    "meeting": meeting,
    "order": lambda: different(1),
    "invoice": lambda: fs.document(Invoice),
    "nested lists": nested,
    "texts": lambda: record({f"t{at}": {**TEXT, "maxLength": 40 + at} for at in range(8)}, []),
    "fields": lambda: record({f"f{at}": TEXT if at % 2 else integer(0, 99) for at in range(60)}, []),
    "rows": rows,
    "100 values": lambda: numbered(100),
    "3,000 values": lambda: numbered(3000),
    "3,000 words": lambda: worded(3000),
    "pattern": lambda: record({"id": {**TEXT, "pattern": "^[A-Z]{2}[0-9]{4,8}(-[a-z]+)?$"}}, []),
    "pattern and length": lambda: record(
        {"id": {**TEXT, "pattern": "^([A-Z]{2}[0-9]{1,8}-)+$", "maxLength": 60}}, []
    ),
    "tool": tool,
}


@pytest.mark.parametrize("num_records", [0, 3])
@pytest.mark.parametrize("name", KINDS)
def test_a_spec_takes_the_memory_that_it_says(canonical: Canonical, name: str, num_records: int) -> None:
    document = KINDS[name]()

    def used() -> CompiledSpec:
        made, _ = Compiler(canonical, max_entries=1, max_bytes=1 << 30).compile(document)
        for seed in range(num_records):
            write(made.decoder, seed)
        return made

    used()  # what the vocabulary keeps whatever the specs is there
    forget_grammars()
    gc.collect()
    tracemalloc.start()
    try:
        made = used()
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert LEAST < made.num_bytes / taken < MOST, (made.num_bytes, taken)


def forget_grammars() -> None:
    """Those of free texts, which specs share while they are equal, and which each spec counts."""
    placed_rules._rules.cache_clear()
    counted_rules.counted_rules.cache_clear()
    grammar_ways.Ways.of.cache_clear()


def test_a_wave_of_specs_takes_the_memory_that_the_cache_says(canonical: Canonical) -> None:
    """Each is used once, and grows by that."""
    compiler = Compiler(canonical, max_entries=100, max_bytes=1 << 30)

    def used(number: int) -> None:
        listed: JsonValue = {"enum": [f"value {number} with the number {at}" for at in range(300)]}
        write(compiler.compile(record({"pick": listed}, []))[0].decoder, number)

    used(0)
    gc.collect()
    before = compiler.cache.num_bytes
    tracemalloc.start()
    try:
        for number in range(1, 33):
            used(number)
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert LEAST < (compiler.cache.num_bytes - before) / taken < MOST
