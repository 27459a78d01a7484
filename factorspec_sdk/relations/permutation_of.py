"""``permutation_of``: the values of some fields are given values, in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from factorspec_sdk.automata.balance import Balance, Consecutive
from factorspec_sdk.automata.linear import compare
from factorspec_sdk.automata.reading import reading
from factorspec_sdk.fields.domains import typed_key
from factorspec_sdk.relations.base import PathText, RelationBase
from factorspec_sdk.relations.code_types import constant_code, domains_type
from factorspec_sdk.relations.evaluate import Truth, constant
from factorspec_sdk.relations.expressions import Const
from factorspec_sdk.relations.lower_counts import num_values
from factorspec_sdk.relations.view import Quantity, View, quantity, value_key
from factorspec_sdk.relations.wording import fields_text, listed_text

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering


class PermutationOf(RelationBase):
    """The fields hold each of the given values as often as it is given, and nothing else.

    Given are (one of the three): ``values``; the values of the fields ``of``; or ``start``, which stands for
    start, start + 1, .. start + N - 1, where N is how many values the fields hold. Null and absent fields are
    left out on both sides.
    """

    on_lengths: ClassVar[bool] = True

    kind: Literal["permutation_of"] = "permutation_of"
    over: Annotated[tuple[PathText, ...], Field(min_length=1)]
    values: tuple[Const, ...] | None = None
    of: Annotated[tuple[PathText, ...], Field(min_length=1)] | None = None
    start: int | None = None

    def holds(self, view: View) -> Truth:
        return self._problem(view) is None

    def explain(self, view: View) -> str:
        return self._problem(view) or "the values are a permutation"

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        store, reads = lowering.store, lowering.reads(self.over)
        if self.start is not None:
            return [reading(store, Consecutive(reads, self.start))]
        kind = domains_type(domain for _, domain, _ in reads)
        codes = (constant_code(c, kind) for c in self.values or ())
        keys = [typed_key(code) for code in codes if code is not None]
        found = [reading(store, Balance(reads, lowering.reads(self.of or ()), keys))]
        number = num_values(lowering, self.over)
        other = store.known(len(keys)) if self.of is None else num_values(lowering, self.of)
        if number is not None and other is not None:  # follows from the other, but bounds the lists' lengths
            found.append(compare(store, "eq", number, other))
        return found

    def _problem(self, view: View) -> str | None:
        """What is wrong, or None."""
        fields = [(path, value) for over in self.over for path, value in view.resolve(over)]
        held = [(field, key) for field in fields if (key := value_key(field[1])) is not None]
        given = self._given(view, len(held))
        left = Counter(value.key for value in given)
        for field, key in held:
            if not left[key]:
                rule = "is there more often than it is given" if key in left else "is none of the values"
                return f"{fields_text([field])} {rule}: {listed_text(given)}"
            left[key] -= 1
        missing = [value for value in given if left[value.key]]
        return f"no field takes {listed_text(missing)}" if missing else None

    def _given(self, view: View, number: int) -> list[Quantity]:
        """The given values."""
        if self.start is not None:
            return [Quantity(self.start + at, "int") for at in range(number)]
        if self.of is not None:
            found = [quantity(value) for path in self.of for _, value in view.resolve(path)]
        else:
            found = [constant(value) for value in self.values or ()]
        return [value for value in found if value.key is not None]
