"""Relations over fields of a billion values and more: decided exactly, or refused before memory is spent."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

import factorspec_sdk as fs
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.wire import Spec, parse_document
from factorspec_server.commands.sampling import sample_records

BILLION = {"type": "integer", "minimum": 0, "maximum": 10**9}
HUGE = {"type": "integer", "minimum": -(10**18), "maximum": 10**18}


def record(fields: dict[str, Any], *relations: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
        "x-factorspec": {"version": 1, "relations": [{"name": "r", **one} for one in relations]},
    }


def ids(item: dict[str, Any], most: int, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": item, "minItems": 2, "maxItems": most, **more}


DIFFERENT = {"kind": "all_different", "over": ["$.ids[*]", "$.last"]}


def test_wide_numbers_differ() -> None:
    narrow = {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 1}, {"type": "null"}]}
    spec = parse_document(record({"ids": ids(BILLION, 3), "last": narrow}, DIFFERENT))
    compiled = compile_spec(spec)
    assert compiled.feasibility.exact
    for text in itertools.islice(sample_records(spec, seed=2), 3):
        found = json.loads(text)
        given = [*found["ids"], *([] if found["last"] is None else [found["last"]])]
        assert len(set(given)) == len(given)


def test_what_is_taken_is_left_out() -> None:
    fields = {"a": BILLION, "b": BILLION, "c": {"enum": [5, 6, "x"]}}
    relation = {"kind": "all_different", "over": ["$.a", "$.b", "$.c"]}
    compiled = compile_spec(parse_document(record(fields, relation)))
    graph = compiled.feasibility
    slots = {slot.path: at for at, slot in enumerate(compiled.program.slots)}
    state = graph.assign(graph.start(), slots["a"], 5)
    assert 5 not in graph.values(state, slots["b"]) and 6 in graph.values(state, slots["b"])
    state = graph.assign(state, slots["b"], 7)
    assert set(graph.values(state, slots["c"])) == {1, 2}


def test_a_wide_field_named_twice_does_not_differ_from_itself() -> None:
    for relation in ({"kind": "all_different"}, {"kind": "ordered", "op": "lt"}):
        with pytest.raises(fs.Unsatisfiable):
            compile_spec(parse_document(record({"a": BILLION}, {**relation, "over": ["$.a", "$.a"]})))


OVER = {"over": ["$.ids[*]"]}
STARTS = {"in": "$.ids", "as": "t", "start": {"ref": "t"}, "duration": {"const": 5}}
KINDS: list[dict[str, Any]] = [
    DIFFERENT,
    {"kind": "circuit", "loops": True, **OVER},
    {"kind": "all_equal", **OVER},
    {"kind": "permutation_of", "start": 5, **OVER},
    {"kind": "member_of", "of": ["$.last"], **OVER},
    {"kind": "subset_of", "of": ["$.last"], **OVER},
    {"kind": "ordered", **OVER},
    {"kind": "cardinality", "occurs": [{"const": 5, "least": 1, "most": 2}], **OVER},
    {"kind": "precedence", "values": [{"const": 5}, {"const": 6}], **OVER},
    {"kind": "no_overlap", "tasks": [STARTS]},
    {
        "kind": "cumulative", "capacity": {"const": 1},
        "tasks": [STARTS],
    },
]  # fmt: skip


@pytest.mark.parametrize("relation", KINDS, ids=lambda relation: relation["kind"])
def test_numbers_of_eighteen_digits_are_refused_or_decided(relation: dict[str, Any]) -> None:
    spec = parse_document(record({"ids": ids(HUGE, 4), "last": HUGE}, relation))
    refusal = refused(spec)
    if refusal is not None:
        assert refusal.problems[0].place and refusal.problems[0].hint


def refused(spec: Spec) -> fs.TooLarge | None:
    """The refusal; None if the spec is decided exactly."""
    try:
        compiled = compile_spec(spec)
    except fs.TooLarge as error:
        return error
    assert compiled.feasibility.exact
    return None


def test_many_wide_fields_that_differ_are_refused_with_their_place() -> None:
    with pytest.raises(fs.TooLarge, match=r"ids\[0\].*1000 fields.*narrow its bounds"):
        compile_spec(parse_document(record({"ids": ids(BILLION, 1000, uniqueItems=True)})))
