"""Random unions and recursions (part of ``generate.py``), and what relations can refer to."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

Json = dict[str, Any]


@dataclass
class Leaf:
    """A scalar field: path from the root (with [*] or indices), type, whether it may be null, values."""

    path: str
    type: str
    values: list[Any]


@dataclass
class Shape:
    """A generated schema, what relations can refer to, and how many records it can write."""

    schema: Json = field(default_factory=dict)
    leaves: list[Leaf] = field(default_factory=list)
    lists: list[tuple[str, list[Leaf], int, int]] = field(default_factory=list)
    size: int = 1


def _is_below(path: str, above: str) -> bool:
    return path == above or path.startswith((f"{above}.", f"{above}["))


class Structures:
    """The methods of ``Generator`` for these schemas."""

    if TYPE_CHECKING:
        rng: random.Random
        definitions: Json
        max_depth: int

        def _object(self, shape: Shape, path: str, depth: int, count: int) -> Json: ...

    def _union(self, shape: Shape, path: str, depth: int) -> Json:
        """Objects with a tag of their own, of which some share the names of fields; and sometimes null."""
        made: list[Json] = []
        shapes: list[Shape] = []
        tags = [f"k{number}" for number in range(self.rng.choice([2, 2, 3]))]
        for tag in tags:
            shapes.append(Shape())
            branch = self._object(shapes[-1], path, depth + 1, self.rng.randint(0, 2))
            named = {"kind": {"const": tag}}
            last = self.rng.random() < 0.3
            branch["properties"] = (
                {**branch["properties"], **named} if last else {**named, **branch["properties"]}
            )
            branch["required"].append("kind")
            made.append(branch)
        size = sum(inner.size for inner in shapes)
        if self.rng.random() < 0.3:
            made.append({"type": "null"})
            size += 1
        shape.size *= size
        shape.leaves.append(Leaf(f"{path}.kind", "text", tags))
        self._share(shape, shapes, [branch["properties"] for branch in made if "properties" in branch], path)
        return {self.rng.choice(["oneOf", "anyOf"]): made}

    def _share(self, shape: Shape, shapes: list[Shape], properties: list[Json], path: str) -> None:
        """What relations can refer to: fields of one branch, and scalars of one type that several have."""
        for name in dict.fromkeys(name for fields in properties for name in fields):
            at = [number for number, fields in enumerate(properties) if name in fields]
            below = [
                [leaf for leaf in shapes[n].leaves if _is_below(leaf.path, f"{path}.{name}")] for n in at
            ]
            if len(at) == 1:
                shape.leaves += below[0]
                lists = shapes[at[0]].lists
                shape.lists += [found for found in lists if _is_below(found[0], f"{path}.{name}")]
            elif all(len(found) == 1 and found[0].path == f"{path}.{name}" for found in below):
                scalars = [found[0] for found in below]
                if len({leaf.type for leaf in scalars}) == 1:
                    values = list(dict.fromkeys(value for leaf in scalars for value in leaf.values))
                    shape.leaves.append(Leaf(scalars[0].path, scalars[0].type, values))

    def _recursion(self, shape: Shape, path: str) -> Json:
        """A chain or a tree of small numbers, up to three deep; relations look one level in."""
        self.max_depth = self.rng.randint(1, 3)
        below: Json = {"$ref": "#/$defs/Tree"}
        values, most = self.rng.randint(1, 3), self.rng.randint(1, 2)
        value = {"type": "integer", "minimum": 1, "maximum": values}
        form = self.rng.choice(["null", "list", "optional", "union"])
        forms: dict[str, Json] = {
            "null": {"anyOf": [below, {"type": "null"}]},
            "list": {"type": "array", "items": below, "maxItems": most},
            "optional": below,
            "union": {"anyOf": [{"enum": ["end"]}, below]},
        }
        self.definitions["Tree"] = {
            "type": "object",
            "properties": {"v": value, "next": forms[form]},
            "required": ["v"] if form == "optional" else ["v", "next"],
            "additionalProperties": False,
        }
        size = 1
        for _ in range(self.max_depth):
            size = values * (sum(size**k for k in range(most + 1)) if form == "list" else 1 + size)
        shape.size *= size
        numbers = list(range(1, values + 1))
        paths = ["v", "next[*].v", "next[0].v"] if form == "list" else ["v", "next.v", "next.next.v"]
        shape.leaves += [Leaf(f"{path}.{inner}", "int", numbers) for inner in paths]
        if form == "list":
            shape.lists.append((f"{path}.next", [Leaf("@.v", "int", numbers)], 0, most))
        return below
