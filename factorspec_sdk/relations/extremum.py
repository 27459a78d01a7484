"""What ``minimum`` and ``maximum`` have in common: the least or greatest of several fields, compared."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from factorspec_sdk.automata.values import extreme
from factorspec_sdk.relations.arithmetic import extreme_of
from factorspec_sdk.relations.base import PathText, RelationBase
from factorspec_sdk.relations.code_types import domains_type
from factorspec_sdk.relations.evaluate import Truth, compare, value_of
from factorspec_sdk.relations.expressions import Comparison, Expr
from factorspec_sdk.relations.view import Quantity, View, quantity
from factorspec_sdk.relations.wording import COMPARED, expression_text, fields_text, worded

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering


class Extremum(RelationBase):
    """Null and absent fields are left out; where no field is left, the relation is unknown (not broken)."""

    over: Annotated[tuple[PathText, ...], Field(min_length=1)]
    op: Comparison = "eq"
    value: Expr

    @property
    @abstractmethod
    def sign(self) -> int:
        """1 for the least, -1 for the greatest."""

    def holds(self, view: View) -> Truth:
        return compare(self.op, self._found(view), value_of(self.value, view))

    def explain(self, view: View) -> str:
        fields = [field for over in self.over for field in view.resolve(over)]
        which = "least" if self.sign > 0 else "greatest"
        return (
            f"the {which} of {fields_text(fields)} is {worded(self._found(view))}, but must "
            f"{COMPARED[self.op]} {expression_text(self.value, view)} = {worded(value_of(self.value, view))}"
        )

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        leaves = {leaf.slot: leaf for path in self.over for leaf in lowering.leaves(path)}
        values = [lowering.leaf(leaves[slot]) for slot in sorted(leaves)]
        kind = domains_type(leaf.domain for leaf in leaves.values())
        return [
            lowering.comparison_with(self.op, extreme(lowering.store, self.sign, values), kind, self.value)
        ]

    def _found(self, view: View) -> Quantity:
        found = (quantity(value) for over in self.over for _, value in view.resolve(over))
        return extreme_of(list(found), smallest=self.sign > 0)
