"""Parts that relations do not see, as Pydantic's own JSON Schema writes them."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, TypeAdapter

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.records.shapes import keys_of

Schema = dict[str, JsonValue]

_STRUCTURE = {"type", "anyOf", "items", "$ref", "enum", "const", "description"}


class FreeParts:
    """Free parts of one model; their definitions go among the document's, under names of their own."""

    def __init__(self, model: type[BaseModel], definitions: dict[str, JsonValue], taken: set[str]) -> None:
        self._model = model
        self._definitions = definitions
        self._taken = taken
        self._schema: Schema | None = None

    def property(self, key: str) -> Schema:
        """The schema of the field with this key."""
        if self._schema is None:
            self._schema = self._model.model_json_schema(by_alias=True, mode="validation")
        properties = _itself(self._schema)["properties"]
        assert isinstance(properties, dict)
        found = properties[key]
        assert isinstance(found, dict)
        extra = self._extra(key)
        schema = {name: value for name, value in found.items() if name not in extra}
        return self._with_definitions(schema, key, self._schema)

    def branch(self, annotation: Any, key: str) -> Schema:
        """The schema of one branch of a union in the field with this key."""
        found: Schema = TypeAdapter[Any](annotation).json_schema(by_alias=True, mode="validation")
        schema = {name: value for name, value in found.items() if name not in ("title", "$defs")}
        return self._with_definitions(schema, key, found)

    def _extra(self, key: str) -> set[str]:
        """Keywords that restrict nothing: Pydantic does not validate by ``json_schema_extra``."""
        for name, known in keys_of(self._model).items():
            extra = self._model.model_fields[name].json_schema_extra
            if known == key and isinstance(extra, dict):
                return {"title", "default", *extra} - _STRUCTURE
        return {"title", "default"}

    def _with_definitions(self, schema: Schema, key: str, whole: Schema) -> Schema:
        available = whole.get("$defs", {})
        assert isinstance(available, dict)
        waiting = _references(schema)
        renamed: dict[str, str] = {}
        while waiting:
            name = waiting.pop()
            if name in renamed:
                continue
            renamed[name] = f"{self._model.__name__}.{key}.{name}"
            waiting |= _references(available[name])
        for name, new in renamed.items():
            self._definitions[new] = _renamed(available[name], renamed)
        result = _renamed(schema, renamed)
        assert isinstance(result, dict)
        return result


def _itself(schema: Schema) -> Schema:
    """The schema of a model: of a recursive one a definition, which Pydantic refers to."""
    reference, definitions = schema.get("$ref"), schema.get("$defs")
    if not isinstance(reference, str):
        return schema
    assert isinstance(definitions, dict)
    found = definitions[reference.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")]
    assert isinstance(found, dict)
    return found


def _references(value: JsonValue) -> set[str]:
    if isinstance(value, list):
        return {name for part in value for name in _references(part)}
    if not isinstance(value, dict):
        return set()
    found = {name for part in value.values() for name in _references(part)}
    reference = value.get("$ref")
    if isinstance(reference, str):
        found.add(reference.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~"))
    return found


def _renamed(value: JsonValue, names: dict[str, str]) -> JsonValue:
    if isinstance(value, list):
        return [_renamed(part, names) for part in value]
    if not isinstance(value, dict):
        return value
    result = {key: _renamed(part, names) for key, part in value.items()}
    reference = value.get("$ref")
    if isinstance(reference, str):
        name = reference.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
        result["$ref"] = "#/$defs/" + json.dumps(names[name])[1:-1].replace("~", "~0").replace("/", "~1")
    return result
