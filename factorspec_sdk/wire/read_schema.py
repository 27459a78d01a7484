"""JSON Schema (the subset of draft 2020-12 that Pydantic v2 writes) to a tree of schema nodes.

Read here: references, unions with null, objects and lists; values are read in ``strings``, ``numbers`` and
``finite``. Differences from plain JSON Schema, all towards less: an object without
``additionalProperties`` is closed, as records are; a pattern must span the whole text.

* A schema under ``$defs`` is read once; its node is shared by all references to it.
* A reference to a schema that is being read (recursion without ``max_depth``, see ``recursion.py``), and a
  list without ``maxItems`` or with a huge one, become free nodes; ``free.py`` writes their schemas after the
  whole tree is known. A path into them is refused.
"""

from __future__ import annotations

from typing import Literal
from urllib.parse import unquote

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.relations import Relation
from factorspec_sdk.relations.objective import Goal
from factorspec_sdk.wire.bounded_strings import is_bounded, read_bounded
from factorspec_sdk.wire.finite import FALSE_TRUE, NULL_ONLY, nullable, read_listed, types_of
from factorspec_sdk.wire.keyword_relations import RELATIONAL, Related, structure_of
from factorspec_sdk.wire.keywords import ANNOTATIONS, VENDOR, Schema, refuse_others
from factorspec_sdk.wire.limits import Limits
from factorspec_sdk.wire.load import too_large
from factorspec_sdk.wire.numbers import read_integer, read_number
from factorspec_sdk.wire.open_values import OpenValues, is_open
from factorspec_sdk.wire.problems import Problems, pointer
from factorspec_sdk.wire.read_relations import read_goal, read_relation
from factorspec_sdk.wire.recursion import DEFINITIONS, Depths, Key
from factorspec_sdk.wire.schema import (
    ArrayNode,
    FiniteNode,
    FreeNode,
    NeverNode,
    ObjectNode,
    Property,
    SchemaNode,
)
from factorspec_sdk.wire.strings import length, read_string
from factorspec_sdk.wire.unions import ReadUnion, union_of
from factorspec_sdk.wire.vendor import object_vendor, ordered_names, vendor_of


class SchemaReader:
    """Reads one document.

    open_lists: free node's id -> (node, item, least, most) of a list that is written freely.
    recursive: free node's id -> (node, name of the definition) of a reference into itself.
    broken: id -> node that stands where problems were found, so that all others are found too.
    definitions: name -> node of every definition that was read, as it was met first.
    unions: all unions as they were read.
    related: id -> (node, schema, place) of records and lists with relational keywords.
    open_values: writes schemas of no single type.
    orders: objects with the writing order of their properties.
    objective: what the root optimises, level by level.
    """

    def __init__(self, document: Schema, limits: Limits, problems: Problems) -> None:
        self.open_lists: dict[int, tuple[FreeNode, SchemaNode, int, int | None]] = {}
        self.recursive: dict[int, tuple[FreeNode, str]] = {}
        self.broken: dict[int, FreeNode] = {}
        self.definitions: dict[str, SchemaNode] = {}
        self.unions: list[ReadUnion] = []
        self.related: Related = {}
        self.orders: list[tuple[Schema, list[str]]] = []
        self.objective: tuple[Goal, ...] = ()
        self._document = document
        self.open_values = OpenValues(document, problems)
        self._limits = limits
        self._problems = problems
        self._depths = Depths(document, problems)
        self._by_depth: dict[Key, SchemaNode] = {}
        self._nodes = 0
        self._relations = 0
        self._expressions = 0

    def read(self, schema: JsonValue, place: str, depth: int = 0) -> SchemaNode:
        """The node of a schema; a broken one if it has problems (noted)."""
        node = self._read(schema, place, depth)
        if node is None:
            node = FreeNode(place, {})
            self.broken[id(node)] = node
        return node

    def _read(self, schema: JsonValue, place: str, depth: int) -> SchemaNode | None:
        self._nodes += 1
        if self._nodes > self._limits.nodes or depth > self._limits.depth:
            too_large(place, "the schema is too large or nested too deep once its references are followed")
        if isinstance(schema, dict) and structure_of(schema) is not None:
            return self._typed(schema, place, depth)
        if place and is_open(schema):
            return self.open_values.node(schema, place)
        if not isinstance(schema, dict):
            self._problems.refuse(place, "a schema is an object with a type", schema)
            return None
        if "$ref" in schema:
            return self._reference(schema, place, depth)
        if "anyOf" in schema:
            return self._union(schema, "anyOf", place, depth)
        if "oneOf" in schema:
            return self._union(schema, "oneOf", place, depth)
        if "allOf" in schema:
            return self._all_of(schema, place, depth)
        if "enum" in schema or "const" in schema:
            return read_listed(schema, place, self._limits, self._problems)
        return self._typed(schema, place, depth)

    def _typed(self, schema: Schema, place: str, depth: int) -> SchemaNode | None:
        types = types_of(schema, place, self._problems)
        if types is None:
            return None
        if len(types) == 2 and "null" in types:
            (name,) = (name for name in types if name != "null")
            inner = self._of_type(name, schema, place, depth)
            return None if inner is None else nullable(inner, place, self._limits)
        if len(types) == 1:
            return self._of_type(types[0], schema, place, depth)
        if types:
            self._problems.refuse(pointer(place, "type"), "several types are not enforced", list(types))
            return None
        refuse_others(schema, schema.keys() & _TYPED, "it", place, self._problems)
        guess = next((name for key, name in _TYPED.items() if key in schema), None)
        hint = "write which type it has" if guess is None else f'write "type": "{guess}"'
        self._problems.refuse(place, "a schema without a type admits any value", schema, hint)
        return None

    def _of_type(self, name: str, schema: Schema, place: str, depth: int) -> SchemaNode | None:
        match name:
            case "object" | "array":
                read = self._object if name == "object" else self._list
                node = read(schema, place, depth)
                if isinstance(node, ObjectNode | ArrayNode) and structure_of(schema) is not None:
                    self.related[id(node)] = (node, schema, place)
                return node
            case _:
                return self._scalar(name, schema, place)

    def _scalar(self, name: str, schema: Schema, place: str) -> SchemaNode | None:
        """A scalar; as an open value where that enforces what the record's own parts cannot."""
        trial = Problems(self._limits)
        node = _read_scalar(name, schema, place, self._limits, trial)
        if not len(trial) and node is not None:
            return node
        ours = name == "string" and is_bounded(schema)
        opened = None if VENDOR in schema or ours else self.open_values.trial(schema, place)
        return opened or _read_scalar(name, schema, place, self._limits, self._problems)

    def target(self, node: FreeNode) -> SchemaNode | None:
        """What a reference into a recursion refers to; None for other free parts."""
        entry = self.recursive.get(id(node))
        return None if entry is None else self.definitions.get(entry[1])

    # -- references and unions -------------------------------------------------------------------------

    def _reference(self, schema: Schema, place: str, depth: int) -> SchemaNode | None:
        self._only_annotations(schema, "$ref", place)
        reference = schema["$ref"]
        below = pointer(place, "$ref")
        if not isinstance(reference, str):
            self._problems.add(below, "a reference is a text", reference)
            return None
        found = self._definition(reference, below)
        if found is None:
            return None
        name, target = found
        if self._depths.is_read(name):
            return self._back(name, place)
        key = self._depths.key(name)
        if key not in self._by_depth:
            self._depths.enter(name)
            self._by_depth[key] = self.read(target, name, depth + 1)
            self._depths.leave()
            self.definitions.setdefault(name, self._by_depth[key])
        return self._by_depth[key]

    def _back(self, name: str, place: str) -> SchemaNode:
        """A reference back into a definition that is being read."""
        if self._depths.most is not None:
            return NeverNode(place)
        free = FreeNode(place, {})
        self.recursive[id(free)] = (free, name)
        return free

    def _definition(self, reference: str, place: str) -> tuple[str, JsonValue] | None:
        parts = [unquote(p).replace("~1", "/").replace("~0", "~") for p in reference.split("/")]
        if len(parts) != 3 or parts[0] != "#" or parts[1] not in DEFINITIONS:
            self._problems.refuse(place, "references go to '#/$defs/name' only", reference)
            return None
        definitions = self._document.get(parts[1])
        if not isinstance(definitions, dict) or parts[2] not in definitions:
            known = definitions if isinstance(definitions, dict) else {}
            self._problems.add(
                place, "the reference leads nowhere", reference, self._problems.did_you_mean(parts[2], known)
            )
            return None
        return pointer("", parts[1], parts[2]), definitions[parts[2]]

    def _only_annotations(self, schema: Schema, key: str, place: str) -> None:
        """Beside a reference or a union stand annotations only (and, at the root, the version)."""
        allowed = {key}
        if not place and VENDOR in schema:
            allowed.add(VENDOR)
            vendor_of(schema, place, frozenset(), self._problems)
        refuse_others(
            schema, allowed, f"a schema with {key}; move it into the schema there", place, self._problems
        )

    def _union(
        self, schema: Schema, key: Literal["anyOf", "oneOf"], place: str, depth: int
    ) -> SchemaNode | None:
        branches = schema[key]
        below = pointer(place, key)
        if not isinstance(branches, list) or not branches:
            self._problems.add(below, f"{key} is a list of schemas", branches)
            return None
        outside = {k: v for k, v in schema.items() if k not in (key, VENDOR, "discriminator")}
        self._only_annotations({**outside, key: branches}, key, place)
        if VENDOR in schema:
            branches = self._with_vendor(schema, branches, place)
        nodes = tuple(self.read(branch, f"{below}/{at}", depth + 1) for at, branch in enumerate(branches))
        if any(id(node) in self.broken for node in nodes):
            return None
        if all(isinstance(node, NeverNode) for node in nodes):
            return NeverNode(place)
        exclusive = key == "oneOf"
        node = union_of(nodes, place, exclusive=exclusive, limits=self._limits, problems=self._problems)
        if node is not None:
            self.unions.append(ReadUnion(node, nodes, schema, key, place))
        return node

    def _with_vendor(self, schema: Schema, branches: list[JsonValue], place: str) -> list[JsonValue]:
        """The branches, the one that is not null with the domain that stands beside ``anyOf``."""
        vendor = vendor_of(schema, place, frozenset({"domain"}), self._problems)
        if not vendor:
            return branches
        others = [branch for branch in branches if not _is_null(branch)]
        only = others[0] if len(others) == 1 else None
        if not isinstance(only, dict) or VENDOR in only or "$ref" in only:
            self._problems.add(pointer(place, VENDOR), "write the domain into the schema that is not null")
            return branches
        return [{**only, VENDOR: vendor} if branch is only else branch for branch in branches]

    def _all_of(self, schema: Schema, place: str, depth: int) -> SchemaNode | None:
        branches = schema["allOf"]
        self._only_annotations(schema, "allOf", place)
        if not isinstance(branches, list) or len(branches) != 1:
            hint = "write the schema itself"
            self._problems.refuse(
                pointer(place, "allOf"), "allOf is enforced only around a single schema", hint=hint
            )
            return None
        return self.read(branches[0], pointer(place, "allOf", 0), depth + 1)

    # -- objects and lists -----------------------------------------------------------------------------

    def _object(self, schema: Schema, place: str, depth: int) -> SchemaNode | None:
        known = {"type", "properties", "required", "additionalProperties", VENDOR}
        if structure_of(schema) is not None:
            known |= RELATIONAL
        refuse_others(schema, known, "objects", place, self._problems)
        vendor = object_vendor(schema, place, self._problems)
        if schema.get("additionalProperties", False) is not False:
            self._problems.refuse(
                pointer(place, "additionalProperties"),
                "records are closed: free keys cannot be enforced",
                schema["additionalProperties"],
                "write false, or a list of objects with a key and a value",
            )
        properties = schema.get("properties", {})
        if not isinstance(properties, dict):
            self._problems.add(pointer(place, "properties"), "properties is an object of schemas", properties)
            return None
        required = self._required(schema, properties, place)
        names = ordered_names(list(properties), vendor.order, place, self._problems)
        self.orders.append((schema, names))
        below = pointer(place, "properties")
        found = [
            Property(name, self.read(properties[name], pointer(below, name), depth + 1), name in required)
            for name in names
        ]
        if any(known.required and isinstance(known.node, NeverNode) for known in found):
            return NeverNode(place)
        relations, pointers = self._read_relations(vendor.relations, pointer(place, VENDOR, "relations"))
        if not place:
            self.objective = self._read_objective(vendor.objective, pointer(place, VENDOR, "objective"))
        return ObjectNode(place, tuple(found), relations, vendor.tables, pointers)

    def _required(self, schema: Schema, properties: Schema, place: str) -> set[str]:
        value = schema.get("required", [])
        place = pointer(place, "required")
        if not isinstance(value, list):
            self._problems.add(place, "required is a list of names", value)
            return set()
        for at, name in enumerate(value):
            if not isinstance(name, str) or name not in properties:
                hint = self._problems.did_you_mean(name, properties) if isinstance(name, str) else None
                self._problems.add(
                    f"{place}/{at}", "required names a property that is not declared", name, hint
                )
        return {name for name in value if isinstance(name, str)}

    def _read_relations(
        self, raw: list[JsonValue], place: str
    ) -> tuple[tuple[Relation, ...], tuple[str, ...]]:
        self._relations += len(raw)
        if self._relations > self._limits.relations:
            too_large(place, f"more than {self._limits.relations} relations")
        self._count_expressions(raw, place)
        relations: list[Relation] = []
        pointers: list[str] = []
        names: dict[str, int] = {}
        for at, value in enumerate(raw):
            below = f"{place}/{at}"
            relation = read_relation(value, below, self._problems)
            if relation is None:
                continue
            if relation.name in names:
                message = f"relation {names[relation.name]} of this object has the same name"
                self._problems.add(pointer(below, "name"), message, relation.name)
            names.setdefault(relation.name, at)
            relations.append(relation)
            pointers.append(below)
        return tuple(relations), tuple(pointers)

    def _count_expressions(self, raw: list[JsonValue], place: str) -> None:
        self._expressions += sum(map(_count_objects, raw))
        if self._expressions > self._limits.expression_nodes:
            too_large(place, f"more than {self._limits.expression_nodes} nodes of expressions")

    def _read_objective(self, raw: list[JsonValue], place: str) -> tuple[Goal, ...]:
        if len(raw) > self._limits.goals:
            too_large(place, f"more than {self._limits.goals} levels")
        self._count_expressions(raw, place)
        found = [read_goal(value, f"{place}/{at}", self._problems) for at, value in enumerate(raw)]
        return tuple(goal for goal in found if goal is not None)

    def _list(self, schema: Schema, place: str, depth: int) -> SchemaNode | None:
        known = {"type", "items", "minItems", "maxItems"}
        if structure_of(schema) is not None:
            known |= RELATIONAL
        refuse_others(schema, known, "lists", place, self._problems)
        least = length(schema, "minItems", place, self._limits.list_items, self._problems)
        most = length(schema, "maxItems", place, self._limits.free_list_items, self._problems)
        if "items" not in schema:
            self._problems.refuse(place, "a list without 'items' admits any values", hint="write 'items'")
            return None
        item = self.read(schema["items"], pointer(place, "items"), depth + 1)
        if most is not None and (least or 0) > most:
            self._problems.empty(place, f"minItems {least} is above maxItems {most}")
            return None
        if "maxItems" in schema and most is None:
            return None
        if isinstance(item, NeverNode):
            return NeverNode(place) if least else ArrayNode(place, item, 0, 0)
        if most is not None and most <= self._limits.list_items:
            return ArrayNode(place, item, least or 0, most)
        free = FreeNode(place, {"type": "array"})
        self.open_lists[id(free)] = (free, item, least or 0, most)
        return free


def _read_scalar(
    name: str, schema: Schema, place: str, limits: Limits, problems: Problems
) -> SchemaNode | None:
    match name:
        case "string" if is_bounded(schema):
            return read_bounded(schema, place, limits, problems)
        case "string":
            return read_string(schema, place, limits, problems)
        case "integer":
            return read_integer(schema, place, problems)
        case "number":
            return read_number(schema, place, problems)
        case _:
            refuse_others(schema, {"type"}, f"type {name}", place, problems)
            return FiniteNode(place, FALSE_TRUE if name == "boolean" else NULL_ONLY)


def _count_objects(value: JsonValue) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_count_objects, value.values()))
    return sum(map(_count_objects, value)) if isinstance(value, list) else 0


def _is_null(schema: JsonValue) -> bool:
    return (
        isinstance(schema, dict) and schema.get("type") == "null" and schema.keys() - ANNOTATIONS == {"type"}
    )


_TYPED = {
    "properties": "object", "required": "object", "additionalProperties": "object", "items": "array",
    "minItems": "array", "maxItems": "array", "minLength": "string", "maxLength": "string",
    "pattern": "string", "format": "string", "minimum": "integer", "maximum": "integer",
    "exclusiveMinimum": "integer", "exclusiveMaximum": "integer", "multipleOf": "integer", VENDOR: "object",
}  # fmt: skip
