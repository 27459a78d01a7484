"""Random levels of objectives (part of ``generate.py``)."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.differential.generate_structures import Leaf, Shape

Json = dict[str, Any]


class Objectives:
    """The methods of ``Generator`` for these."""

    if TYPE_CHECKING:
        rng: random.Random

        def _pick(self, leaves: list[Leaf], *types: str, star: bool = False) -> Leaf | None: ...
        def _atom(self, leaves: list[Leaf]) -> Json | None: ...
        def _number(self, leaves: list[Leaf], depth: int = 1) -> Json | None: ...
        def _bound_leaves(self, leaves: list[Leaf], name: str) -> list[Leaf]: ...

    def _goal(self, shape: Shape) -> Json | None:
        expr = self._aim(shape)
        if expr is None:
            return None
        made: Json = {"goal": self.rng.choice(["maximize", "minimize"]), "expr": expr}
        if self.rng.random() < 0.4:
            made["gap"] = self.rng.choice([1, 1, 2, 5, 1800])
        return made

    def _aim(self, shape: Shape, depth: int = 1) -> Json | None:
        """An expression of one type: fields, folds, differences, choices."""
        leaves = [leaf for leaf in shape.leaves if "[*]" not in leaf.path]
        roll = self.rng.random()
        if depth and roll < 0.25:
            args = [self._aim(shape, 0), self._aim(shape, 0)]
            return None if None in args or not all(map(_is_number, args)) else {"op": "add", "args": args}
        if roll < 0.55 and shape.lists:
            return self._folded(shape)
        if roll < 0.65:
            moment = self._pick(leaves, "date", "time")
            return None if moment is None else {"ref": moment.path}
        if roll < 0.75:
            test, yes, no = self._atom(leaves), self._number(leaves, 0), self._number(leaves, 0)
            return None if None in (test, yes, no) else {"op": "if", "args": [test, yes, no]}
        return self._number(leaves, 2)

    def _folded(self, shape: Shape) -> Json | None:
        path, leaves, _, _ = self.rng.choice(shape.lists)
        inner = self._bound_leaves(leaves, "s")
        op = self.rng.choice(["sum", "sum", "count", "min", "max", "len", "len"])
        if op == "len":
            return {"op": "len", "of": path}
        body = self._atom(inner) if op == "count" else self._number(inner)
        return None if body is None else {"op": op, "in": path, "as": "s", "body": body}


def _is_number(expr: Json | None) -> bool:
    return expr is not None and ("op" in expr or "ref" in expr)
