"""``sum``: a weighted sum of fields compared with a value; null and absent ones count as 0."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from factorspec_sdk.automata.linear import linear
from factorspec_sdk.automata.values import or_zero
from factorspec_sdk.fields.decimals import places_of
from factorspec_sdk.relations.arithmetic import computed, total_of
from factorspec_sdk.relations.base import PathText, RelationBase
from factorspec_sdk.relations.code_types import common_type
from factorspec_sdk.relations.evaluate import Truth, compare, value_of
from factorspec_sdk.relations.expressions import Comparison, Expr
from factorspec_sdk.relations.unrolled import LeafPart
from factorspec_sdk.relations.view import Quantity, View, quantity
from factorspec_sdk.relations.wording import COMPARED, expression_text, fields_text, worded

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering


class Sum(RelationBase):
    """XCSP3 ``sum``. ``weights``: one integer per path (all items of a path share it); None = all 1."""

    kind: Literal["sum"] = "sum"
    over: Annotated[tuple[PathText, ...], Field(min_length=1)]
    weights: tuple[int, ...] | None = None
    op: Comparison = "eq"
    value: Expr

    def holds(self, view: View) -> Truth:
        return compare(self.op, self._total(view), value_of(self.value, view))

    def explain(self, view: View) -> str:
        fields = [field for over in self.over for field in view.resolve(over)]
        kind = "sum" if self.weights is None else f"weighted sum (weights {list(self.weights)})"
        total = worded(self._total(view))
        return (
            f"the {kind} of {fields_text(fields)} is {total}, but must {COMPARED[self.op]} "
            f"{expression_text(self.value, view)} = {worded(value_of(self.value, view))}"
        )

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        leaves = [(leaf, weight) for path, weight in self._weighted() for leaf in lowering.leaves(path)]
        common = common_type(leaf.domain.code_type for leaf, _ in leaves) or "int"
        places = places_of(common) or 0
        terms = [
            (or_zero(lowering.store, lowering.leaf(leaf)), weight * 10 ** (places - _places(leaf)))
            for leaf, weight in leaves
        ]
        total = linear(lowering.store, terms)
        return [lowering.comparison_with(self.op, total, common, self.value)]

    def _weighted(self) -> Iterable[tuple[str, int]]:
        weights = self.weights if self.weights is not None else (1,) * len(self.over)
        return zip(self.over, weights, strict=True)

    def _total(self, view: View) -> Quantity:
        weighted = [
            computed("mul", [found, Quantity(weight, "int")])
            for path, weight in self._weighted()
            for _, value in view.resolve(path)
            if (found := quantity(value)).number is not None
        ]
        return total_of(weighted)


def _places(leaf: LeafPart) -> int:
    return places_of(leaf.domain.code_type) or 0
