"""From relation models to JSON: the inverse of ``read_relations``."""

from __future__ import annotations

from pydantic import BaseModel

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.relations import Relation
from factorspec_sdk.relations.expressions import Expr

_ALWAYS = frozenset({"kind", "op"})


def relation_json(relation: Relation) -> dict[str, JsonValue]:
    """The JSON of a relation, as a document holds it.

    ``kind`` and every ``op`` are always there; other fields only where they differ from their default.
    """
    return _json(relation)


def expression_json(expr: Expr) -> dict[str, JsonValue]:
    """The JSON of an expression."""
    return _json(expr)


def _json(model: BaseModel) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if name in _ALWAYS or field.is_required() or value != field.default:
            found[field.alias or name] = _member(value)
    return found


def _member(value: object) -> JsonValue:
    if isinstance(value, BaseModel):
        return _json(value)
    if isinstance(value, tuple):
        return [_member(item) for item in value]
    assert value is None or isinstance(value, bool | int | str)
    return value
