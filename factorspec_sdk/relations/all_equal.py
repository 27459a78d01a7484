"""``all_equal``: the values of all named fields are the same; null and absent ones are left out."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from factorspec_sdk.automata.alike import Alike
from factorspec_sdk.automata.linear import compare
from factorspec_sdk.automata.reading import nullable, reading
from factorspec_sdk.relations.base import PathText, RelationBase
from factorspec_sdk.relations.evaluate import Truth
from factorspec_sdk.relations.unrolled import LeafPart
from factorspec_sdk.relations.view import View, value_key
from factorspec_sdk.relations.wording import fields_text

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
        assert clash is not None
        return f"{fields_text(clash[:1])} and {fields_text(clash[1:])}, but all must be equal"

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        store = lowering.store
        leaves = {leaf.slot: leaf for path in self.over for leaf in lowering.leaves(path)}
        if len(leaves) > 1 and all(map(_certain_range, leaves.values())):
            # neighbours: a form that wide domains can take
            nodes = [lowering.leaf(leaves[slot]) for slot in sorted(leaves)]
            return [compare(store, "eq", one, other) for one, other in pairwise(nodes)]
        return [reading(store, Alike(lowering.reads(self.over)))]

    def _clash(self, view: View) -> tuple[tuple[str, object], tuple[str, object]] | None:
        fields = (field for over in self.over for field in view.resolve(over))
        known = [field for field in fields if value_key(field[1]) is not None]
        other = next((field for field in known if value_key(field[1]) != value_key(known[0][1])), None)
        return None if other is None else (known[0], other)


def _certain_range(leaf: LeafPart) -> bool:
    return leaf.domain.stride is not None and not leaf.optional and not nullable(leaf.domain)
