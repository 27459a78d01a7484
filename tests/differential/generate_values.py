"""Random relations of the kinds over values and lengths of several fields (part of ``generate.py``)."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from tests.differential.generate_numbers import NUMBERS

if TYPE_CHECKING:
    from tests.differential.generate_structures import Leaf, Shape

Json = dict[str, Any]
VALUE_KINDS = ("all_equal", "minimum", "maximum", "same_length")
FAMILIES = [
    ("int", "nullable"),
    ("text", "nulltext"),
    ("date",),
    ("time",),
    ("bool",),
    ("int",),
    ("decimal2", "nulldecimal"),
]


class ValueKinds:
    """The methods of ``Generator`` for these kinds."""

    if TYPE_CHECKING:
        rng: random.Random

        def _pick(self, leaves: list[Leaf], *types: str, star: bool = False) -> Leaf | None: ...
        def _constant(self, leaf: Leaf) -> Json: ...
        def _paths(self, shape: Shape, *types: str, least: int = 1) -> list[Leaf]: ...

    def _all_equal(self, shape: Shape) -> Json | None:
        paths = self._paths(shape, *self.rng.choice(FAMILIES), least=2)
        return {"over": [leaf.path for leaf in paths]} if paths else None

    def _minimum(self, shape: Shape) -> Json | None:
        family = self.rng.choice([("int", "nullable"), ("decimal1",), ("date",), ("time",)])
        paths = self._paths(shape, *family, least=2)
        if not paths:
            return None
        other = self._pick(shape.leaves, *(NUMBERS if family == ("decimal1",) else family))
        found = {"ref": other.path} if other is not None and self.rng.random() < 0.6 else None
        value = found or self._constant(paths[0])
        if value.get("const", 0) is None:
            value = {"const": self.rng.randint(0, 3)}
        op = self.rng.choice(["eq", "eq", "eq", "ne", "lt", "le", "gt", "ge"])
        return {"over": [leaf.path for leaf in paths], "op": op, "value": value}

    _maximum = _minimum

    def _same_length(self, shape: Shape) -> Json | None:
        paths = [path for path, _, _, _ in shape.lists]
        if not paths:
            return None
        return {"over": self.rng.sample(paths, min(len(paths), self.rng.randint(2, 3)))}
