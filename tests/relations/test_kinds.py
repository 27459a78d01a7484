"""Every relation kind, by one parametrised test each: JSON round trip, meaning and explanation.

That meaning equals the compiled form is tested in ``tests/differential`` for all kinds and pairs.
"""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from pydantic import TypeAdapter

from factorspec_sdk.relations import Relation
from factorspec_sdk.relations.checking import check_relation
from factorspec_sdk.relations.view import Tables, View
from factorspec_sdk.wire import relation_json

ADAPTER: TypeAdapter[Relation] = TypeAdapter(Relation)
TABLES: Tables = {
    "moves": [["start", "Rome", "south"], ["south", "Oslo", "north"], ["north", "Rome", "south"]],
    "texts": [['He said "no way".'], ["So what"]],
    "walk": [["Rome", "Oslo", 4]],
    "lunch": [[12, 13]],
    "flights": [["Rome", "Oslo"], ["Oslo", "Bonn"]],
    "stays": [["Rome", 2], ["Oslo", 3]],
}
REF = {"a": {"ref": "$.a"}, "b": {"ref": "$.b"}}
STOPS = [{"city": "Rome", "day": 1}, {"city": "Oslo", "day": 3}]

# kind: relation, a record that satisfies it, one that breaks it, and the explanation of the latter
CASES: dict[str, tuple[dict[str, Any], Any, Any, str]] = {
    "all_different": (
        {"over": ["$.s[*].city"]},
        {"s": [*STOPS, {"city": None}, {"city": None}]},
        {"s": [*STOPS, {"city": "Rome"}]},
        "s[0].city and s[2].city are both 'Rome', but must differ",
    ),
    "all_equal": (
        {"over": ["$.s[*].city", "$.a"]},
        {"s": [STOPS[0], {"city": None}], "a": "Rome"},
        {"s": STOPS},
        "s[0].city = 'Rome' and s[1].city = 'Oslo', but all must be equal",
    ),
    "minimum": (
        {"over": ["$.s[*].day", "$.a"], "value": REF["b"]},
        {"s": [*STOPS, {"day": None}], "a": 2, "b": 1},
        {"s": STOPS, "a": 2, "b": 2},
        "the least of s[0].day = 1, s[1].day = 3, a = 2 is 1, but must equal b = 2",
    ),
    "maximum": (
        {"over": ["$.s[*].day"], "op": "lt", "value": REF["a"]},
        {"s": [*STOPS, {"day": None}], "a": 4},
        {"s": STOPS, "a": 3},
        "the greatest of s[0].day = 1, s[1].day = 3 is 3, but must be less than a = 3",
    ),
    "substring_of": (
        {"over": ["$.q[*]"], "table": "texts"},
        {"q": ["", "no way", 'said "n', None]},
        {"q": ["no way", "no  way"]},
        "q[1] = 'no  way' does not occur verbatim in 'texts'",
    ),
    "same_length": (
        {"over": ["$.s", "$.t", "$.u"]},
        {"s": STOPS, "t": [1, 2], "u": None},
        {"s": STOPS, "t": [1]},
        "s has 2 items and t has 1, but all must be equally long",
    ),
    "member_of": (
        {"over": ["$.a", "$.b"], "of": ["$.s[*].city"]},
        {"s": [*STOPS, {"city": None}], "a": "Oslo", "b": None},
        {"s": STOPS, "a": "Oslo", "b": "Bonn"},
        "b = 'Bonn' is none of s[0].city = 'Rome', s[1].city = 'Oslo'",
    ),
    "subset_of": (
        {"over": ["$.s[*].city"], "table": "flights", "column": 1},
        {"s": [{"city": "Bonn"}, {"city": "Oslo"}, {"city": "Oslo"}]},
        {"s": STOPS},
        "s[0].city = 'Rome' does not occur in column 1 of table 'flights'",
    ),
    "permutation_of": (
        {"over": ["$.s[*].day"], "start": 1},
        {"s": [{"day": 2}, {"day": None}, {"day": 1}]},
        {"s": STOPS},
        "s[1].day = 3 is none of the values: 1, 2",
    ),
    "cardinality": (
        {
            "over": ["$.s[*].city"],
            "occurs": [{"const": "Rome", "least": 1, "most": 1}, {"const": "Oslo", "least": 1}],
            "closed": True,
        },
        {"s": [*STOPS, {"city": None}, {"city": "Oslo"}]},
        {"s": [*STOPS, STOPS[0]]},
        "'Rome' occurs 2 times (s[0].city = 'Rome', s[2].city = 'Rome'), but must occur exactly 1 time",
    ),
    "precedence": (
        {"over": ["$.s[*].city"], "values": [{"const": "Rome"}, {"const": "Oslo"}]},
        {"s": [{"city": None}, {"city": "Bonn"}, *STOPS, STOPS[0]]},
        {"s": [{"city": "Bonn"}, STOPS[1], STOPS[0]]},
        "s[1].city = 'Oslo' stands before the first 'Rome'",
    ),
    "regular": (
        {"over": ["$.s[*].city"], "table": "moves", "start": "start", "final": ["north", "start"]},
        {"s": [STOPS[0], {"city": None}, STOPS[1]]},
        {"s": [STOPS[0], STOPS[0]]},
        "s[1].city = 'Rome' cannot come in state 'south'",
    ),
    "iff": (
        {
            "conditions": [
                {"op": "eq", "args": [REF["a"], {"const": "done"}]},
                {"op": "ne", "args": [REF["b"], {"const": None}]},
            ]
        },
        {"a": "open", "b": None},
        {"a": "open", "b": 3},
        "b != None holds, but a == 'done' is false, with a = 'open'",
    ),
    "either": (
        {
            "conditions": [
                {"op": "eq", "args": [REF["a"], {"const": 1}]},
                {"op": "gt", "args": [REF["b"], {"const": 1}]},
            ],
            "exactly_one": True,
        },
        {"a": 1, "b": 1},
        {"a": 1, "b": 2},
        "exactly one of 2 conditions must hold, but a == 1 and b > 1 hold both",
    ),
    "sum": (
        {"over": ["$.s[*].day"], "weights": [2], "op": "le", "value": REF["a"]},
        {"s": [*STOPS, {"day": None}], "a": 8},
        {"s": STOPS, "a": 7},
        "the weighted sum (weights [2]) of s[0].day = 1, s[1].day = 3 is 8, but must be at most a = 7",
    ),
    "table": (
        {"over": ["$.a", "$.b"], "table": "flights"},
        {"a": "Rome", "b": "Oslo"},
        {"a": "Oslo", "b": "Rome"},
        "(a = 'Oslo', b = 'Rome') is no row of table 'flights'",
    ),
    "element": (
        {"over": ["$.s[*].day"], "index": REF["a"], "start": 1, "value": REF["b"]},
        {"s": STOPS, "a": 2, "b": 3},
        {"s": STOPS, "a": 3, "b": 3},
        "the value at position a = 3 (counted from 1) of s[0].day = 1, s[1].day = 3 is missing, "
        "but must equal b = 3",
    ),
    "ordered": (
        {"over": ["$.s[*].day"], "op": "lt"},
        {"s": [{"day": 1}, {"day": None}, {"day": 2}]},
        {"s": [{"day": 2}, {"day": None}, {"day": 2}]},
        "s[0].day < s[2].day is false: s[0].day = 2, s[2].day = 2",
    ),
    "count": (
        {"over": ["$.s[*].city"], "values": [{"const": "Rome"}], "op": "eq", "value": {"const": 1}},
        {"s": STOPS},
        {"s": [*STOPS, STOPS[0]]},
        "2 of the fields are one of ['Rome'] (s[0].city = 'Rome', s[2].city = 'Rome'), "
        "but their number must equal 1 = 1",
    ),
    "slide": (
        {
            "over": "$.s",
            "as": ["x", "y"],
            "expr": {"op": "member", "table": "flights", "key": [{"ref": "x.city"}, {"ref": "y.city"}]},
        },
        {"s": STOPS},
        {"s": [*STOPS, {"city": "Rome"}]},
        "(s[1].city, s[2].city) in flights is false, with s[1].city = 'Oslo', s[2].city = 'Rome'",
    ),
    "cumulative": (
        {
            "tasks": [
                {
                    "in": "$.s",
                    "as": "t",
                    "start": {"ref": "t.day"},
                    "duration": {"const": 3},
                    "demand": {"const": 2},
                },
                {"start": REF["a"], "end": REF["b"]},
            ],
            "capacity": {"const": 4},
        },
        {"s": [*STOPS, {"city": None, "day": None}], "a": 4, "b": 6},
        {"s": STOPS, "a": 2, "b": 4},
        "at 3 the items take 5, but the capacity 4 is 4: s[0] (1 to 4) takes 2, s[1] (3 to 6) takes 2, "
        "a (2 to 4) takes 1",
    ),
    "circuit": (
        {"over": ["$.s[*].day"], "loops": True},
        {"s": [{"day": 2}, {"day": 1}, {"day": 0}]},
        {"s": [{"day": 1}, {"day": 0}, {"day": 3}, {"day": 2}]},
        "the round trip 0 → 1 → 0 leaves out s[2].day",
    ),
    "no_overlap": (
        {
            "tasks": [
                {"in": "$.s", "as": "t", "start": {"ref": "t.day"}, "duration": {"const": 2},
                 "place": {"ref": "t.city"}},
                {"start": REF["a"], "end": REF["b"]},
            ],
            "travel": "walk", "booked": "lunch", "from": {"time": {"const": 1}, "place": {"const": "Rome"}},
        },
        {"s": [STOPS[0], {"city": "Oslo", "day": 7}, {"city": "Bonn", "day": None}], "a": 3, "b": 3},
        {"s": [STOPS[0], {"city": "Oslo", "day": 6}]},
        "between s[0] (1 to 3) and s[1] (6 to 8) there is no time for the way from 'Rome' to 'Oslo', "
        "which takes 4",
    ),
    "implies": (
        {
            "if": {"op": "eq", "args": [REF["a"], {"const": "done"}]},
            "then": {"op": "ne", "args": [REF["b"], {"const": None}]},
        },
        {"a": "done", "b": 1},
        {"a": "done", "b": None},
        "a == 'done' holds, but b != None is false, with b = None",
    ),
    "intension": (
        {
            "expr": {
                "op": "every",
                "in": "$.s",
                "as": "t",
                "body": {
                    "op": "le",
                    "args": [
                        {"ref": "t.day"},
                        {"op": "lookup", "table": "stays", "key": [{"ref": "t.city"}]},
                    ],
                },
            }
        },
        {"s": STOPS},
        {"s": [STOPS[0], {"city": "Oslo", "day": 4}]},
        "s[1].day <= stays[s[1].city] is false, with s[1].day = 4, stays[s[1].city] = 3",
    ),
}  # fmt: skip


def made(kind: str) -> Relation:
    return ADAPTER.validate_json(json.dumps({"name": "n", "kind": kind, **CASES[kind][0]}))


def test_every_kind_has_a_case() -> None:
    kinds = {model.model_fields["kind"].default for model in get_args(get_args(Relation)[0])}
    assert set(CASES) == kinds


@pytest.mark.parametrize("kind", CASES)
def test_json_round_trip(kind: str) -> None:
    relation = made(kind)
    assert ADAPTER.validate_json(json.dumps(relation_json(relation))) == relation
    assert relation_json(relation)["kind"] == kind


@pytest.mark.parametrize("kind", CASES)
def test_meaning_and_explanation(kind: str) -> None:
    _, good, bad, explanation = CASES[kind]
    relation = made(kind)
    assert check_relation(relation, View(good, TABLES)).outcome == "holds"
    verdict = check_relation(relation, View(bad, TABLES, ""))
    assert (verdict.outcome, verdict.explanation) == ("broken", explanation)


@pytest.mark.parametrize("kind", CASES)
def test_an_empty_record_breaks_nothing_that_speaks_of_fields_alone(kind: str) -> None:
    outcome = check_relation(made(kind), View({}, TABLES)).outcome
    assert outcome in ("holds", "unknown") or kind in ("count", "element", "cardinality")
