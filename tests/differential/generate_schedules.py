"""Random relations of the scheduling kinds (part of ``generate.py``)."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.differential.generate_structures import Leaf, Shape

Json = dict[str, Any]
SCHEDULING_KINDS = ("no_overlap", "cumulative", "circuit")


class SchedulingKinds:
    """The methods of ``Generator`` for these kinds."""

    if TYPE_CHECKING:
        rng: random.Random
        tables: dict[str, list[list[Any]]]

        def _pick(self, leaves: list[Leaf], *types: str, star: bool = False) -> Leaf | None: ...
        def _constant(self, leaf: Leaf) -> Json: ...
        def _bound_leaves(self, leaves: list[Leaf], name: str) -> list[Leaf]: ...

    def _task(self, leaves: list[Leaf], types: tuple[str, ...]) -> Json | None:
        """Start, and end or duration, of one item; times of ``types``."""
        start = self._pick(leaves, *types)
        if start is None:
            return None
        task: Json = {"start": {"ref": start.path}}
        roll = self.rng.random()
        end = self._pick([leaf for leaf in leaves if leaf is not start], *types)
        length = self._pick(leaves, "int", "nullable") if types[0] == "int" else None
        if end is not None and roll < 0.35:
            return {**task, "end": {"ref": end.path}}
        if length is not None and roll < 0.6:
            return {**task, "duration": {"ref": length.path}}
        unit = 1800 if types[0] == "time" else 1
        return {
            **task,
            "duration": {"const": unit * self.rng.choice([0, 1, 1, 1, 2, -1] if roll < 0.7 else [1, 2])},
        }

    def _tasks(self, shape: Shape, types: tuple[str, ...]) -> list[tuple[Json, list[Leaf]]]:
        """Some tasks and the leaves that their expressions may name."""
        found: list[tuple[Json, list[Leaf]]] = []
        if shape.lists and self.rng.random() < 0.7:
            path, leaves, _, _ = self.rng.choice(shape.lists)
            bound = self._bound_leaves(leaves, "t")
            task = self._task(bound, types)
            if task is not None:
                found.append(({"in": path, "as": "t", **task}, bound))
        singles = [leaf for leaf in shape.leaves if "[*]" not in leaf.path]
        for _ in range(self.rng.choice([0, 1, 2]) if found else self.rng.choice([1, 2, 2, 3])):
            task = self._task(singles, types)
            if task is not None:
                found.append((task, singles))
        self.rng.shuffle(found)
        return found

    def _no_overlap(self, shape: Shape) -> Json | None:
        types = self.rng.choice([("int",), ("int", "nullable"), ("time",), ("date",)])
        found = self._tasks(shape, types)
        if not found:
            return None
        made: Json = {"tasks": [task for task, _ in found]}
        if self.rng.random() < 0.4:
            made["in_order"] = True
        if self.rng.random() < 0.5:
            self._travel(made, found, types[0])
        if self.rng.random() < 0.3:
            self._booked(made, shape, types)
        return made

    def _travel(self, made: Json, found: list[tuple[Json, list[Leaf]]], unit: str) -> None:
        kinds = self.rng.choice([("text", "nulltext"), ("int", "nullable"), ("text",)])
        values: list[Any] = []
        for task, leaves in found:
            leaf = self._pick(leaves, *kinds)
            if leaf is not None and self.rng.random() < 0.9:
                task["place"] = {"ref": leaf.path}
                values += [v for v in leaf.values if v is not None and v not in values]
        if not values:
            return
        times = [0, 0, 1, 1, 2, 4] if unit != "time" else [0, 1800, 1800, 3600]
        complete = self.rng.random() < 0.5
        rows = [
            [a, b, self.rng.choice(times)]
            for a in values
            for b in values
            if complete or self.rng.random() < 0.7
        ]
        name = f"t{len(self.tables)}"
        self.tables[name] = rows or [[values[0], values[0], 1]]
        made["travel"] = name
        starts = [leaf for _, leaves in found for leaf in leaves if leaf.type == unit and leaf.path[0] == "$"]
        if self.rng.random() < 0.4 and starts and "[" not in starts[0].path:
            time = {"ref": starts[0].path} if self.rng.random() < 0.3 else self._constant(starts[0])
            made["from"] = {"time": time}
            if self.rng.random() < 0.7:
                made["from"]["place"] = {"const": self.rng.choice(values)}

    def _booked(self, made: Json, shape: Shape, types: tuple[str, ...]) -> None:
        leaf = self._pick(shape.leaves, types[0], star=True)
        if leaf is None:
            return
        blocks = [
            sorted(self.rng.choice(leaf.values) for _ in range(2)) for _ in range(self.rng.randint(1, 3))
        ]
        name = f"t{len(self.tables)}"
        self.tables[name] = blocks
        made["booked"] = name

    def _cumulative(self, shape: Shape) -> Json | None:
        found = self._tasks(shape, self.rng.choice([("int",), ("int", "nullable"), ("time",), ("date",)]))
        if not found:
            return None
        for task, leaves in found:
            demand = self._pick(leaves, "int", "nullable")
            if demand is not None and self.rng.random() < 0.4:
                task["demand"] = {"ref": demand.path}
            elif self.rng.random() < 0.5:
                task["demand"] = {"const": self.rng.choice([0, 1, 1, 2])}
        capacity = self._pick(shape.leaves, "int", "nullable")
        if capacity is None or self.rng.random() < 0.7:
            return {"tasks": [task for task, _ in found], "capacity": {"const": self.rng.randint(0, 3)}}
        return {"tasks": [task for task, _ in found], "capacity": {"ref": capacity.path}}

    def _circuit(self, shape: Shape) -> Json | None:
        paths = self._circuit_paths(shape)
        if not paths:
            return None
        made: Json = {"over": [leaf.path for leaf in paths], "loops": self.rng.random() < 0.5}
        if self.rng.random() < 0.8:
            made["start"] = min(value for leaf in paths for value in leaf.values)
        return made

    def _circuit_paths(self, shape: Shape) -> list[Leaf]:
        """Integers of one list, or of several required fields."""
        lists = [leaf for leaf in shape.leaves if leaf.type == "int" and leaf.path.endswith("[*]")]
        if lists and self.rng.random() < 0.6:
            return [self.rng.choice(lists)]
        required = {f"$.{name}" for name in shape.schema["required"]}
        singles = [leaf for leaf in shape.leaves if leaf.type == "int" and leaf.path in required]
        self.rng.shuffle(singles)
        return singles
