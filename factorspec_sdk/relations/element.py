"""``element``: ``value`` equals the field at position ``index`` of a list of fields."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from factorspec_sdk.automata.linear import linear
from factorspec_sdk.automata.tables import item_at
from factorspec_sdk.relations.base import PathText, RelationBase
from factorspec_sdk.relations.evaluate import Truth, compare, value_of
from factorspec_sdk.relations.expressions import Comparison, Const, Expr, Item, Op
from factorspec_sdk.relations.view import Quantity, View
from factorspec_sdk.relations.wording import COMPARED, expression_text, fields_text, worded

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering


class Element(RelationBase):
    """XCSP3 ``element``. Positions count from ``start``; a position outside the list breaks the relation."""

    kind: Literal["element"] = "element"
    over: Annotated[tuple[PathText, ...], Field(min_length=1)]
    index: Expr
    start: int = 0
    op: Comparison = "eq"
    value: Expr

    def holds(self, view: View) -> Truth:
        return compare(self.op, self._found(view), value_of(self.value, view))

    def explain(self, view: View) -> str:
        fields = [field for over in self.over for field in view.resolve(over)]
        position = f"{expression_text(self.index, view)} = {worded(value_of(self.index, view))}"
        found = self._found(view)
        return (
            f"the value at position {position} (counted from {self.start}) of {fields_text(fields)} is "
            f"{worded(found)}, but must {COMPARED[self.op]} {expression_text(self.value, view)} = "
            f"{worded(value_of(self.value, view))}"
        )

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        values = tuple(node for path in self.over for node in lowering.fields(path))
        index = linear(lowering.store, [(lowering.value(self.index), 1)], -self.start)
        item = item_at(lowering.store, index, values)
        kinds = {leaf.domain.code_type for path in self.over for leaf in lowering.leaves(path)}
        return [lowering.comparison_with(self.op, item, kinds.pop() if len(kinds) == 1 else None, self.value)]

    def _found(self, view: View) -> Quantity:
        index = Op(op="sub", args=(self.index, Const(const=self.start)))
        return value_of(Item(op="item", of=self.over, index=index), view)
