"""``all_equal``: the values of all named fields are the same; null and absent ones are left out."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from factorspec_sdk.automata.alike import START, Alike
from factorspec_sdk.automata.linear import compare
from factorspec_sdk.automata.reading import nullable, reading
from factorspec_sdk.relations.base import PathText, RelationBase
from factorspec_sdk.relations.evaluate import Truth
from factorspec_sdk.relations.unrolled import LeafPart
from factorspec_sdk.relations.view import Special, View, exact_key, quantity
from factorspec_sdk.relations.wording import worded

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering


class AllEqual(RelationBase):
    """XCSP3 ``allEqual`` with ``except null``. One value, or none at all, satisfies it."""

    kind: Literal["all_equal"] = "all_equal"
    over: Annotated[tuple[PathText, ...], Field(min_length=1)]

    def holds(self, view: View) -> Truth:
        return self._clash(view) is None

    def explain(self, view: View) -> str:
        clash = self._clash(view)
        if clash is None:
            return "all values are equal"
        (first, one), (second, other) = clash
        return f"{first} = {one} and {second} = {other}, but all must be equal"

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        store = lowering.store
        leaves = {leaf.slot: leaf for path in self.over for leaf in lowering.leaves(path)}
        ordered = [leaves[slot] for slot in sorted(leaves)]
        if len(ordered) < 2:
            return []
        if all(_certain_range(leaf) for leaf in ordered):  # neighbours: a form that wide domains can take
            nodes = [lowering.leaf(leaf) for leaf in ordered]
            return [compare(store, "eq", one, other) for one, other in pairwise(nodes)]
        plan = Alike((leaf.slot, leaf.domain, leaf.optional) for leaf in ordered)
        return [reading(store, plan, 0, START)]

    def _clash(self, view: View) -> tuple[tuple[str, str], tuple[str, str]] | None:
        first: tuple[str, str, object] | None = None
        for path, value in (field for over in self.over for field in view.resolve(over)):
            found = quantity(value)
            if found.code is None or isinstance(found.code, Special):
                continue
            key = exact_key(found.code)
            if first is None:
                first = path, worded(found), key
            elif key != first[2]:
                return (first[0], first[1]), (path, worded(found))
        return None


def _certain_range(leaf: LeafPart) -> bool:
    return leaf.domain.stride is not None and not leaf.optional and not nullable(leaf.domain)
