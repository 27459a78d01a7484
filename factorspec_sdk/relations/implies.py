"""``implies``: where one condition holds, another must hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from factorspec_sdk.relations.base import RelationBase
from factorspec_sdk.relations.evaluate import Truth, truth_of
from factorspec_sdk.relations.expressions import Expr, Op
from factorspec_sdk.relations.view import View
from factorspec_sdk.relations.wording import broken_text, expression_text

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering


class Implies(RelationBase):
    """Material implication between two conditions; unknown ``if`` demands nothing."""

    kind: Literal["implies"] = "implies"
    condition: Annotated[Expr, Field(alias="if")]
    consequence: Annotated[Expr, Field(alias="then")]

    def holds(self, view: View) -> Truth:
        return truth_of(Op(op="implies", args=(self.condition, self.consequence)), view)

    def explain(self, view: View) -> str:
        return f"{expression_text(self.condition, view)} holds, but {broken_text(self.consequence, view)}"

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        return [
            lowering.implication(lowering.condition(self.condition), lowering.condition(self.consequence))
        ]
