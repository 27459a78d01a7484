"""``circuit``: each field names the position that follows its own; together they make one round trip."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from factorspec_sdk.automata.circuit import CircuitPlan, circuit
from factorspec_sdk.automata.linear import compare
from factorspec_sdk.automata.nodes import Condition
from factorspec_sdk.relations.apart import all_distinct
from factorspec_sdk.relations.base import PathText, RelationBase
from factorspec_sdk.relations.evaluate import Truth
from factorspec_sdk.relations.view import Special, View, quantity

if TYPE_CHECKING:
    from factorspec_sdk.relations.lowering import Lowering


class Circuit(RelationBase):
    """XCSP3 ``circuit``. Positions count from ``start`` over the fields that are there, in the order named.

    Going from successor to successor visits every position once and returns. ``loops``: a position that is
    its own successor is not visited; the others, two at least, make the round trip. Fields are integers that
    are never null; without any field the relation holds.
    """

    kind: Literal["circuit"] = "circuit"
    over: Annotated[tuple[PathText, ...], Field(min_length=1)]
    start: int = 0
    loops: bool = False

    def holds(self, view: View) -> Truth:
        found = self._successors(view)
        return None if found is None else self._fault(*found) is None

    def explain(self, view: View) -> str:
        found = self._successors(view)
        fault = self._fault(*found) if found is not None else None
        return "the successors form one circuit" if fault is None else fault

    def _successors(self, view: View) -> tuple[list[str], list[int]] | None:
        """Paths of the fields and the positions that they name; None if one is no number."""
        fields = [field for over in self.over for field in view.resolve(over)]
        codes = [quantity(value).code for _, value in fields]
        numbers = [c for c in codes if isinstance(c, int) and not isinstance(c, bool | Special)]
        if len(numbers) < len(codes):
            return None
        return [path for path, _ in fields], [number - self.start for number in numbers]

    def _fault(self, paths: Sequence[str], after: Sequence[int]) -> str | None:
        size = len(after)
        for path, target in zip(paths, after, strict=True):
            if not 0 <= target < size:
                last = self.start + size - 1
                return f"{path} = {target + self.start} is no position; they go from {self.start} to {last}"
        visited = [at for at in range(size) if not self.loops or after[at] != at]
        if not visited:
            return "no position is visited" if size else None
        trip = [visited[0]]
        while after[trip[-1]] != trip[0] and len(trip) <= size:
            trip.append(after[trip[-1]])
        if len(trip) > size:
            return f"{self._shown(trip[:size])} never returns to where it begins"
        missed = [at for at in visited if at not in trip]
        if missed:
            return f"the round trip {self._shown([*trip, trip[0]])} leaves out {paths[missed[0]]}"
        return None

    def _shown(self, trip: Sequence[int]) -> str:
        text = " → ".join(str(at + self.start) for at in trip[:10])
        return text + (" → …" if len(trip) > 10 else "")

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        store = lowering.store
        named = [leaf for path in self.over for leaf in lowering.leaves(path)]
        position = {leaf.slot: at for at, leaf in reversed(list(enumerate(named)))}
        for at, leaf in enumerate(named):
            if position[leaf.slot] != at:  # two positions with one successor
                yield compare(store, "ne", lowering.leaf(leaf), lowering.leaf(leaf))
        leaves = sorted({leaf.slot: leaf for leaf in named}.values(), key=lambda leaf: leaf.slot)
        fixed = not any(leaf.optional for leaf in leaves)
        certain = [sum(not leaf.optional for leaf in leaves[at:]) for at in range(len(leaves) + 1)]
        slots = tuple(leaf.slot for leaf in leaves)
        positions = tuple(position[slot] for slot in slots) if fixed else None
        yield circuit(store, CircuitPlan(slots, positions, tuple(certain), self.start, self.loops))
        yield from all_distinct(store, leaves)
