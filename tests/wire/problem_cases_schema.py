"""Wrong documents: no JSON, keywords of schemas, the vendor key."""

from typing import Any

from tests.wire.problem_documents import DAY, RANGE, related, value

SCHEMA_CASES: dict[str, Any] = {
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
}
