"""Random relations of the kinds over values and lengths of several fields (part of ``generate.py``)."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

from factorspec_sdk.relations.evaluate import constant
from factorspec_sdk.relations.expressions import Const
from tests.differential.generate_numbers import NUMBERS

if TYPE_CHECKING:
    from tests.differential.generate_structures import Leaf, Shape

Json = dict[str, Any]
VALUE_KINDS = (
    "all_equal", "minimum", "maximum", "same_length", "member_of", "subset_of", "permutation_of",
    "cardinality", "precedence", "regular", "iff", "either",
)  # fmt: skip
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
        tables: dict[str, list[list[Any]]]

        def _pick(self, leaves: list[Leaf], *types: str, star: bool = False) -> Leaf | None: ...
        def _constant(self, leaf: Leaf) -> Json: ...
        def _condition(self, leaves: list[Leaf], shape: Shape | None, depth: int = 2) -> Json | None: ...
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

    def _two_groups(self, shape: Shape, family: tuple[str, ...]) -> tuple[list[str], list[str]] | None:
        """Paths of fields of one type, in two groups that may share some."""
        paths, others = self._paths(shape, *family), self._paths(shape, *family)
        if not paths:
            return None
        return [leaf.path for leaf in paths], [leaf.path for leaf in others]

    def _member_of(self, shape: Shape) -> Json | None:
        family = self.rng.choice(FAMILIES)
        if self.rng.random() < 0.3:
            return self._column_of(shape, family)
        groups = self._two_groups(shape, family)
        return None if groups is None else {"over": groups[0], "of": groups[1]}

    _subset_of = _member_of

    def _column_of(self, shape: Shape, family: tuple[str, ...]) -> Json | None:
        paths = self._paths(shape, *family)
        if not paths:
            return None
        width = self.rng.randint(1, 2)
        cells = [
            self.rng.choice(self.rng.choice(paths).values) for _ in range(self.rng.randint(1, 3) * width)
        ]
        name = f"t{len(self.tables)}"
        self.tables[name] = [cells[at : at + width] for at in range(0, len(cells), width)]
        return {"over": [leaf.path for leaf in paths], "table": name, "column": self.rng.randrange(width)}

    def _permutation_of(self, shape: Shape) -> Json | None:
        family = self.rng.choice(FAMILIES)
        paths = self._paths(shape, *family)
        if not paths:
            return None
        over = [leaf.path for leaf in paths]
        roll = self.rng.random()
        if roll < 0.35 and set(family) <= {"int", "nullable"}:
            return {"over": over, "start": self.rng.choice([0, 0, 1, 1, 2, paths[0].values[0] or 1])}
        if roll < 0.7:
            others = self._paths(shape, *family)
            return {"over": over, "of": [leaf.path for leaf in others]}
        values = [self._constant(self.rng.choice(paths)) for _ in range(self.rng.randint(0, 4))]
        return {"over": over, "values": [value for value in values if value["const"] is not None]}

    def _known(self, paths: list[Leaf]) -> list[Json]:
        """Constants that the fields may take, each once."""
        found = [self._constant(self.rng.choice(paths)) for _ in range(self.rng.randint(2, 4))]
        known = {constant(Const(**value)).key: value for value in found if value["const"] is not None}
        return list(known.values())

    def _cardinality(self, shape: Shape) -> Json | None:
        paths = self._paths(shape, *self.rng.choice(FAMILIES))
        occurs = self._known(paths) if paths else []
        for value in occurs:
            value["least"] = self.rng.choice([0, 0, 0, 1, 1, 2])
            if self.rng.random() < 0.6:
                value["most"] = value["least"] + self.rng.choice([0, 0, 1, 2])
        made = {"over": [leaf.path for leaf in paths], "occurs": occurs}
        return {**made, "closed": self.rng.random() < 0.3} if occurs else None

    def _precedence(self, shape: Shape) -> Json | None:
        paths = self._paths(shape, *self.rng.choice(FAMILIES), least=2)
        values = self._known(paths) if paths else []
        return {"over": [leaf.path for leaf in paths], "values": values} if len(values) > 1 else None

    def _regular(self, shape: Shape) -> Json | None:
        paths = self._paths(shape, *self.rng.choice(FAMILIES), least=2)
        values = {json.dumps(v): v for leaf in paths for v in leaf.values if v is not None}
        if not values:
            return None
        rows = [
            [state, value, self.rng.choice(["p", "q", 3])]
            for state in ["p", "q", 3]
            for value in values.values()
            if self.rng.random() < 0.7
        ]
        rows = rows or [["p", next(iter(values.values())), "q"]]
        name = f"t{len(self.tables)}"
        self.tables[name] = rows
        states = [cell for row in rows for cell in (row[0], row[2])]
        final = self.rng.sample(states, min(len(states), self.rng.randint(1, 2)))
        over = [leaf.path for leaf in paths]
        return {"over": over, "table": name, "start": self.rng.choice(states), "final": final}

    def _iff(self, shape: Shape) -> Json | None:
        leaves = [leaf for leaf in shape.leaves if "[*]" not in leaf.path]
        found = [self._condition(leaves, shape, 1) for _ in range(self.rng.choice([2, 2, 3]))]
        return None if None in found else {"conditions": found}

    def _either(self, shape: Shape) -> Json | None:
        made = self._iff(shape)
        return None if made is None else {**made, "exactly_one": self.rng.random() < 0.5}
