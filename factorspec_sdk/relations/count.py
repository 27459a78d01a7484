"""``count``: how many of the named fields take one of some values, compared with a number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from factorspec_sdk.automata.linear import linear
from factorspec_sdk.automata.logic import disjunction, indicator
from factorspec_sdk.relations.base import PathText, RelationBase
from factorspec_sdk.relations.code_types import constant_code
from factorspec_sdk.relations.evaluate import Truth, compare, constant, value_of
from factorspec_sdk.relations.expressions import Comparison, Const, Expr
from factorspec_sdk.relations.view import Quantity, View, quantity
from factorspec_sdk.relations.wording import COMPARED, expression_text, fields_text, worded

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering


class Count(RelationBase):
    """XCSP3 ``count``. A null field is counted where null is among ``values``; an absent one never."""

    kind: Literal["count"] = "count"
    over: Annotated[tuple[PathText, ...], Field(min_length=1)]
    values: Annotated[tuple[Const, ...], Field(min_length=1)]
    op: Comparison = "eq"
    value: Expr

    def holds(self, view: View) -> Truth:
        return compare(self.op, Quantity(len(self._counted(view)), "int"), value_of(self.value, view))

    def explain(self, view: View) -> str:
        counted = self._counted(view)
        which = f" ({fields_text(counted)})" if counted else ""
        return (
            f"{len(counted)} of the fields are one of {[c.const for c in self.values]!r}{which}, "
            f"but their number must {COMPARED[self.op]} {expression_text(self.value, view)} = "
            f"{worded(value_of(self.value, view))}"
        )

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        store = lowering.store
        terms = []
        for leaf in (leaf for path in self.over for leaf in lowering.leaves(path)):
            node, kind = lowering.leaf(leaf), leaf.domain.code_type
            wanted = [store.known(constant_code(c, kind)) for c in self.values]
            found = disjunction(store, [lowering.compared("eq", node, value) for value in wanted])
            terms.append((indicator(store, found), 1))
        return [lowering.comparison_with(self.op, linear(store, terms), None, self.value)]

    def _counted(self, view: View) -> list[tuple[str, object]]:
        return [
            (path, value)
            for over in self.over
            for path, value in view.resolve(over)
            if any(compare("eq", quantity(value), constant(c)) is True for c in self.values)
        ]
