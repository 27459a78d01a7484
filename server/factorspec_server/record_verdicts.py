"""Every relation of a spec, judged on one record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from factorspec_sdk.relations.checking import Verdict, check_relation
from factorspec_sdk.relations.view import Tables, View
from factorspec_sdk.wire import Spec
from factorspec_sdk.wire.schema import ArrayNode, NullableNode, ObjectNode, SchemaNode


def verdicts(spec: Spec, record: object) -> list[Verdict]:
    """A verdict for each relation on each object that holds it, in writing order.

    Args:
        spec: what was asked.
        record: JSON value; parts that do not have the schema's shape are passed over.
    """
    return list(_of_node(spec.root, record, "", {}))


def _of_node(node: SchemaNode, value: object, path: str, tables: Tables) -> Iterator[Verdict]:
    match node:
        case ObjectNode() if isinstance(value, Mapping):
            yield from _of_object(node, value, path, tables)
        case ArrayNode() if isinstance(value, Sequence) and not isinstance(value, str):
            for index, item in enumerate(value):
                yield from _of_node(node.item, item, f"{path}[{index}]", tables)
        case NullableNode() if value is not None:
            yield from _of_node(node.inner, value, path, tables)
        case _:
            return


def _of_object(node: ObjectNode, value: Mapping[str, object], path: str, tables: Tables) -> Iterator[Verdict]:
    known = {**tables, **node.tables}
    view = View(value, known, path)
    for relation in node.relations:
        yield check_relation(relation, view)
    for part in node.properties:
        if part.name in value:
            inner = View(value, known, path).shown(f"$['{_quoted(part.name)}']")
            yield from _of_node(part.node, value[part.name], inner, known)


def _quoted(name: str) -> str:
    return name.replace("\\", "\\\\").replace("'", "\\'")
