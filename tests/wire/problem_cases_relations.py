"""Wrong documents: relations, expressions, open values, paths, tables."""

from typing import Any

from tests.wire.problem_documents import RANGE, const, expr, op, ref, related, value

RELATION_CASES: dict[str, Any] = {
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
}
