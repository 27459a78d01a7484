"""``ordered``: the named fields, in writing order, stand in order; null and absent ones are skipped."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from factorspec_sdk.automata.chain import ChainPlan, chain
from factorspec_sdk.automata.linear import compare as compare_nodes
from factorspec_sdk.relations.base import PathText, RelationBase
from factorspec_sdk.relations.evaluate import Truth, all_of, compare
from factorspec_sdk.relations.unrolled import LeafPart
from factorspec_sdk.relations.view import View, quantity
from factorspec_sdk.relations.wording import SIGNS, fields_text

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering


class Ordered(RelationBase):
    """XCSP3 ``ordered`` over integers, dates or times: each neighbour pair satisfies ``op``."""

    kind: Literal["ordered"] = "ordered"
    over: Annotated[tuple[PathText, ...], Field(min_length=1)]
    op: Literal["lt", "le", "gt", "ge"] = "le"

    def holds(self, view: View) -> Truth:
        fields = self._fields(view)
        return all_of(compare(self.op, quantity(a), quantity(b)) for (_, a), (_, b) in pairwise(fields))

    def explain(self, view: View) -> str:
        fields = self._fields(view)
        for one, two in pairwise(fields):
            if compare(self.op, quantity(one[1]), quantity(two[1])) is False:
                return f"{one[0]} {SIGNS[self.op]} {two[0]} is false: {fields_text([one, two])}"
        return "all neighbours stand in order"

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        leaves = [leaf for path in self.over for leaf in lowering.leaves(path)]
        store = lowering.store
        nodes = [lowering.leaf(leaf) for leaf in leaves]
        if not any(leaf.optional or _nullable(leaf) for leaf in leaves):
            return [compare_nodes(store, self.op, a, b) for a, b in pairwise(nodes)]
        slots = tuple(leaf.slot for leaf in leaves)
        if list(slots) == sorted(set(slots)):
            sign, gap = (1 if self.op in ("lt", "le") else -1), int(self.op in ("lt", "gt"))
            return [chain(store, ChainPlan(slots, sign, gap))]
        # named against the writing order, or twice: the order is transitive, so all pairs may be asked
        return [compare_nodes(store, self.op, a, b) for i, a in enumerate(nodes) for b in nodes[i + 1 :]]

    def _fields(self, view: View) -> list[tuple[str, object]]:
        return [(p, v) for over in self.over for p, v in view.resolve(over) if v is not None]


def _nullable(leaf: LeafPart) -> bool:
    return leaf.domain.index(None) is not None
