"""Random small documents over all relation kinds and pairs of kinds, for comparison with brute force.

``document(seed)`` is deterministic. Domains are small on purpose: the number of candidate records is
bounded, so that the reference can enumerate them.
"""

from __future__ import annotations

import random
from typing import Any

from tests.differential.generate_fields import FIELD_KINDS, FieldKinds
from tests.differential.generate_numbers import DECIMALS, MOMENTS, NUMBERS, TYPES, NumberFields
from tests.differential.generate_objectives import Objectives
from tests.differential.generate_schedules import SCHEDULING_KINDS, SchedulingKinds
from tests.differential.generate_structures import Leaf, Shape, Structures
from tests.differential.generate_texts import TEXT_KINDS, TextKinds
from tests.differential.generate_values import VALUE_KINDS, ValueKinds

KINDS = (
    *FIELD_KINDS, "slide", "implies", "intension", *VALUE_KINDS, *SCHEDULING_KINDS, *TEXT_KINDS,
)  # fmt: skip
TEXTS = ["a", "b", "ab", "", 'q"', "\\", " x", "é", "1", "},{"]
Json = dict[str, Any]


class Generator(Structures, NumberFields, FieldKinds, SchedulingKinds, TextKinds, ValueKinds, Objectives):
    """One random document."""

    def __init__(
        self, seed: int, kinds: tuple[str, ...] | None = None, max_size: int = 2_000, goals: int = 0
    ) -> None:
        self.rng = random.Random(seed)
        self.kinds = kinds
        self.max_size = max_size
        self.goals = goals
        self.tables: dict[str, list[list[Any]]] = {}
        self.definitions: Json = {}
        self.max_depth = 1

    def document(self) -> Json:
        """Schema, tables and one to four relations."""
        shape = self.shape()
        count = self.rng.choice([1, 2, 2, 3, 4])
        kinds = list(self.kinds) if self.kinds else [self.rng.choice(KINDS) for _ in range(count)]
        relations = []
        for number, kind in enumerate(kinds):
            made = getattr(self, f"_{kind}")(shape)
            if made is not None:
                relations.append({"name": f"r{number} {kind}", "kind": kind, **made})
        vendor: Json = {"version": 1, "relations": relations}
        if self.definitions:
            vendor["max_depth"] = self.max_depth
        goals = [goal for _ in range(self.goals) if (goal := self._goal(shape)) is not None]
        if goals:
            vendor["objective"] = goals
        if self.tables:
            vendor["tables"] = self.tables
        definitions = {"$defs": self.definitions} if self.definitions else {}
        return {**shape.schema, **definitions, "x-factorspec": vendor}

    # -- schemas ----------------------------------------------------------------------------------

    def shape(self) -> Shape:
        while True:
            self.definitions = {}
            shape = Shape()
            shape.schema = self._object(shape, "$", 0, self.rng.randint(2, 4))
            if 2 <= shape.size <= self.max_size:
                return shape

    def _object(self, shape: Shape, path: str, depth: int, count: int) -> Json:
        properties, required = {}, []
        for number in range(count):
            name = f"{'fgh'[depth]}{number}"
            optional = depth == 0 and self.rng.random() < 0.12
            before = shape.size
            properties[name] = self._field(shape, f"{path}.{name}", depth)
            if optional:
                shape.size += before
            else:
                required.append(name)
        return {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }

    def _field(self, shape: Shape, path: str, depth: int) -> Json:
        roll = self.rng.random()
        if depth < 2 and roll < 0.25:
            return self._list(shape, path, depth)
        if depth < 2 and roll < 0.35:
            before, leaves = shape.size, len(shape.leaves)
            inner = self._object(shape, path, depth + 1, self.rng.randint(1, 2))
            if self.rng.random() < 0.5 and len(shape.leaves) > leaves:
                shape.size += before
                return {"anyOf": [inner, {"type": "null"}]}
            return inner
        if depth < 2 and roll < 0.45:
            return self._union(shape, path, depth)
        if depth == 0 and roll < 0.5 and not self.definitions:
            return self._recursion(shape, path)
        schema, leaf = self._scalar(path)
        shape.size *= len(leaf.values)
        shape.leaves.append(leaf)
        return schema

    def _list(self, shape: Shape, path: str, depth: int) -> Json:
        least = self.rng.randint(0, 2)
        most = least + self.rng.randint(0, 2) or 1
        inner = Shape()
        if self.rng.random() < 0.5:
            item = self._object(inner, "@", depth + 1, self.rng.randint(1, 2))
        else:
            item, leaf = self._scalar("@")
            inner.leaves.append(leaf)
            inner.size = len(leaf.values)
        shape.size *= sum(inner.size**k for k in range(least, most + 1))
        plain = [leaf for leaf in inner.leaves if "[" not in leaf.path]
        shape.lists.append((path, plain, least, most))
        for leaf in plain:
            tail = leaf.path[1:]
            shape.leaves.append(Leaf(f"{path}[*]{tail}", leaf.type, leaf.values))
            shape.leaves.append(Leaf(f"{path}[-1]{tail}", leaf.type, leaf.values))
            shape.leaves.append(Leaf(f"{path}[{self.rng.randrange(most)}]{tail}", leaf.type, leaf.values))
        return {"type": "array", "items": item, "minItems": least, "maxItems": most}

    def _scalar(self, path: str) -> tuple[Json, Leaf]:
        kind = self.rng.choice(
            [
                "int",
                "int",
                "int",
                "text",
                "text",
                "bool",
                "date",
                "time",
                "datetime",
                "instant",
                "nullable",
                "nulltext",
                "datetext",
                *DECIMALS,
            ]
        )
        if kind in DECIMALS:
            schema, values = self._decimal(kind)
            return schema, Leaf(path, kind, values)
        if kind == "datetext":  # two scalar branches
            date, leaf = self._moment(path, "date")
            texts = ["never", "a"][: self.rng.randint(1, 2)]
            return {"anyOf": [date, {"enum": texts}]}, Leaf(path, kind, [*leaf.values, *texts])
        if kind == "int":
            lo, step = self.rng.choice([-2, 0, 1, 9, 98, 998]), self.rng.choice([1, 1, 2, 5])
            hi = lo + step * self.rng.randint(0, 3)
            schema = {"type": "integer", "minimum": lo, "maximum": hi}
            values = list(range(lo, hi + 1))
            if step > 1:
                schema["multipleOf"] = step
                values = [v for v in values if v % step == 0]
                if not values:
                    return self._scalar(path)
            return schema, Leaf(path, "int", values)
        if kind in ("text", "nulltext"):
            values = self.rng.sample(TEXTS, self.rng.randint(1, 3))
            if kind == "text":
                return {"enum": values}, Leaf(path, "text", values)
            return {"anyOf": [{"enum": values}, {"type": "null"}]}, Leaf(path, "nulltext", [*values, None])
        if kind == "bool":
            return {"type": "boolean"}, Leaf(path, "bool", [False, True])
        if kind == "nullable":
            values = [1, 2, 3][: self.rng.randint(1, 3)]
            schema = {"type": "integer", "minimum": 1, "maximum": values[-1]}
            return {"anyOf": [schema, {"type": "null"}]}, Leaf(path, "nullable", [*values, None])
        return self._moment(path, kind)

    def _moment(self, path: str, kind: str) -> tuple[Json, Leaf]:
        if kind == "date":
            values = [f"2024-02-{28 + i:02d}" for i in range(2)] + ["2024-03-01"][: self.rng.randint(0, 1)]
        else:
            values = [f"{8 + i // 2:02d}:{30 * (i % 2):02d}:00" for i in range(self.rng.randint(1, 3))]
        zone = self.rng.choice(["Z", "+00:30", "-01:00"]) if kind == "instant" else ""
        if kind in ("datetime", "instant"):
            values = [f"2024-02-29T{text}{zone}" for text in values]
        domain: Json = {"min": values[0], "max": values[-1]}
        if kind != "date":
            domain["step"] = 1800
        name = "date-time" if kind in ("datetime", "instant") else kind
        return {"type": "string", "format": name, "x-factorspec": {"domain": domain}}, Leaf(
            path, kind, values
        )

    # -- pieces of relations ----------------------------------------------------------------------

    def _pick(self, leaves: list[Leaf], *types: str, star: bool = False) -> Leaf | None:
        found = [leaf for leaf in leaves if leaf.type in types and (star or "[*]" not in leaf.path)]
        return self.rng.choice(found) if found else None

    def _constant(self, leaf: Leaf) -> Json:
        value = self.rng.choice(leaf.values)
        if leaf.type in ("int", "nullable") and value is not None:
            value += self.rng.choice([0, 0, 0, 1, -1])
        made: Json = {"const": value}
        if leaf.type in MOMENTS:
            made["type"] = "datetime" if leaf.type == "instant" else leaf.type
        elif leaf.type == "datetext" and str(value)[0].isdigit() and self.rng.random() < 0.5:
            made["type"] = "date"
        if leaf.type in DECIMALS and value is not None:
            return self._decimal_constant(value)
        return made

    def _paths(self, shape: Shape, *types: str, least: int = 1) -> list[Leaf]:
        found = [leaf for leaf in shape.leaves if leaf.type in types and "[-" not in leaf.path]
        chosen = self.rng.sample(found, min(len(found), self.rng.randint(least, 3)))
        paths: list[Leaf] = []
        for leaf in chosen:  # no field twice
            stem = leaf.path.split("[")[0]
            if not any(other.path.split("[")[0] == stem and "[" in other.path for other in paths):
                paths.append(leaf)
        return paths

    def _condition(self, leaves: list[Leaf], shape: Shape | None, depth: int = 2) -> Json | None:
        roll = self.rng.random()
        if depth and roll < 0.3:
            op = self.rng.choice(["and", "or", "not", "implies"])
            args = [self._condition(leaves, shape, depth - 1) for _ in range(1 if op == "not" else 2)]
            return None if None in args else {"op": op, "args": args}
        if depth and roll < 0.45 and shape is not None and shape.lists:
            return self._fold_condition(shape, depth)
        if roll < 0.6:
            number = self._number(leaves)
            if number is not None:
                other = (
                    self._number(leaves, 0)
                    if self.rng.random() < 0.5
                    else {"const": self.rng.randint(-3, 12)}
                )
                op = self.rng.choice(["eq", "ne", "lt", "le", "gt", "ge"])
                return {"op": op, "args": [number, other]}
        return self._atom(leaves)

    def _atom(self, leaves: list[Leaf]) -> Json | None:
        if self.rng.random() < 0.1:
            return self._question(leaves)
        leaf = self._pick(leaves, *TYPES)
        if leaf is None:
            return None
        if leaf.type == "bool" and self.rng.random() < 0.5:
            return {"ref": leaf.path}
        kin = NUMBERS if leaf.type in NUMBERS else (leaf.type,)
        same = self._pick([other for other in leaves if other is not leaf], *kin)
        other = {"ref": same.path} if same is not None and self.rng.random() < 0.5 else self._constant(leaf)
        if self.rng.random() < 0.15:
            values = [self._constant(leaf) for _ in range(2)]
            return {"op": "in", "arg": {"ref": leaf.path}, "values": values}
        ordered = leaf.type in (*MOMENTS, *NUMBERS) and other.get("const", 0) is not None
        op = self.rng.choice(["eq", "ne", "lt", "le", "gt", "ge"] if ordered else ["eq", "ne"])
        if ordered and leaf.type in MOMENTS and self.rng.random() < 0.3:
            return {
                "op": op,
                "args": [
                    {"op": "sub", "args": [{"ref": leaf.path}, other]},
                    {"const": self.rng.randint(-1, 1)},
                ],
            }
        return {"op": op, "args": [{"ref": leaf.path}, other]}

    def _bound_leaves(self, leaves: list[Leaf], name: str) -> list[Leaf]:
        return [Leaf(name + leaf.path[1:], leaf.type, leaf.values) for leaf in leaves]

    def _fold_condition(self, shape: Shape, depth: int) -> Json | None:
        path, leaves, _, _ = self.rng.choice(shape.lists)
        inner = self._bound_leaves(leaves, "s")
        outer = [leaf for leaf in shape.leaves if "[*]" not in leaf.path] if self.rng.random() < 0.4 else []
        fold: Json = {"in": path, "as": "s"}
        if self.rng.random() < 0.3:
            where = self._atom(inner)
            if where is not None:
                fold["where"] = where
        op = self.rng.choice(["every", "some", "sum", "count", "min", "max", "len"])
        if op == "len":
            number: Json = {"op": "len", "of": path}
            return {
                "op": self.rng.choice(["eq", "le", "gt"]),
                "args": [number, {"const": self.rng.randint(0, 3)}],
            }
        if op in ("every", "some", "count"):
            body = self._condition(inner + outer, None, depth - 1)
        else:
            body = self._number(inner, 1)
        if body is None:
            return None
        made = {"op": op, **fold, "body": body}
        if op in ("every", "some"):
            return made
        return {
            "op": self.rng.choice(["eq", "ne", "le", "ge"]),
            "args": [made, {"const": self.rng.randint(0, 6)}],
        }

    def _value(self, shape: Shape, span: int) -> Json:
        leaf = self._pick(shape.leaves, "int")
        if leaf is not None and self.rng.random() < 0.5:
            return {"ref": leaf.path}
        return {"const": self.rng.randint(0, span)}

    # -- kinds of one expression --------------------------------------------------------------------

    def _slide(self, shape: Shape) -> Json | None:
        if not shape.lists:
            return None
        path, leaves, _, _ = self.rng.choice(shape.lists)
        names = ["a", "b", "c"][: self.rng.choice([1, 2, 2, 2, 3])]
        bound = [leaf for name in names for leaf in self._bound_leaves(leaves, name)]
        expr = self._lookup(bound) if self.rng.random() < 0.3 else self._condition(bound, None)
        return None if expr is None else {"over": path, "as": names, "expr": expr}

    def _lookup(self, leaves: list[Leaf]) -> Json | None:
        key = self._pick(leaves, "int", "text", "nulltext", "nullable", "decimal1", "decimal2")
        other = self._pick(leaves, "int", "decimal1", "decimal2")
        if key is None or other is None:
            return None
        chosen = [v for v in key.values if self.rng.random() < 0.8]
        name = f"t{len(self.tables)}"
        self.tables[name] = [[v, self.rng.choice(other.values)] for v in chosen] or [[key.values[0], 1]]
        found = {"op": "lookup", "table": name, "key": [{"ref": key.path}]}
        if self.rng.random() < 0.3:
            found = {"op": self.rng.choice(["add", "mul", "least"]), "args": [found, {"ref": other.path}]}
        elif self.rng.random() < 0.3:
            first = self.tables[name][0][0]
            const: Json = {"const": first, "type": "decimal"} if key.type in DECIMALS else {"const": first}
            return {"op": self.rng.choice(["le", "gt"]), "args": [found, {**found, "key": [const]}]}
        return {"op": self.rng.choice(["eq", "le", "ne"]), "args": [{"ref": other.path}, found]}

    def _implies(self, shape: Shape) -> Json | None:
        leaves = [leaf for leaf in shape.leaves if "[*]" not in leaf.path]
        condition, then = self._condition(leaves, shape, 1), self._condition(leaves, shape, 1)
        return None if condition is None or then is None else {"if": condition, "then": then}

    def _intension(self, shape: Shape) -> Json | None:
        leaves = [leaf for leaf in shape.leaves if "[*]" not in leaf.path]
        expr = self._lookup(leaves) if self.rng.random() < 0.2 else self._condition(leaves, shape)
        return None if expr is None else {"expr": expr}


def document(seed: int, kinds: tuple[str, ...] | None = None, max_size: int = 2_000, goals: int = 0) -> Json:
    """The document of a seed; with ``kinds`` it has one relation of each (where the shape allows it).

    goals: levels of an objective, fewer where the shape has nothing to optimise.
    """
    return Generator(seed, kinds, max_size, goals).document()
