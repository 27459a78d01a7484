"""The wire document's own JSON Schema: what a sender may check before sending.

It covers the shape of a document (keywords, kinds, operations), generated from the relation models, so that
it cannot differ from what is read. References, paths, types and budgets are checked by ``parse_document``.
``factorspec-1.schema.json`` beside this file is its generated copy.
"""

from __future__ import annotations

import json
from pathlib import Path

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.fields.decimals import MAX_PLACES
from factorspec_sdk.relations.objective import Goal
from factorspec_sdk.wire.finite import TYPES
from factorspec_sdk.wire.keywords import ANNOTATIONS, VENDOR
from factorspec_sdk.wire.languages.formats import OPEN_FORMATS
from factorspec_sdk.wire.languages.resources import BY_NAME, LISTED, SINGLE
from factorspec_sdk.wire.languages.wellformed import CONTENT
from factorspec_sdk.wire.read_relations import relation_adapter
from factorspec_sdk.wire.recursion import MAX_DEPTH
from factorspec_sdk.wire.strings import FORMATS
from factorspec_sdk.wire.vendor import VERSION

Schema = dict[str, JsonValue]

PUBLISHED = Path(__file__).with_name(f"factorspec-{VERSION}.schema.json")
#: keywords whose value is a count, or a text
_COUNTED = (
    "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains",
    "maxContains",
)  # fmt: skip
_TEXTS = ("pattern", "$ref", "$dynamicRef", "$id", "$anchor", "$dynamicAnchor")
_SCALAR: Schema = {"type": ["string", "integer", "boolean", "null"]}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_NUMBER: Schema = {"type": "number"}
_TEXT: Schema = {"type": "string"}
_NAMES: Schema = {"type": "array", "items": _TEXT}


def document_json_schema() -> Schema:
    """JSON Schema (draft 2020-12) of a wire document, version 1."""
    relation: Schema = relation_adapter().json_schema(by_alias=True, ref_template="#/$defs/{model}")
    goal: Schema = Goal.model_json_schema(by_alias=True, ref_template="#/$defs/{model}")
    models, more = relation.pop("$defs"), goal.pop("$defs")
    assert isinstance(models, dict) and isinstance(more, dict)
    definitions: Schema = {
        **more,
        **models,
        "Goal": goal,
        "Relation": relation,
        "Schema": {"anyOf": [{"type": "boolean"}, _schema(_ref("Vendor"))]},
        "Schemas": {"type": "object", "additionalProperties": _ref("Schema")},
        "Vendor": _closed(_vendor()),
        "Domain": _domain(),
    }
    objective: Schema = {"type": "array", "items": _ref("Goal")}
    max_depth: Schema = {"type": "integer", "minimum": 1, "maximum": MAX_DEPTH}
    at_root: Schema = {
        "version": {"const": VERSION},
        "max_depth": max_depth,
        "objective": objective,
        **_vendor(),
    }
    root = _schema(_closed(at_root, required=["version"]))
    properties = root["properties"]
    assert isinstance(properties, dict)
    properties["$schema"] = _TEXT
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"FactorSpec wire document, version {VERSION}",
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def published_text() -> str:
    """What the published file holds. ``python -m factorspec_sdk.wire.published_schema`` writes it."""
    return json.dumps(document_json_schema(), indent=1, ensure_ascii=False) + "\n"


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _closed(properties: Schema, required: list[JsonValue] | None = None) -> Schema:
    closed: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return closed | {"required": required} if required else closed


def _schema(vendor: Schema) -> Schema:
    """A sub-schema with the keywords that are read."""
    names: list[JsonValue] = sorted(TYPES)  # type: ignore[assignment]
    name: Schema = {"enum": names}
    several: Schema = {"type": "array", "items": name, "minItems": 1, "uniqueItems": True}
    formats: list[JsonValue] = sorted({*FORMATS, *OPEN_FORMATS})  # type: ignore[assignment]
    properties: Schema = {
        "type": {"anyOf": [name, several]},
        "enum": {"type": "array"},
        "const": True,
        "minimum": _NUMBER,
        "maximum": _NUMBER,
        "exclusiveMinimum": _NUMBER,
        "exclusiveMaximum": _NUMBER,
        "multipleOf": {"type": "number", "exclusiveMinimum": 0},
        "format": {"enum": formats},
        "required": _NAMES,
        "uniqueItems": {"type": "boolean"},
        "dependentRequired": {"type": "object", "additionalProperties": _NAMES},
        "dependencies": {
            "type": "object",
            "additionalProperties": {"anyOf": [_NAMES, _ref("Schema")]},
        },
        "discriminator": _discriminator(),
        VENDOR: vendor,
    }
    properties |= dict.fromkeys(_COUNTED, _COUNT)
    properties |= dict.fromkeys(_TEXTS, _TEXT)
    properties |= dict.fromkeys(sorted(SINGLE), _ref("Schema"))
    branches: JsonValue = {"type": "array", "items": _ref("Schema"), "minItems": 1}
    for key in sorted(LISTED):
        properties[key] = branches
    properties |= dict.fromkeys(sorted(BY_NAME - {"dependencies"}), _ref("Schemas"))
    properties |= dict.fromkeys(sorted(ANNOTATIONS | CONTENT), True)
    return _closed(properties)


def _vendor() -> Schema:
    row: Schema = {"type": "array", "items": _SCALAR, "minItems": 1}
    return {
        "order": {"type": "array", "items": _TEXT, "uniqueItems": True},
        "relations": {"type": "array", "items": _ref("Relation")},
        "tables": {"type": "object", "additionalProperties": {"type": "array", "items": row}},
        "domain": _ref("Domain"),
    }


def _discriminator() -> Schema:
    mapping: Schema = {"type": "object", "additionalProperties": {"anyOf": [_TEXT, _ref("Schema")]}}
    return _closed({"propertyName": _TEXT, "mapping": mapping}, required=["propertyName"])


def _domain() -> Schema:
    step: Schema = {"type": "integer", "minimum": 1, "default": 1}
    step["description"] = "days for dates, seconds for times"
    moments = _closed({"min": _TEXT, "max": _TEXT, "step": step}, required=["min", "max"])
    decimal: Schema = {"type": "string", "pattern": "^-?[0-9]{1,40}(\\.[0-9]{1,40})?$"}
    places: Schema = {"type": "integer", "minimum": 0, "maximum": MAX_PLACES}
    bounds: Schema = dict.fromkeys(("min", "max", "step"), decimal)
    decimals = _closed({"places": places, **bounds}, required=["places"])
    return {"anyOf": [moments, decimals]}


if __name__ == "__main__":
    PUBLISHED.write_text(published_text(), encoding="utf-8")
