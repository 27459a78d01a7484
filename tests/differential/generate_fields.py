"""Random relations of the kinds that list fields (part of ``generate.py``)."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from tests.differential.generate_numbers import NUMBERS

if TYPE_CHECKING:
    from tests.differential.generate_structures import Leaf, Shape

Json = dict[str, Any]
FIELD_KINDS = ("all_different", "sum", "table", "element", "ordered", "count")


class FieldKinds:
    """The methods of ``Generator`` for these kinds."""

    if TYPE_CHECKING:
        rng: random.Random
        tables: dict[str, list[list[Any]]]

        def _pick(self, leaves: list[Leaf], *types: str, star: bool = False) -> Leaf | None: ...
        def _paths(self, shape: Shape, *types: str, least: int = 1) -> list[Leaf]: ...
        def _value(self, shape: Shape, span: int) -> Json: ...
        def _constant(self, leaf: Leaf) -> Json: ...

    def _all_different(self, shape: Shape) -> Json | None:
        kind = self.rng.choice(
            [("int", "nullable"), ("text", "nulltext"), ("date",), ("int",), ("decimal1",)]
        )
        paths = self._paths(shape, *kind, least=2)
        return {"over": [leaf.path for leaf in paths]} if paths else None

    def _sum(self, shape: Shape) -> Json | None:
        paths = self._paths(shape, *(NUMBERS if self.rng.random() < 0.4 else ("int", "nullable")))
        if not paths:
            return None
        made: Json = {
            "over": [leaf.path for leaf in paths],
            "op": self.rng.choice(["eq", "eq", "le", "ge", "ne"]),
        }
        if self.rng.random() < 0.3:
            made["weights"] = [self.rng.choice([-2, -1, 1, 2, 3]) for _ in paths]
        made["value"] = self._value(shape, 12)
        return made

    def _table(self, shape: Shape) -> Json | None:
        scalars = [leaf for leaf in shape.leaves if "[*]" not in leaf.path]
        if not scalars:
            return None
        keys = self.rng.sample(scalars, min(len(scalars), self.rng.randint(1, 3)))
        rows = [[self.rng.choice(leaf.values) for leaf in keys] for _ in range(self.rng.randint(1, 6))]
        name = f"t{len(self.tables)}"
        self.tables[name] = rows
        made: Json = {"over": [leaf.path for leaf in keys], "table": name}
        if self.rng.random() < 0.4:
            made["allow"] = False
        return made

    def _element(self, shape: Shape) -> Json | None:
        paths = self._paths(shape, *self.rng.choice([("int",), ("int",), ("decimal2",)]))
        index = self._pick(shape.leaves, "int", "nullable")
        if not paths or index is None:
            return None
        made: Json = {
            "over": [leaf.path for leaf in paths],
            "index": {"ref": index.path},
            "value": self._value(shape, 5),
        }
        if self.rng.random() < 0.5:
            made["start"] = self.rng.choice([1, index.values[0] or 0])
        if self.rng.random() < 0.3:
            made["op"] = "le"
        return made

    def _ordered(self, shape: Shape) -> Json | None:
        kind = self.rng.choice(
            [("int", "nullable"), ("int",), ("date",), ("instant",), ("decimal2", "nulldecimal")]
        )
        paths = self._paths(shape, *kind, least=2)
        return (
            {"over": [leaf.path for leaf in paths], "op": self.rng.choice(["lt", "le", "gt", "ge"])}
            if paths
            else None
        )

    def _count(self, shape: Shape) -> Json | None:
        kind = self.rng.choice([("int",), ("text", "nulltext"), ("bool",), ("nullable",), ("decimal2",)])
        paths = self._paths(shape, *kind)
        if not paths:
            return None
        values = [self._constant(self.rng.choice(paths)) for _ in range(self.rng.randint(1, 2))]
        return {
            "over": [leaf.path for leaf in paths],
            "values": values,
            "op": self.rng.choice(["eq", "le", "ge"]),
            "value": self._value(shape, 2),
        }
