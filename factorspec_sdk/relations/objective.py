"""The objective: expressions over the record to maximise or minimise, one level after the other.

A list of ``Goal``\\ s is read lexicographically: the first is optimised over the valid records; only records
within its ``gap`` of that optimum remain, over which the second is optimised; and so on. What remains after
the last level is what decoding can reach.

The value of a goal is an integer, a date or a time. A record where the expression is null, absent, unknown
or missing has *no value*: it stands behind every record that has one, within no gap of it. If no record has
a value, the level restricts nothing.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from factorspec_sdk.fields.domains import CodeType, Scalar, code_to_iso, moment_of
from factorspec_sdk.relations.evaluate import value_of
from factorspec_sdk.relations.expressions import Expr, WireModel
from factorspec_sdk.relations.view import Quantity, View

#: differences of codes are below this: a gap of so much restricts nothing but records without a value
MAX_GAP = 2**63 - 1


class Goal(WireModel):
    """One level of an objective.

    gap: how far from the optimum a record may be, in units of the expression (days, seconds for times).
    best_bound: where the optimum cannot be proved within the budget, take the best value found in its place.
    name: how reports call it.
    """

    goal: Literal["maximize", "minimize"]
    expr: Expr
    gap: Annotated[int, Field(ge=0, le=MAX_GAP)] = 0
    best_bound: bool = False
    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is."""
        return 1 if self.goal == "maximize" else -1

    def quantity(self, view: View) -> Quantity:
        """Meaning: the value of a record and what it is; see ``number``."""
        return value_of(self.expr, view)

    def number(self, view: View) -> int | None:
        """Meaning: the value of a record, None where it has none."""
        return number_of(self.quantity(view))


def number_of(quantity: Quantity) -> int | None:
    """The number that a value is optimised as; None where it has none."""
    code = quantity.code
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def shown_value(quantity: Quantity) -> Scalar:
    """The value as people write it: dates and times as ISO texts, None where there is none."""
    number = number_of(quantity)
    return None if number is None else shown_number(number, quantity.type)


def shown_number(number: int, kind: CodeType | None) -> Scalar:
    """A number as values of this type are written."""
    moment = moment_of(kind)
    return number if moment is None else code_to_iso(moment, number)
