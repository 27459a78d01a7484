"""The resolved schema: what a document's JSON Schema says, as a small closed tree.

``$ref`` is resolved, keywords are read and checked. Each node keeps the JSON pointer it came from
(for errors). Built by ``wire/read_schema.py``; unrolled into slots by ``graph/layout.py``::

    ObjectNode     properties in writing order, with the relations and tables that it holds
    ArrayNode      bounded list of one item type
    FiniteNode     a finite domain (enum, const, boolean, bounded integer, date, time; null included)
    TextNode       a free string; quotes are ours, the inside is the model's
    FreeNode       any JSON value by a schema, delegated to the grammar library
    NullableNode   null or the inner node (used where the inner node has no finite domain)
    UnionNode      one of several branches
    NeverNode      no value: where a recursion ends (``max_depth``)
"""

from __future__ import annotations

from dataclasses import dataclass

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.fields.domains import Domain, Scalar
from factorspec_sdk.relations import Relation

Row = tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Property:
    """One key of an object. ``required`` False: the key may be absent (raw JSON Schema only)."""

    name: str
    node: SchemaNode
    required: bool


@dataclass(frozen=True, slots=True)
class ObjectNode:
    """An object with exactly these properties, written in this order."""

    pointer: str
    properties: tuple[Property, ...]
    relations: tuple[Relation, ...]
    tables: dict[str, tuple[Row, ...]]
    relation_pointers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ArrayNode:
    """A list of ``min_items`` to ``max_items`` items."""

    pointer: str
    item: SchemaNode
    min_items: int
    max_items: int


@dataclass(frozen=True, slots=True)
class FiniteNode:
    """A scalar with a finite domain."""

    pointer: str
    domain: Domain


@dataclass(frozen=True, slots=True)
class TextNode:
    """A free string of ``min_length`` to ``max_length`` characters (None: no bound).

    ``schema`` is the JSON Schema of the string where ``pattern`` or ``format`` restrict it further, to be
    enforced by the grammar library if it has no bounds; None for plain text. ``measured``: a relation reads
    its length (then it has a ``max_length`` and no ``schema``).
    """

    pointer: str
    min_length: int
    max_length: int | None
    schema: dict[str, JsonValue] | None
    measured: bool = False


@dataclass(frozen=True, slots=True)
class FreeNode:
    """A value that no relation touches, delegated to the grammar library.

    schema: its JSON Schema; self-contained (``$ref`` targets under its own ``$defs``) if there is no grammar.
    grammar: what the library gets instead of the schema, if it is not None: EBNF (``languages/grammar.py``).
    """

    pointer: str
    schema: dict[str, JsonValue]
    grammar: str | None = None


@dataclass(frozen=True, slots=True)
class NullableNode:
    """``null`` (branch 0) or the inner node (branch 1)."""

    pointer: str
    inner: SchemaNode


@dataclass(frozen=True, slots=True)
class UnionNode:
    """One of two or more branches.

    No JSON value fits two of them, or no relation stands in a branch and no path leads through the
    union, so that it does not matter which branch a value takes.
    """

    pointer: str
    branches: tuple[SchemaNode, ...]


@dataclass(frozen=True, slots=True)
class NeverNode:
    """No value. It stands only where something else, or nothing, may stand too: inside a ``NullableNode``
    (null is left), among branches, as the item of a list of no items, as a property that may be absent.
    """

    pointer: str


SchemaNode = ObjectNode | ArrayNode | FiniteNode | TextNode | FreeNode | NullableNode | UnionNode | NeverNode


def children(node: SchemaNode) -> tuple[SchemaNode, ...]:
    """The nodes directly below a node."""
    match node:
        case ObjectNode():
            return tuple(known.node for known in node.properties)
        case ArrayNode():
            return (node.item,)
        case NullableNode():
            return (node.inner,)
        case UnionNode():
            return node.branches
        case _:
            return ()
