"""What people give as a schema, as a record that the SDK asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, get_origin

from langchain_core.utils.function_calling import convert_to_json_schema
from pydantic import BaseModel, JsonValue, RootModel, create_model
from pydantic.v1 import BaseModel as OldModel

from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import DeclarationError, Problem, shown
from factorspec_sdk.records import spec as spec_of
from factorspec_sdk.wire import Spec, parse_document


class JsonRecord(RootModel[dict[str, JsonValue]]):
    """A record that was declared as JSON Schema: its value is a dictionary."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A record to ask for.

    Attributes:
        model: a Pydantic class; for a schema of another kind one made for it, whose name is the schema's.
        spec: of the record.
        given: what LangChain's traces show as the schema.
    """

    model: type[BaseModel]
    spec: Spec
    given: dict[str, Any] | type

    @classmethod
    def of(cls, schema: dict[str, Any] | type) -> Wanted:
        """Raises DeclarationError for what is no schema, DocumentError for what cannot be enforced."""
        if isinstance(schema, type) and issubclass(schema, BaseModel):
            return cls(schema, spec_of(schema), schema)
        document = _document(schema)
        model = create_model(str(document.get("title", "record")), __base__=JsonRecord)
        return cls(model, parse_document(document), schema)

    @property
    def is_plain(self) -> bool:
        """Whether records are dictionaries."""
        return issubclass(self.model, JsonRecord)

    def value_of(self, record: BaseModel) -> object:
        """What the caller gets."""
        if not isinstance(record, JsonRecord):
            return record
        old = _old_model(self.given)
        return record.root if old is None else old.parse_obj(record.root)

    def partial_of(self, data: dict[str, Any]) -> object:
        """The committed fields of such a dictionary, as the caller gets them."""
        old = _old_model(self.given)
        return data if old is None else old.construct(set(data), **data)


def _old_model(given: object) -> type[OldModel] | None:
    """A model of Pydantic's first version; it has no relations, but LangChain takes it still."""
    return given if isinstance(given, type) and issubclass(given, OldModel) else None


def response_format_of(schema: dict[str, Any] | type) -> JsonObject:
    """A request's ``response_format`` for a schema, or the one that was given. Raises as ``Wanted.of``."""
    if isinstance(schema, dict) and schema.get("type") in ("json_schema", "text", "json_object"):
        return cast(JsonObject, schema)
    wanted = Wanted.of(schema)
    entry: JsonObject = {"name": wanted.model.__name__, "strict": True, "schema": wanted.spec.document}
    return {"type": "json_schema", "json_schema": entry}


def _document(schema: dict[str, Any] | type) -> JsonObject:
    """A JSON Schema as it stands; of a class or function what LangChain makes of it, with no other keys."""
    if not isinstance(schema, dict):
        return _converted(schema)
    inner: dict[str, Any] = schema.get("json_schema") or schema.get("function") or schema
    for key in ("schema", "parameters"):
        if isinstance(inner.get(key), Mapping):
            return {"title": inner.get("name", "record"), **inner[key]}
    return cast(JsonObject, schema)


def _converted(schema: object) -> JsonObject:
    try:
        # list[int] can be called, and has a signature from Python 3.14 on: LangChain takes it for a function
        if getattr(get_origin(schema), "__module__", "") == "builtins":
            raise TypeError("a list of something is no record")
        return convert_to_json_schema(cast(Any, schema), strict=True)
    except (TypeError, ValueError) as error:
        hint = "give a Pydantic model, a TypedDict or a JSON Schema"
        problem = Problem("schema", "declares no record", shown(schema), hint)
        raise DeclarationError("the record cannot be asked for like this", [problem]) from error
