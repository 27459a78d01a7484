"""``slide``: a condition on every run of consecutive items of a list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from factorspec_sdk.automata.logic import occurs
from factorspec_sdk.relations.base import PathText, RelationBase
from factorspec_sdk.relations.evaluate import Truth, all_of, truth_of
from factorspec_sdk.relations.expressions import Expr
from factorspec_sdk.relations.view import View
from factorspec_sdk.relations.wording import broken_text

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering


class Slide(RelationBase):
    """XCSP3 ``slide``: ``expr`` holds with the binders in ``as`` set to each run of consecutive items."""

    kind: Literal["slide"] = "slide"
    over: PathText
    binders: Annotated[tuple[str, ...], Field(alias="as", min_length=1)]
    expr: Expr

    def holds(self, view: View) -> Truth:
        return all_of(truth_of(self.expr, window) for window in self._windows(view))

    def explain(self, view: View) -> str:
        for window in self._windows(view):
            if truth_of(self.expr, window) is False:
                return broken_text(self.expr, window)
        return "every run of items satisfies the condition"

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        part, width = lowering.list_at(self.over), len(self.binders)
        if part is None:
            return []

        def window(inner: Lowering, at: int) -> Condition:
            there = occurs(lowering.store, part.item_presence(at + width - 1))
            return lowering.implication(there, inner.condition(self.expr))

        return lowering.over_items(part, self.binders, [self.expr], window)

    def _windows(self, view: View) -> list[View]:
        items, width = view.items(self.over) or [], len(self.binders)
        windows = []
        for at in range(len(items) - width + 1):
            window = view
            for name, (path, item) in zip(self.binders, items[at : at + width], strict=True):
                window = window.bind(name, item, path)
            windows.append(window)
        return windows
