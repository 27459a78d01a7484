"""``sum``: a weighted sum of fields compared with a value; null and absent ones count as 0."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from factorspec_sdk.automata.linear import linear
from factorspec_sdk.automata.values import or_zero
from factorspec_sdk.relations.base import PathText, RelationBase
from factorspec_sdk.relations.evaluate import Truth, compare, value_of
from factorspec_sdk.relations.expressions import Comparison, Expr
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
        return compare(self.op, Quantity(self._total(view), "int"), value_of(self.value, view))

    def explain(self, view: View) -> str:
        fields = [field for over in self.over for field in view.resolve(over)]
        kind = "sum" if self.weights is None else f"weighted sum (weights {list(self.weights)})"
        return (
            f"the {kind} of {fields_text(fields)} is {self._total(view)}, but must {COMPARED[self.op]} "
            f"{expression_text(self.value, view)} = {worded(value_of(self.value, view))}"
        )

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        terms = [
            (or_zero(lowering.store, node), weight)
            for path, weight in self._weighted()
            for node in lowering.fields(path)
        ]
        total = linear(lowering.store, terms)
        return [lowering.comparison_with(self.op, total, None, self.value)]

    def _weighted(self) -> Iterable[tuple[str, int]]:
        weights = self.weights if self.weights is not None else (1,) * len(self.over)
        return zip(self.over, weights, strict=True)

    def _total(self, view: View) -> int:
        total = 0
        for path, weight in self._weighted():
            for _, value in view.resolve(path):
                code = quantity(value).code
                if isinstance(code, int) and not isinstance(code, bool):
                    total += weight * code
        return total
