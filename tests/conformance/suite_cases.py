"""Groups of JSON-Schema-Test-Suite as documents and canonical texts."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from factorspec_sdk.fields.text import json_text

Json = Any
_MOST_ORDERS = 720
_OWN_DIALECT = "http://localhost:"
#: keywords whose members are schemas by name, schemas in a list, one schema
_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_LISTED = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SINGLE = frozenset(
    {
        "items", "contains", "additionalProperties", "propertyNames", "if", "then", "else", "not",
        "unevaluatedItems", "unevaluatedProperties", "contentSchema",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One instance of a group: the texts of the record, one for each order of its keys."""

    description: str
    valid: bool
    data: Json

    def texts(self) -> Iterator[str]:
        """Texts of the record ``{"v": data}``, each order of the keys of its objects once."""
        return itertools.islice((f'{{"v": {text}}}' for text in _texts(self.data)), _MOST_ORDERS)


@dataclass(frozen=True)
class Group:
    """One schema of the suite: ``name`` is "file: description"; ``cases`` have a canonical form."""

    name: str
    keyword: str
    document: dict[str, Json]
    cases: tuple[Case, ...]


def read_groups(folder: Path) -> list[Group]:
    """All groups of a draft's folder, the optional ones too, in the order of files and groups."""
    files = sorted(folder.glob("*.json")) + sorted(folder.glob("optional/**/*.json"))
    found = []
    for file in files:
        keyword = str(file.relative_to(folder).with_suffix(""))
        for raw in json.loads(file.read_text(encoding="utf-8")):
            if not _dialect(raw["schema"]).startswith(_OWN_DIALECT):
                found.append(_group(raw, keyword))
    return found


def _group(raw: Json, keyword: str) -> Group:
    schema = raw["schema"]
    cases = [Case(test["description"], _is_valid(test), test["data"]) for test in raw["tests"]]
    kept = tuple(case for case in cases if has_canonical_form(case, schema))
    return Group(f"{keyword}: {raw['description']}", keyword, wrapped(schema), kept)


def wrapped(schema: Json) -> dict[str, Json]:
    """The document of records with the one property ``v``; references within the schema still lead there."""
    document: dict[str, Json] = {}
    if isinstance(schema, dict) and "$schema" in schema:
        document["$schema"] = schema["$schema"]
        schema = {key: value for key, value in schema.items() if key != "$schema"}
    schema = _moved(schema)
    return document | {
        "type": "object",
        "properties": {"v": schema},
        "required": ["v"],
        "additionalProperties": False,
    }


def _moved(schema: Json) -> Json:
    """The schema with its local references led to where it stands now."""
    if not isinstance(schema, dict) or "$id" in schema:  # a resource of its own: its references stay right
        return schema
    found: dict[str, Json] = {}
    for key, value in schema.items():
        if key in ("$ref", "$dynamicRef") and isinstance(value, str):
            at_pointer = value == "#" or value.startswith("#/")
            found[key] = f"#/properties/v{value[1:]}" if at_pointer else value
        elif key in _BY_NAME and isinstance(value, dict):
            found[key] = {name: _moved(member) for name, member in value.items()}
        elif key in _LISTED and isinstance(value, list):
            found[key] = [_moved(member) for member in value]
        else:
            found[key] = _moved(value) if key in _SINGLE else value
    return found


def _dialect(schema: Json) -> str:
    return str(schema.get("$schema", "")) if isinstance(schema, dict) else ""


def _is_valid(test: Json) -> bool:
    """What the suite says, but for texts of a wrong format."""
    return test["valid"] and "only an annotation" not in test["description"]


def has_canonical_form(case: Case, schema: Json) -> bool:
    """False for what the module ``json_schema_suite`` says has none."""
    if any(_needs_exponent(value) for value in _scalars(case.data)):
        return False
    return not (case.valid and _has_unlisted(case.data, schema))


def _scalars(value: Json) -> Iterator[Json]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _scalars(item)
    else:
        yield value


def _needs_exponent(value: Json) -> bool:
    if isinstance(value, float):
        return "e" in repr(value)
    return isinstance(value, int) and abs(value) >= 2**63


def _has_unlisted(value: Json, schema: Json) -> bool:
    """A key that a record (``type`` is object, and nothing is said of other keys) does not list."""
    if not isinstance(value, dict) or not isinstance(schema, dict) or schema.get("type") != "object":
        return False
    if schema.keys() & {"additionalProperties", "patternProperties", "unevaluatedProperties"}:
        return False
    return not value.keys() <= schema.get("properties", {}).keys()


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for order in itertools.permutations(value):
            for parts in itertools.product(*(list(_texts(value[key])) for key in order)):
                members = (f"{json_text(key)}: {part}" for key, part in zip(order, parts, strict=True))
                yield "{" + ", ".join(members) + "}"
    elif isinstance(value, list):
        for parts in itertools.product(*(list(_texts(item)) for item in value)):
            yield "[" + ", ".join(parts) + "]"
    elif isinstance(value, float) and value.is_integer():
        yield json_text(int(value))
    else:
        yield json_text(value)
