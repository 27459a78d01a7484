"""``all_different``: the values of all named fields differ pairwise; null and absent ones are left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from factorspec_sdk.relations.apart import all_distinct
from factorspec_sdk.relations.base import PathText, RelationBase
from factorspec_sdk.relations.evaluate import Truth
from factorspec_sdk.relations.view import Special, View, exact_key, quantity
from factorspec_sdk.relations.wording import worded

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering


class AllDifferent(RelationBase):
    """XCSP3 ``allDifferent`` with ``except null``."""

    kind: Literal["all_different"] = "all_different"
    over: Annotated[tuple[PathText, ...], Field(min_length=1)]

    def holds(self, view: View) -> Truth:
        return self._clash(view) is None

    def explain(self, view: View) -> str:
        clash = self._clash(view)
        if clash is None:
            return "all values differ"
        first, second, value = clash
        return f"{first} and {second} are both {value}, but must differ"

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        return all_distinct(lowering.store, [leaf for path in self.over for leaf in lowering.leaves(path)])

    def _clash(self, view: View) -> tuple[str, str, str] | None:
        seen: dict[object, str] = {}
        for path, value in (field for over in self.over for field in view.resolve(over)):
            found = quantity(value)
            if found.code is None or isinstance(found.code, Special):
                continue
            key = exact_key(found.code)
            if key in seen:
                return seen[key], path, worded(found)
            seen[key] = path
        return None
