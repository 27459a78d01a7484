"""Wrong documents: types, several problems at once, domains of which nothing is left."""

from typing import Any

from tests.wire.problem_documents import DAY, RANGE, const, expr, op, ref, related, value

TYPE_CASES: dict[str, Any] = {
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
