"""Random relations of the kinds over texts (part of ``generate.py``)."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.differential.generate_structures import Leaf, Shape

Json = dict[str, Any]
TEXT_KINDS = ("substring_of",)
SOURCES = ("ab", 'q" and \\ x', "é", "},{1", "")


class TextKinds:
    """The methods of ``Generator`` for these kinds."""

    if TYPE_CHECKING:
        rng: random.Random
        tables: dict[str, list[list[Any]]]

        def _paths(self, shape: Shape, *types: str, least: int = 1) -> list[Leaf]: ...

    def _substring_of(self, shape: Shape) -> Json | None:
        paths = self._paths(shape, "text", "nulltext")
        if not paths:
            return None
        name = f"texts{len(self.tables)}"
        self.tables[name] = [[text] for text in self.rng.sample(SOURCES, self.rng.randint(1, 3))]
        return {"over": [leaf.path for leaf in paths], "table": name}
