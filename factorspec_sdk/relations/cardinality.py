"""``cardinality``: how often each of some values occurs among the named fields."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from factorspec_sdk.automata.occurrences import Bounds, Occurrences
from factorspec_sdk.automata.reading import reading
from factorspec_sdk.fields.domains import typed_key
from factorspec_sdk.relations.base import PathText, RelationBase
from factorspec_sdk.relations.code_types import constant_code, domains_type
from factorspec_sdk.relations.evaluate import Truth, constant
from factorspec_sdk.relations.expressions import Const
from factorspec_sdk.relations.view import View, value_key
from factorspec_sdk.relations.wording import counted, fields_text, listed_text, worded

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering


class Occurs(Const):
    """A value and how often it must and may occur; ``most`` None: any number of times."""

    least: Annotated[int, Field(ge=0)] = 0
    most: Annotated[int, Field(ge=0)] | None = None


class Cardinality(RelationBase):
    """XCSP3 ``cardinality``. ``closed``: no other values. Null and absent fields do not count."""

    kind: Literal["cardinality"] = "cardinality"
    over: Annotated[tuple[PathText, ...], Field(min_length=1)]
    occurs: Annotated[tuple[Occurs, ...], Field(min_length=1)]
    closed: bool = False

    def holds(self, view: View) -> Truth:
        return self._problem(view) is None

    def explain(self, view: View) -> str:
        return self._problem(view) or "every value occurs as often as it should"

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        reads = lowering.reads(self.over)
        kind = domains_type(domain for _, domain, _ in reads)
        bounds = {typed_key(constant_code(o, kind)): Bounds(o.least, o.most) for o in self.occurs}
        return [reading(lowering.store, Occurrences(reads, bounds, closed=self.closed))]

    def _problem(self, view: View) -> str | None:
        """What is wrong, or None."""
        fields = [(path, value) for over in self.over for path, value in view.resolve(over)]
        taken = {constant(occurs).key: list[tuple[str, object]]() for occurs in self.occurs}
        for path, value in fields:
            key = value_key(value)
            if key in taken:
                taken[key].append((path, value))
            elif key is not None and self.closed:
                listed = listed_text(constant(occurs) for occurs in self.occurs)
                return f"{fields_text([(path, value)])} is none of the values that may occur: {listed}"
        for occurs in self.occurs:
            found = taken[constant(occurs).key]
            if len(found) < occurs.least or (occurs.most is not None and len(found) > occurs.most):
                where = f" ({fields_text(found)})" if found else ""
                return (
                    f"{worded(constant(occurs))} occurs {counted(len(found), 'time')}{where}, but must occur "
                    f"{_times(occurs)}"
                )
        return None


def _times(occurs: Occurs) -> str:
    if occurs.least == occurs.most:
        return f"exactly {counted(occurs.least, 'time')}"
    if occurs.most is None:
        return f"at least {counted(occurs.least, 'time')}"
    return f"{occurs.least} to {occurs.most} times"
