"""``same_length``: parallel lists have equally many items; null and absent lists are left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from factorspec_sdk.automata.linear import compare
from factorspec_sdk.automata.values import extreme
from factorspec_sdk.relations.base import PathText, RelationBase
from factorspec_sdk.relations.evaluate import Truth
from factorspec_sdk.relations.lower_numbers import list_length
from factorspec_sdk.relations.view import View, listed
from factorspec_sdk.relations.wording import counted

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering


class SameLength(RelationBase):
    """All lists that the paths name are equally long: ``$.names`` and ``$.ages``, ``$.rows[*].cells``."""

    on_lengths: ClassVar[bool] = True

    kind: Literal["same_length"] = "same_length"
    over: Annotated[tuple[PathText, ...], Field(min_length=1)]

    def holds(self, view: View) -> Truth:
        return len({length for _, length in self._lengths(view)}) <= 1

    def explain(self, view: View) -> str:
        lengths = self._lengths(view)
        first = lengths[0]
        other = next(found for found in lengths if found[1] != first[1])
        number = counted(first[1], "item")
        return f"{first[0]} has {number} and {other[0]} has {other[1]}, but all must be equally long"

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        store = lowering.store
        lists = list({part.path: part for path in self.over for part in lowering.lists(path)}.values())
        lengths = [list_length(store, part) for part in lists]
        if len(lists) < 2:
            return []
        sure = next((at for at, part in enumerate(lists) if part.presence is None), None)
        if sure is not None:
            return [compare(store, "eq", lengths[sure], n) for at, n in enumerate(lengths) if at != sure]
        # lists that may all be missing: least and greatest length leave the missing ones out
        return [compare(store, "eq", extreme(store, 1, lengths), extreme(store, -1, lengths))]

    def _lengths(self, view: View) -> list[tuple[str, int]]:
        found = {path: value for over in self.over for path, value in view.resolve(over)}
        return [(path, len(items)) for path, items in found.items() if listed(items)]
