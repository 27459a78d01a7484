"""``table``: the tuple of fields is a row of a table (or is none of its rows)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from factorspec_sdk.automata.tables import membership
from factorspec_sdk.relations.base import PathText, RelationBase
from factorspec_sdk.relations.evaluate import Truth, truth_of
from factorspec_sdk.relations.expressions import Member, Ref
from factorspec_sdk.relations.view import View
from factorspec_sdk.relations.wording import fields_text

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering


class Table(RelationBase):
    """XCSP3 ``extension``: supports (``allow``) or conflicts (not ``allow``). null matches null cells."""

    kind: Literal["table"] = "table"
    over: Annotated[tuple[PathText, ...], Field(min_length=1)]
    table: str
    allow: bool = True

    def holds(self, view: View) -> Truth:
        return truth_of(self._condition(), view)

    def explain(self, view: View) -> str:
        fields = fields_text(view.one(path) for path in self.over)
        verb = "is no row" if self.allow else "is a forbidden row"
        return f"({fields}) {verb} of table {self.table!r}"

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        condition = self._condition()
        types = [lowering.type_of(key) for key in condition.key]
        nodes = [lowering.value(key) for key in condition.key]
        keys, trie = lowering.keyed(self.table, nodes, types, lookup_leaf=False)
        return [membership(lowering.store, trie, keys, self.allow)]

    def _condition(self) -> Member:
        keys = tuple(Ref(ref=path) for path in self.over)
        return Member(op="member", table=self.table, key=keys, allow=self.allow)
