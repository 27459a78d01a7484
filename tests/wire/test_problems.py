"""Every problem of a document, as people read it. ``UPDATE_SNAPSHOTS=1`` writes the snapshot anew."""

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from factorspec_sdk.errors import DocumentError, EmptyDomain, FactorspecError, UnsupportedKeyword
from factorspec_sdk.relations import Relation
from factorspec_sdk.wire import parse_document
from factorspec_sdk.wire.check_relations import _CHECKS
from tests.wire.kept import kept

SNAPSHOT = Path(__file__).parent / "snapshots" / "problems.txt"

RANGE = {"type": "integer", "minimum": 1, "maximum": 9}
DAY = {
    "type": "string",
    "format": "date",
    "x-factorspec": {"domain": {"min": "2026-05-01", "max": "2026-05-31"}},
}


def value(schema: Any) -> dict[str, Any]:
    """A document with one property."""
    return {"type": "object", "properties": {"a": schema}, "required": ["a"]}


def related(*relations: Any, **vendor: Any) -> dict[str, Any]:
    """A document with fields of every sort and these relations."""
    return {
        "type": "object",
        "properties": {
            "n": RANGE,
            "m": {"type": ["integer", "null"], "minimum": 1, "maximum": 9},
            "day": DAY,
            "city": {"enum": ["Rome", "Oslo"]},
            "flag": {"type": "boolean"},
            "free": {"type": "string"},
            "born": {"type": "string", "format": "date"},
            "count": {"type": "integer"},
            "share": {"type": "number"},
            "open": {"type": "array", "items": RANGE},
            "stops": {
                "type": "array",
                "minItems": 1,
                "maxItems": 3,
                "items": {"type": "object", "properties": {"city": {"enum": ["Rome", "Oslo"]}, "day": DAY}},
            },
            "shift": {"anyOf": [{"type": "object", "properties": {"n": RANGE}}, {"type": "null"}]},
        },
        "x-factorspec": {
            "version": 1,
            "tables": {"pairs": [["Rome", 1], ["Oslo", 2], ["Rome", 3]], "days": [["2026-05-01"]]},
            "relations": list(relations),
            **vendor,
        },
    }


def expr(expression: Any) -> dict[str, Any]:
    """A document with one expression."""
    return related({"kind": "intension", "name": "x", "expr": expression})


def op(name: str, *args: Any) -> dict[str, Any]:
    return {"op": name, "args": list(args)}


def ref(path: str) -> dict[str, Any]:
    return {"ref": path}


def const(value: Any, **more: Any) -> dict[str, Any]:
    return {"const": value, **more}


def changed(name: str, change: Callable[[Any], object]) -> dict[str, Any]:
    document = copy.deepcopy(kept(name))
    change(document)
    return document


CASES: dict[str, Any] = {
    # text and JSON
    "not JSON": "{",
    "empty text": "",
    "a list": [],
    "bytes that are not UTF-8": b'{"a": "\xff"}',
    "a key twice": '{"type": "object", "properties": {"a/b": {"type": "string", "type": "integer"}}}',
    "NaN": '{"type": "object", "minimum": NaN}',
    "infinity by exponent": '{"type": "object", "default": 1e999}',
    "a huge integer": '{"type": "object", "default": 123456789012345678901234567890}',
    "an integer of thousands of digits": '{"type": "object", "default": 1' + "0" * 5000 + "}",
    "a lone surrogate": '{"type": "object", "title": "\\ud800"}',
    "no JSON value": {"type": "object", "default": {1, 2}},
    "a key that is no text": {"type": "object", 1: 2},
    # schema keywords
    "root is no object": {"type": "array", "items": RANGE, "maxItems": 2},
    "unknown type": value({"type": "int"}),
    "unknown keyword": value({"type": "integer", "minimun": 3}),
    "keywords at the root": {**value(RANGE), "patternProperties": {}, "prefixItems": [], "$anchor": "x"},
    "conditions": {**value({"type": "string"}), "if": {"properties": {"a": {"maxLength": 3}}}, "then": False},
    "other members": {**value(RANGE), "dependentRequired": {"a": ["b"]}},
    "too many values to tell apart": value(
        {
            "type": "object",
            "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 10**6}},
            "not": {"properties": {"n": {"multipleOf": 7}}},
            "x-factorspec": {"relations": []},
        }
    ),
    "unions": value({"anyOf": [RANGE, {"type": "string"}], "discriminator": {}}),
    "shared values": value({"oneOf": [RANGE, {"type": "integer"}]}),
    "reference to nowhere": {**value({"$ref": "#/$defs/Nn"}), "$defs": {"N": RANGE}},
    "reference outside": value({"$ref": "https://example.com/x.json"}),
    "required without property": {**value(RANGE), "required": ["a", "aa"]},
    "format in words": value({"type": "string", "format": "email"}),
    "pattern with lookahead": value({"type": "string", "pattern": "^(?!x)[a-z]+$"}),
    "a fraction as count": value({"type": "string", "maxLength": 1.5}),
    # vendor key
    "no version": {**value(RANGE), "x-factorspec": {"relations": []}},
    "vendor key below only": value({"type": "object", "properties": {}, "x-factorspec": {"order": []}}),
    "unknown version": {**value(RANGE), "x-factorspec": {"version": 2}},
    "objective": {
        **value(RANGE),
        "x-factorspec": {"version": 1, "objective": {}, "max_depth": 3, "orders": []},
    },
    "objective below the root": {
        **value({"type": "object", "properties": {}, "x-factorspec": {"objective": []}}),
        "x-factorspec": {"version": 1},
    },
    "goals of odd things": related(objective=[3, {}, {"goal": "maximise", "expr": {"ref": "$.n"}}]),
    "goals of odd parts": related(
        objective=[
            {"goal": "minimize", "expr": {"ref": "$.n"}, "gap": -1},
            {"goal": "minimize", "expr": {"ref": "$.n"}, "gap": 1.5, "weight": 2},
            {"goal": "minimize", "expr": {"op": "sqrt", "args": [{"ref": "$.n"}]}},
        ]
    ),
    "goals of wrong types": related(
        objective=[
            {"goal": "maximize", "expr": {"ref": "$.city"}},
            {"goal": "maximize", "expr": {"ref": "$.nn"}},
            {"goal": "maximize", "expr": {"op": "eq", "args": [{"ref": "$.n"}, {"const": 1}]}},
            {"goal": "maximize", "expr": {"ref": "$.free"}},
            {"goal": "maximize", "expr": {"const": 3}},
        ]
    ),
    "order": {**value(RANGE), "x-factorspec": {"version": 1, "order": ["b", "b"]}},
    "order twice": {**value(RANGE), "x-factorspec": {"version": 1, "order": ["a", "a"]}},
    "order of odd things": {**value(RANGE), "x-factorspec": {"version": 1, "order": ["a", {}, 1, "b"]}},
    "relations on a value": {
        **value({**RANGE, "x-factorspec": {"relations": []}}),
        "x-factorspec": {"version": 1},
    },
    "domain without format": {
        **value({"type": "string", "x-factorspec": {"domain": {"min": "a", "max": "b"}}}),
        "x-factorspec": {"version": 1},
    },
    "bad domain": {
        **value({**DAY, "x-factorspec": {"domain": {"min": "2026-02-30", "step": 0, "steps": 1}}}),
        "x-factorspec": {"version": 1},
    },
    "tables": related(tables={"a": [["x", 1], ["y"], 3, [0.5, []]], "b": 7}),
    # relations
    "no kind": related({"name": "x"}, 7),
    "no_overlap": related(
        {"kind": "no_overlap", "name": "none", "tasks": []},
        {
            "kind": "no_overlap",
            "name": "both",
            "tasks": [
                {"start": {"ref": "$.n"}, "end": {"ref": "$.n"}, "duration": {"const": 1}},
                {"start": {"ref": "$.n"}},
                {"in": "$.stops", "start": {"ref": "$.n"}, "duration": {"const": 1}},
                {"in": "$.n", "as": "t", "start": {"ref": "$.n"}, "duration": {"const": 1}},
            ],
        },
        {
            "kind": "no_overlap",
            "name": "types",
            "booked": "pairs",
            "travel": "days",
            "tasks": [
                {"start": {"ref": "$.city"}, "duration": {"ref": "$.flag"}, "place": {"ref": "$.flag"}},
                {"in": "$.stops", "as": "t", "start": {"ref": "t.day"}, "end": {"ref": "t.day"}},
                {"start": {"ref": "$.n"}, "end": {"ref": "$.m"}},
            ],
        },
        {
            "kind": "no_overlap",
            "name": "tables",
            "booked": "gone",
            "travel": "ways",
            "tasks": [
                {"start": {"ref": "$.n"}, "duration": {"const": 1}, "place": {"ref": "$.city"}},
            ],
        },
        {
            "kind": "no_overlap",
            "name": "blocks",
            "booked": "blocks",
            "tasks": [
                {"start": {"ref": "$.day"}, "duration": {"const": 1}, "place": {"ref": "$.city"}},
            ],
        },
        {
            "kind": "no_overlap",
            "name": "twice",
            "travel": "twice",
            "from": {"time": {"ref": "$.n"}, "place": {"ref": "$.flag"}},
            "tasks": [
                {"start": {"ref": "$.day"}, "duration": {"const": 1}},
            ],
        },
        {
            "kind": "no_overlap",
            "name": "expression",
            "from": {"place": {"ref": "$.n"}},
            "tasks": [{"start": "$.n", "duration": {"op": "min"}}],
        },
        tables={
            "pairs": [["Rome", 1], ["Oslo", 2], ["Rome", 3]],
            "days": [["2026-05-01"]],
            "ways": [["Rome", "Oslo", -1]],
            "blocks": [["2026-05-02", "2026-05-01"]],
            "twice": [["Rome", "Oslo", 1], ["Rome", "Oslo", 2]],
        },
    ),
    "too many items": {
        **value({"type": "array", "items": RANGE, "maxItems": 401}),
        "x-factorspec": {
            "version": 1,
            "relations": [
                {
                    "name": name,
                    "kind": kind,
                    **more,
                    "tasks": [{"in": "$.a", "as": "t", "start": {"ref": "t"}, "duration": {"const": 1}}],
                }
                for name, kind, more in (
                    ("x", "no_overlap", {}),
                    ("y", "cumulative", {"capacity": {"const": 1}}),
                    ("z", "no_overlap", {"in_order": True}),
                )
            ],
        },
    },
    "cumulative and circuit": related(
        {
            "kind": "cumulative",
            "name": "bad",
            "capacity": {"ref": "$.city"},
            "tasks": [
                {"start": {"ref": "$.n"}, "duration": {"const": 1}, "demand": {"ref": "$.flag"}},
                {"start": {"ref": "$.day"}, "duration": {"const": 1}},
            ],
        },
        {"kind": "cumulative", "name": "no capacity", "tasks": [{"start": {"ref": "$.n"}}]},
        {"kind": "circuit", "name": "text", "over": ["$.city"]},
        {"kind": "circuit", "name": "null", "over": ["$.m"]},
        {"kind": "circuit", "name": "absent", "over": ["$.n", "$.nobody", "$.shift.n"]},
    ),
    "unknown kind": related({"kind": "all_diferent", "name": "x"}, {"kind": "knapsack", "name": "y"}),
    "missing and unknown keys": related({"kind": "sum", "overs": ["n"]}),
    "empty over": related({"kind": "all_different", "name": "", "over": []}),
    "python names": related(
        {"kind": "implies", "name": "x", "condition": ref("flag"), "consequence": ref("flag")}
    ),
    "one name twice": related(
        {"kind": "all_different", "name": "x", "over": ["n"]},
        {"kind": "all_different", "name": "x", "over": ["n"]},
    ),
    "comparison of a kind": related(
        {"kind": "sum", "name": "x", "over": ["n"], "op": "=<", "value": const(1)}
    ),
    # expressions
    "no expression": expr({"refs": "n"}),
    "a bare number": expr(op("eq", ref("n"), 3)),
    "unknown operation": expr(op("and", {"op": "equals", "left": 1}, ref("flag"))),
    "extra key": expr({"ref": "flag", "op": "eq"}),
    "float constant": expr(op("eq", ref("n"), const(1.5))),
    "list constant": expr({"op": "in", "arg": ref("n"), "values": [const([1])]}),
    "arity": expr(op("and", op("eq", ref("n")), op("not", ref("flag"), ref("flag")), op("or"))),
    "nested place": expr(
        {"op": "every", "in": "stops", "as": "s", "body": op("eq", ref("s.town"), const("Rome"))}
    ),
    # open values
    "unknown keyword in an open value": value({"anyOf": [{"minimun": 3}, True]}),
    "relations in an open value": value(
        {"properties": {"n": {**RANGE, "x-factorspec": {"relations": []}}}, "not": {}}
    ),
    "bad shapes in an open value": value({"not": {"minLength": -1}}),
    "no schema in an open value": value({"not": 3}),
    "lookahead in an open value": value({"pattern": "(?=a)"}),
    "anchor inside a pattern": value({"patternProperties": {"a^": {}}}),
    "format in an open value": value({"format": "hostname"}),
    "a leap second": value({"format": "time"}),
    "a step of many digits": value({"multipleOf": 0.123456789}),
    "unique items of any kind": value({"uniqueItems": True}),
    "several members of any name": value({"minProperties": 2}),
    "a schema that is itself": {
        **value({"$ref": "#/$defs/N", "not": {}}),
        "$defs": {"N": {"$ref": "#/properties/a"}},
    },
    "an anchor that is nowhere": value({"$ref": "#x"}),
    "a pointer that is nowhere": value({"$ref": "#/properties/a/not/0", "not": {}}),
    "too many cases": value(
        {"allOf": [{"oneOf": [{"required": [f"{a}{b}"]} for b in range(9)]} for a in "abc"]}
    ),
    "a count too large": value({"contains": {}, "minContains": 10**6}),
    "a dynamic reference": value(
        {
            "$dynamicRef": "#n",
            "anyOf": [{"$dynamicAnchor": "n"}, {"properties": {"a": {"$dynamicAnchor": "n"}}}],
        }
    ),
    # paths
    "unknown field": expr(op("eq", ref("$.cty"), const("Rome"))),
    "no path": expr(op("eq", ref("$.city!"), const("Rome"))),
    "object where a value is needed": expr(op("eq", ref("stops[0]"), const(1))),
    "list where a value is needed": expr(op("eq", ref("stops"), const(1))),
    "star in a reference": expr(op("eq", ref("stops[*].city"), const("Rome"))),
    "star on no list": related({"kind": "all_different", "name": "x", "over": ["shift[*].n"]}),
    "index out of range": expr(op("eq", ref("stops[3].city"), ref("stops[-4].city"))),
    "field of a value": expr(op("eq", ref("n.x"), const(1))),
    "length of a value": expr(op("eq", {"op": "len", "of": "n"}, const(1))),
    "from the end in over": related(
        {"kind": "all_different", "name": "x", "over": ["stops[-1].city", "city"]}
    ),
    "free text": expr(op("eq", ref("free"), const("x"))),
    "date without bounds": expr(op("eq", ref("born"), const("2026-05-01", type="date"))),
    "integer without bounds": expr(op("eq", ref("count"), const(1))),
    "number": expr(op("eq", ref("share"), const(1))),
    "open list": related({"kind": "sum", "name": "x", "over": ["open[*]"], "value": const(1)}),
    "length of an open list": expr(op("eq", {"op": "len", "of": "open"}, const(1))),
    "unbound name": expr(op("eq", ref("s.city"), const("Rome"))),
    "shadowed name": expr(
        {
            "op": "every",
            "in": "stops",
            "as": "s",
            "body": {"op": "some", "in": "stops", "as": "s", "body": op("eq", ref("s.city"), const("Rome"))},
        }
    ),
    "slide": related(
        {"kind": "slide", "name": "x", "over": "city", "as": ["a"], "expr": const(True)},
        {"kind": "slide", "name": "y", "over": "stops", "as": ["a", "a"], "expr": const(True)},
        {"kind": "slide", "name": "z", "over": "stops", "as": ["a b"], "expr": const(True)},
    ),
    # tables
    "no such table": expr({"op": "member", "table": "pair", "key": [ref("city"), ref("n")]}),
    "row of the wrong width": expr({"op": "member", "table": "pairs", "key": [ref("city")]}),
    "lookup of the wrong width": expr(
        op("eq", {"op": "lookup", "table": "pairs", "key": [ref("city"), ref("n")]}, const(1))
    ),
    "two rows for one key": expr(
        op("eq", {"op": "lookup", "table": "pairs", "key": [ref("city")]}, const(1))
    ),
    "lookup in a broken table": related(
        {
            "kind": "intension",
            "name": "x",
            "expr": op("eq", {"op": "lookup", "table": "t", "key": [ref("n")]}, const(1)),
        },
        tables={"t": [[1, {}], [[], 2], [3], []]},
    ),
    "column of another type": related(
        {"kind": "table", "name": "x", "over": ["n", "city"], "table": "pairs"}
    ),
    "star in a table": related(
        {"kind": "table", "name": "x", "over": ["stops[*].city", "n"], "table": "pairs"}
    ),
    # types
    "order of texts": expr(op("lt", ref("city"), ref("city"))),
    "number with text": expr(op("eq", ref("n"), const("1"))),
    "date as text": expr(op("le", ref("day"), const("2026-05-01"))),
    "no date": expr(op("le", ref("day"), const("2026-5-1", type="date"))),
    "date with number": expr(op("lt", ref("day"), ref("n"))),
    "sum of dates": expr(op("eq", op("add", ref("day"), ref("day")), const(1))),
    "days from a number": expr(op("eq", op("sub", ref("n"), ref("day")), const(1))),
    "product of dates": expr(op("eq", op("mul", ref("day"), const(2)), const(1))),
    "arithmetic on texts": expr(op("eq", op("add", ref("city"), const(None)), const(1))),
    "no condition": expr(op("and", ref("n"), const(1), ref("flag"))),
    "value as condition": expr(ref("n")),
    "branches": expr(op("eq", op("if", ref("flag"), ref("n"), ref("city")), const(1))),
    "ordered mixed": related({"kind": "ordered", "name": "x", "over": ["n", "day", "city"]}),
    "sum of texts": related(
        {"kind": "sum", "name": "x", "over": ["city"], "weights": [1, 2], "value": ref("day")}
    ),
    "all_equal": related({"kind": "all_equal", "name": "x", "over": ["n", "m", "city", "stops"]}),
    "minimum": related({"kind": "minimum", "name": "x", "over": ["n", "day"], "value": const(1)}),
    "maximum": related({"kind": "maximum", "name": "x", "over": ["city"], "value": ref("cit")}),
    "member_of": related(
        {"kind": "member_of", "name": "x", "over": ["n", "city"], "of": ["m"]},
        {"kind": "member_of", "name": "y", "over": ["n"], "of": ["city"]},
        {"kind": "subset_of", "name": "z", "over": ["n"]},
        {"kind": "subset_of", "name": "u", "over": ["n"], "of": ["m"], "table": "pairs"},
    ),
    "subset_of": related(
        {"kind": "subset_of", "name": "x", "over": ["n"], "table": "pair"},
        {"kind": "subset_of", "name": "y", "over": ["n"], "table": "pairs", "column": 2},
        {"kind": "subset_of", "name": "z", "over": ["n"], "table": "pairs"},
        {"kind": "subset_of", "name": "u", "over": ["n"], "table": "pairs", "column": -1},
    ),
    "permutation_of": related(
        {"kind": "permutation_of", "name": "x", "over": ["n"], "start": 0, "of": ["m"]},
        {"kind": "permutation_of", "name": "y", "over": ["n"]},
        {"kind": "permutation_of", "name": "z", "over": ["city"], "start": 0},
        {"kind": "permutation_of", "name": "u", "over": ["city"], "of": ["n"]},
        {"kind": "permutation_of", "name": "v", "over": ["city"], "values": [const(1), const(None)]},
    ),
    "cardinality": related(
        {"kind": "cardinality", "name": "x", "over": ["n"], "occurs": []},
        {"kind": "cardinality", "name": "y", "over": ["n"], "occurs": [const(1), const(1), const("a")]},
        {
            "kind": "cardinality",
            "name": "z",
            "over": ["m"],
            "occurs": [const(None), const(2, least=3, most=2)],
        },
        {"kind": "cardinality", "name": "u", "over": ["m"], "occurs": [const(2, least=-1, mst=2)]},
    ),
    "cardinality of decimals": related(
        {
            "kind": "cardinality",
            "name": "x",
            "over": ["n"],
            "occurs": [const("1.0", type="decimal"), const("1.00", type="decimal"), const(1)],
        },
    ),
    "precedence": related(
        {"kind": "precedence", "name": "x", "over": ["n"], "values": [const(1)]},
        {"kind": "precedence", "name": "y", "over": ["n"], "values": [const(1), const("b"), const(1)]},
    ),
    "regular": related(
        {"kind": "regular", "name": "x", "over": ["n"], "table": "pairs", "start": "a", "final": ["b"]},
        {"kind": "regular", "name": "y", "over": ["n"], "table": "moves", "start": "p", "final": []},
        {"kind": "regular", "name": "z", "over": ["n"], "table": "moves", "start": "o", "final": ["q", 1]},
        {"kind": "regular", "name": "u", "over": ["city"], "table": "moves", "start": "p", "final": ["q"]},
        {"kind": "regular", "name": "v", "over": ["n"], "table": "twice", "start": "p", "final": ["q"]},
        {"kind": "regular", "name": "w", "over": ["m"], "table": "nulls", "start": "p", "final": ["q"]},
        tables={
            "pairs": [["Rome", 1], ["Oslo", 2], ["Rome", 3]],
            "days": [["2026-05-01"]],
            "moves": [["p", 1, "q"], ["q", 2, "p"]],
            "twice": [["p", 1, "q"], ["p", 1, "p"]],
            "nulls": [["p", None, "q"]],
        },
    ),
    "iff and either": related(
        {"kind": "iff", "name": "x", "conditions": [op("eq", ref("n"), const(1))]},
        {
            "kind": "either",
            "name": "y",
            "conditions": [ref("n"), op("eq", ref("n"), const("a")), ref("flag")],
        },
        {"kind": "either", "name": "z", "conditions": [const(3)], "exactly_one": 1},
        {"kind": "either", "name": "u", "conditions": [op("lte", ref("n"), const("a"))]},
    ),
    "same_length": related({"kind": "same_length", "name": "x", "over": ["stops", "open", "n", "stops[*]"]}),
    "count": related(
        {"kind": "count", "name": "x", "over": ["n"], "values": [const("a")], "value": ref("city")}
    ),
    "element": related(
        {"kind": "element", "name": "x", "over": ["n"], "index": ref("day"), "value": ref("city")}
    ),
    "object compared with a number": expr(op("eq", ref("shift"), const(1))),
    # several at once
    "all at once": related(
        {"kind": "all_different", "name": "x", "over": ["nn", "stops[*].town"]},
        {"kind": "circuit", "name": "y"},
        {"kind": "intension", "name": "z", "expr": op("eq", ref("n"), const("x"))},
        order=["n"],
    ),
    # nothing is left
    "empty range": value({"type": "integer", "minimum": 5, "maximum": 4}),
    "empty stride": value({"type": "integer", "minimum": 6, "maximum": 9, "multipleOf": 5}),
    "empty enum": value({"enum": []}),
    "enum of another type": value({"enum": ["a"], "type": "integer"}),
    "nothing at all": value(False),
    "nothing together": value({"allOf": [{"type": "integer"}, {"type": "string"}]}),
    "nothing that ends": value(
        {
            "type": ["object", "array"],
            "required": ["a"],
            "properties": {"a": {"$ref": "#/properties/a"}},
            "minItems": 1,
            "items": False,
        }
    ),
    "lengths": value({"type": "string", "minLength": 3, "maxLength": 2}),
    "items": value({"type": "array", "items": RANGE, "minItems": 3, "maxItems": 2}),
    "dates": {
        **value({**DAY, "x-factorspec": {"domain": {"min": "2026-05-02", "max": "2026-05-01"}}}),
        "x-factorspec": {"version": 1},
    },
    "endless recursion": {
        "$defs": {"N": {"type": "object", "properties": {"n": {"$ref": "#/$defs/N"}}, "required": ["n"]}},
        "$ref": "#/$defs/N",
    },
}


def report(document: Any) -> str:
    try:
        parse_document(document)
    except FactorspecError as error:
        lines = "".join(f"\n    {problem}" for problem in error.problems)
        return f"{type(error).__name__}: {error.message}{lines}"
    return "accepted"


def test_problems_read_as_in_the_snapshot() -> None:
    found = "\n\n".join(f"# {name}\n{report(document)}" for name, document in CASES.items()) + "\n"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        SNAPSHOT.write_text(found, encoding="utf-8")
    assert found == SNAPSHOT.read_text(encoding="utf-8")


def test_no_case_is_accepted() -> None:
    assert [name for name, document in CASES.items() if report(document) == "accepted"] == []


@pytest.mark.parametrize("name", ["empty range", "empty enum", "dates"])
def test_an_empty_domain_is_the_data_not_the_document(name: str) -> None:
    with pytest.raises(EmptyDomain):
        parse_document(CASES[name])


def test_problems_come_before_empty_domains() -> None:
    document = value({"type": "integer", "minimum": 5, "maximum": 4})
    document["properties"]["b"] = {"type": "what"}
    with pytest.raises(DocumentError) as caught:
        parse_document(document)
    assert [problem.place for problem in caught.value.problems] == ["/properties/b/type"]


def test_one_unsupported_keyword_decides_the_class() -> None:
    document = value({"type": "what"})
    document["$anchor"] = "x"
    with pytest.raises(UnsupportedKeyword) as caught:
        parse_document(document)
    assert [problem.place for problem in caught.value.problems] == ["/$anchor", "/properties/a/type"]


def test_long_lists_of_problems_are_cut() -> None:
    document = {"type": "object", "properties": {f"p{i}": {"type": "x"} for i in range(500)}}
    with pytest.raises(DocumentError) as caught:
        parse_document(document)
    assert len(caught.value.problems) == 101
    assert caught.value.problems[-1].message == "and 400 more problems"


def test_every_kind_is_checked() -> None:
    assert set(_CHECKS) == set(get_args(get_args(Relation)[0]))


def test_pointers_lead_to_the_place() -> None:
    document = changed(
        "trip", lambda d: d["$defs"]["Stop"]["x-factorspec"]["relations"][0]["over"].append("x/y")
    )
    with pytest.raises(DocumentError) as caught:
        parse_document(document)
    assert caught.value.place == "/$defs/Stop/x-factorspec/relations/0/over/2"


def test_nulls_and_tables_around_are_accepted() -> None:
    parse_document(
        expr(op("implies", op("ne", ref("shift"), const(None)), op("eq", ref("shift.n"), ref("m"))))
    )
    parse_document(expr(op("eq", op("sub", ref("stops[-1].day"), ref("day")), const(3))))
    inner = {
        "kind": "intension",
        "name": "in a table of the root",
        "expr": {"op": "member", "table": "pairs", "key": [ref("city"), {"op": "add", "args": [const(1)]}]},
    }
    document = related()
    document["properties"]["stops"]["items"]["x-factorspec"] = {"relations": [inner]}
    parse_document(document)
    parse_document(expr({"op": "member", "table": "days", "key": [ref("day")]}))
