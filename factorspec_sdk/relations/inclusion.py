"""What ``member_of`` and ``subset_of`` have in common: values that must occur elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from factorspec_sdk.automata.inclusion import Inclusion, Listed
from factorspec_sdk.automata.reading import Key, reading
from factorspec_sdk.fields.domains import CodeType, encode_scalar, typed_key
from factorspec_sdk.relations.base import PathText, RelationBase
from factorspec_sdk.relations.evaluate import Truth
from factorspec_sdk.relations.view import View, value_key
from factorspec_sdk.relations.wording import fields_text

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering


class Occurring(RelationBase):
    """Each value of ``over`` occurs among the fields ``of``, or in a column of a table (one of the two).

    Null and absent fields of ``over`` are left out; null among ``of`` is no value. Where there is nothing to
    occur in (an empty or missing list, a table without rows), any value of ``over`` breaks the relation.
    """

    over: Annotated[tuple[PathText, ...], Field(min_length=1)]
    of: Annotated[tuple[PathText, ...], Field(min_length=1)] | None = None
    table: str | None = None
    column: Annotated[int, Field(ge=0)] = 0

    def holds(self, view: View) -> Truth:
        return next(self._strays(view), None) is None

    def explain(self, view: View) -> str:
        stray = fields_text([next(self._strays(view))])
        if self.table is not None:
            return f"{stray} does not occur in column {self.column} of table {self.table!r}"
        there = [field for path in self.of or () for field in view.resolve(path)]
        return f"{stray} is none of {fields_text(there) or 'the values: there are none'}"

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        store = lowering.store
        needles = lowering.reads(self.over)
        if self.table is None:
            return [reading(store, Inclusion(needles, lowering.reads(self.of or ())))]
        keys: dict[CodeType | None, set[Key]] = {}
        plans = []
        for needle in needles:
            kind = needle[1].code_type
            if kind not in keys:
                cells = (row[self.column] for row in lowering.tables[self.table])
                keys[kind] = {typed_key(encode_scalar(cell, kind)) for cell in cells}
            plans.append(Listed([needle], keys[kind]))
        return [reading(store, plan) for plan in plans]

    def _strays(self, view: View) -> Iterator[tuple[str, object]]:
        """The fields whose value does not occur."""
        there = {value_key(value) for path in self.of or () for _, value in view.resolve(path)}
        for path in self.over:
            for shown, value in view.resolve(path):
                key = value_key(value)
                if key is None:
                    continue
                if self.table is None and key not in there:
                    yield shown, value
                if self.table is not None and not view.in_column(self.table, self.column, value):
                    yield shown, value
