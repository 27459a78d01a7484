"""Documents made to cost much: served within the budgets, or refused with a structured error at once."""

from __future__ import annotations

import random

import pytest

from factorspec_sdk.errors import FactorspecError, JsonValue, RequestTooLarge, UnsupportedKeyword
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical
from factorspec_server.http.compiled_spec import CompiledSpec, Compiler
from tests.graph.documents import integer, record

PUNCTUATION: list[JsonValue] = ["", '","', '"]', "[", "]", "},{", '[""]', '"', "\\", "{}"]
TEXT: JsonValue = {"type": "string"}
MOST_BYTES = 64 << 20


@pytest.fixture(scope="module")
def compiler() -> Compiler:
    return Compiler(Canonical(vocabulary_like("qwen")), max_entries=1, max_bytes=1 << 30)


def listed(count: int, length: int) -> JsonValue:
    return {"enum": [f"{number:05} {'lorem ipsum ' * length}"[: 6 + length] for number in range(count)]}


def a_list(item: JsonValue, least: int, most: int | None) -> JsonValue:
    bound: dict[str, JsonValue] = {} if most is None else {"maxItems": most}
    return {"type": "array", "items": item, "minItems": least, **bound}


def inner(properties: dict[str, JsonValue], *, required: bool = True) -> JsonValue:
    names: list[JsonValue] = [*properties] if required else []
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def fields(count: int, schema: JsonValue, name: str = "f") -> dict[str, JsonValue]:
    return {f"{number}{name}": schema for number in range(count)}


SERVED: dict[str, dict[str, JsonValue]] = {
    "5,000 long values": {"pick": listed(5000, 100)},
    "2,000 slots": {"rows": a_list({"type": "boolean"}, 1000, 1000)},
    "keys of 500 characters": fields(20, {"type": "boolean"}, '",:{' * 120),
    "values of punctuation alone": {"rows": a_list({"enum": PUNCTUATION}, 0, 40)},
    "300 keys that may be absent": {"o": inner(fields(300, {"type": "boolean"}), required=False)},
    "a union of unions": {
        "u": {
            "anyOf": [
                inner({f"a{i}": {"anyOf": [inner({f"b{j}": TEXT}) for j in range(8)]}}) for i in range(8)
            ]
        }
    },
    "wide numbers": fields(40, integer(-(10**15), 10**15)),
    "a list without end of 2,000 values": {"rows": a_list(listed(2000, 10), 0, None)},
    "lists in lists without end": {
        "rows": a_list(a_list(a_list(inner(fields(40, TEXT)), 0, None), 0, None), 0, None)
    },
    "a text of 100,000 characters": {"t": {"type": "string", "minLength": 5, "maxLength": 100_000}},
}

REFUSED: dict[str, tuple[dict[str, JsonValue], type[FactorspecError]]] = {
    "50,000 values": ({"pick": listed(50_000, 10)}, UnsupportedKeyword),
    "a document of 2 MB": ({"pick": listed(18_000, 120)}, RequestTooLarge),
    "a key of 10,000 characters": (fields(1, TEXT, "k" * 10_000), RequestTooLarge),
    "20,000 items": ({"rows": a_list({"type": "boolean"}, 20_000, 20_000)}, UnsupportedKeyword),
    "a pattern of 5,000 repetitions": (
        {"t": {"type": "string", "pattern": "^[a-z]{5000}$"}},
        UnsupportedKeyword,
    ),
}


def write_some(compiled: CompiledSpec, seed: int) -> None:
    session, source = compiled.decoder.session(), random.Random(seed)
    for _ in range(40):
        certain = session.plan().tokens
        assert session.commit(certain) == len(certain)
        if session.state != "open":
            break
        ids = session.allowed().ids()
        assert session.commit([int(ids[source.randrange(len(ids))])]) == 1


@pytest.mark.parametrize("name", SERVED)
def test_what_is_within_the_budgets_is_served_in_little_memory(compiler: Compiler, name: str) -> None:
    compiled, _ = compiler.compile(record(SERVED[name], []))
    for seed in range(2):
        write_some(compiled, seed)
    assert compiled.num_bytes < MOST_BYTES


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_is_refused_with_its_place_and_a_hint(compiler: Compiler, name: str) -> None:
    properties, kind = REFUSED[name]
    with pytest.raises(kind) as caught:
        compiler.compile(record(properties, []))
    assert caught.value.problems
    assert all(problem.message for problem in caught.value.problems)
