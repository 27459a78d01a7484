"""``intension``: any condition written as an expression."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from factorspec_sdk.relations.base import RelationBase
from factorspec_sdk.relations.evaluate import Truth, truth_of
from factorspec_sdk.relations.expressions import Expr
from factorspec_sdk.relations.view import View
from factorspec_sdk.relations.wording import broken_text

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering


class Intension(RelationBase):
    """XCSP3 ``intension``: ``expr`` is not false."""

    kind: Literal["intension"] = "intension"
    expr: Expr

    def holds(self, view: View) -> Truth:
        return truth_of(self.expr, view)

    def explain(self, view: View) -> str:
        return broken_text(self.expr, view)

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        return [lowering.condition(self.expr)]
