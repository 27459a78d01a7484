"""``either``: at least one of some conditions holds, or exactly one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from factorspec_sdk.automata.linear import compare, linear
from factorspec_sdk.automata.logic import disjunction, indicator
from factorspec_sdk.relations.base import RelationBase
from factorspec_sdk.relations.evaluate import Truth, truth_of
from factorspec_sdk.relations.expressions import Expr
from factorspec_sdk.relations.view import View
from factorspec_sdk.relations.wording import broken_text, expression_text

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering


class Either(RelationBase):
    """Broken where all conditions are false or, with ``exactly_one``, where two are true.

    Unknown conditions (null) may count either way, so they break nothing by themselves.
    """

    kind: Literal["either"] = "either"
    conditions: Annotated[tuple[Expr, ...], Field(min_length=1)]
    exactly_one: bool = False

    def holds(self, view: View) -> Truth:
        truths = [truth_of(condition, view) for condition in self.conditions]
        true = truths.count(True)
        if (self.exactly_one and true > 1) or truths.count(False) == len(truths):
            return False
        if not self.exactly_one:
            return True if true else None
        return None if None in truths else True

    def explain(self, view: View) -> str:
        true = [c for c in self.conditions if truth_of(c, view) is True]
        if true:
            both = " and ".join(expression_text(c, view) for c in true[:2])
            return f"exactly one of {len(self.conditions)} conditions must hold, but {both} hold both"
        return f"none of the conditions holds: {'; '.join(broken_text(c, view) for c in self.conditions[:6])}"

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        store, parts = lowering.store, [lowering.condition(c) for c in self.conditions]
        found = [disjunction(store, parts)]
        if self.exactly_one:
            number = linear(store, [(indicator(store, part), 1) for part in parts])
            found.append(compare(store, "le", number, store.known(1)))
        return found
