"""A JSON record against a spec: verdicts on every object, and values of the objective, by meaning."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from factorspec_sdk.fields.decimals import is_decimal, read_decimal
from factorspec_sdk.fields.domains import Scalar
from factorspec_sdk.fields.paths import below
from factorspec_sdk.relations.checking import Verdict, check_relations
from factorspec_sdk.relations.view import Quantity, View
from factorspec_sdk.wire.fits import taken_branch
from factorspec_sdk.wire.schema import ArrayNode, FiniteNode, NullableNode, ObjectNode, SchemaNode, UnionNode
from factorspec_sdk.wire.spec import Spec


def check_spec(spec: Spec, record: object) -> list[Verdict]:
    """Verdicts of all relations of a spec on a JSON record, outer objects first.

    The record is expected to fit the schema (``wire/validate.py``); parts that do not are skipped.
    """
    return list(_verdicts(spec.root, record, "", {}))


def objective_values(spec: Spec, record: object) -> list[Quantity]:
    """What each level of the objective comes to on a JSON record."""
    view = View(_typed(spec.root, record), spec.root.tables) if spec.objective else None
    return [goal.quantity(view) for goal in spec.objective] if view is not None else []


def _verdicts(
    node: SchemaNode, value: object, path: str, tables: dict[str, Sequence[Sequence[Scalar]]]
) -> Iterator[Verdict]:
    if isinstance(node, NullableNode | UnionNode):
        taken = _taken(node, value)
        if taken is not None:
            yield from _verdicts(taken, value, path, tables)
    elif isinstance(node, ArrayNode) and isinstance(value, list):
        for at, item in enumerate(value):
            yield from _verdicts(node.item, item, f"{path}[{at}]", tables)
    elif isinstance(node, ObjectNode) and isinstance(value, Mapping):
        tables = {**tables, **node.tables}
        if node.relations:
            yield from check_relations(node.relations, View(_typed(node, value), tables, path))
        for prop in node.properties:
            if prop.name in value:
                here = below(path, prop.name)
                yield from _verdicts(prop.node, value[prop.name], here, tables)


def _taken(node: NullableNode | UnionNode, value: object) -> SchemaNode | None:
    """The node that a value is to be read by; None for null, and for what fits nowhere."""
    if isinstance(node, UnionNode):
        return taken_branch(node, value)
    return None if value is None else node.inner


def _typed(node: SchemaNode, value: object) -> object:
    """The record with the texts of dates, times and decimals as Python values."""
    match node:
        case NullableNode() | UnionNode():
            taken = _taken(node, value)
            return value if taken is None else _typed(taken, value)
        case ArrayNode():
            return [_typed(node.item, item) for item in value] if isinstance(value, list) else value
        case ObjectNode() if isinstance(value, Mapping):
            kinds = {prop.name: prop.node for prop in node.properties}
            return {name: _typed(kinds[name], v) if name in kinds else v for name, v in value.items()}
        case FiniteNode():
            return _decimal(value) if is_decimal(node.domain.code_type) else _moment(node, value)
        case _:
            return value


def _decimal(value: object) -> object:
    if isinstance(value, str):
        return value if read_decimal(value) is None else Decimal(value)
    return Decimal(repr(value)) if isinstance(value, float) else value


def _moment(node: FiniteNode, text: object) -> object:
    kind = node.domain.code_type
    if not isinstance(text, str):
        return text
    try:
        if kind == "date":
            return datetime.date.fromisoformat(text)
        if kind == "datetime" or kind == "instant":
            return datetime.datetime.fromisoformat(text)
        return datetime.time.fromisoformat(text) if kind == "time" else text
    except ValueError:
        return text
