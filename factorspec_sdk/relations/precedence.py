"""``precedence``: values are first used in a given order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from factorspec_sdk.automata.machine import FirstUse
from factorspec_sdk.automata.reading import reading
from factorspec_sdk.fields.domains import typed_key
from factorspec_sdk.relations.base import PathText, RelationBase
from factorspec_sdk.relations.code_types import constant_code, domains_type
from factorspec_sdk.relations.evaluate import Truth, constant
from factorspec_sdk.relations.expressions import Const
from factorspec_sdk.relations.view import Quantity, View, value_key
from factorspec_sdk.relations.wording import fields_text, worded

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering


class Precedence(RelationBase):
    """XCSP3 ``precedence``: of ``values`` each but the first occurs only after the one before it did.

    The fields count in the order in which they are named. Null and absent ones are skipped.
    """

    kind: Literal["precedence"] = "precedence"
    over: Annotated[tuple[PathText, ...], Field(min_length=1)]
    values: Annotated[tuple[Const, ...], Field(min_length=2)]

    def holds(self, view: View) -> Truth:
        return self._early(view) is None

    def explain(self, view: View) -> str:
        early = self._early(view)
        assert early is not None
        field, before = early
        return f"{fields_text([field])} stands before the first {worded(before)}"

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        reads = lowering.reads(self.over)
        kind = domains_type(domain for _, domain, _ in reads)
        return [
            reading(lowering.store, FirstUse(reads, [typed_key(constant_code(c, kind)) for c in self.values]))
        ]

    def _early(self, view: View) -> tuple[tuple[str, object], Quantity] | None:
        """A field whose value comes too early, and the value that must occur before it."""
        chain = [constant(value) for value in self.values]
        places, used = {value.key: place for place, value in enumerate(chain)}, 0
        for path, value in (field for over in self.over for field in view.resolve(over)):
            place = places.get(value_key(value))
            if place is not None and place > used:
                return (path, value), chain[place - 1]
            used = used if place is None else max(used, place + 1)
        return None
