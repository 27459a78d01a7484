"""``iff``: conditions are all true, or all false."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from factorspec_sdk.automata.logic import conjunction, disjunction
from factorspec_sdk.relations.base import RelationBase
from factorspec_sdk.relations.evaluate import Truth, truth_of
from factorspec_sdk.relations.expressions import Expr, Op
from factorspec_sdk.relations.view import View
from factorspec_sdk.relations.wording import broken_text, expression_text

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering


class Iff(RelationBase):
    """Equivalence. Broken where one condition is true and another false; unknown (null) breaks nothing."""

    kind: Literal["iff"] = "iff"
    conditions: Annotated[tuple[Expr, ...], Field(min_length=2)]

    def holds(self, view: View) -> Truth:
        some, all_ = (Op(op=op, args=self.conditions) for op in ("or", "and"))
        return truth_of(Op(op="implies", args=(some, all_)), view)

    def explain(self, view: View) -> str:
        good, bad = (
            next(c for c in self.conditions if truth_of(c, view) is wanted) for wanted in (True, False)
        )
        return f"{expression_text(good, view)} holds, but {broken_text(bad, view)}"

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        store, parts = lowering.store, [lowering.condition(c) for c in self.conditions]
        return [lowering.implication(disjunction(store, parts), conjunction(store, parts))]
