"""``regular``: the fields, one after the other, are a word of a finite automaton."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from factorspec_sdk.automata.machine import Machine
from factorspec_sdk.automata.reading import Key, reading
from factorspec_sdk.errors import shown
from factorspec_sdk.fields.domains import Scalar, encode_scalar, typed_key
from factorspec_sdk.relations.base import PathText, RelationBase
from factorspec_sdk.relations.evaluate import Truth
from factorspec_sdk.relations.view import View, quantity
from factorspec_sdk.relations.wording import fields_text

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering

StateName = str | int


class Regular(RelationBase):
    """XCSP3 ``regular``. The table's rows are transitions: state, value, next state; one per state and value.

    The fields are read in the order in which they are named; null and absent ones are skipped. The relation
    holds if every value has a transition and the last state is one of ``final``.
    """

    kind: Literal["regular"] = "regular"
    over: Annotated[tuple[PathText, ...], Field(min_length=1)]
    table: str
    start: StateName
    final: Annotated[tuple[StateName, ...], Field(min_length=1)]

    def holds(self, view: View) -> Truth:
        return self._problem(view) is None

    def explain(self, view: View) -> str:
        return self._problem(view) or f"the values end in state {shown(self.start)}"

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        reads = lowering.reads(self.over)
        kinds = {domain.code_type for _, domain, _ in reads}
        arcs: dict[Hashable, dict[Key, Hashable]] = {}
        for state, value, after in lowering.tables[self.table]:
            inputs = arcs.setdefault(typed_key(state), {})
            inputs.update((typed_key(encode_scalar(value, kind)), typed_key(after)) for kind in kinds)
        final = map(typed_key, self.final)
        return [reading(lowering.store, Machine(reads, arcs, typed_key(self.start), final))]

    def _problem(self, view: View) -> str | None:
        """Where the automaton is stuck, or where it ends wrongly; None if it accepts."""
        state: Scalar = self.start
        for path, value in (field for over in self.over for field in view.resolve(over)):
            found = quantity(value)
            if found.key is None:
                continue
            row = view.rows_by_key(self.table, (None, found.type)).get((typed_key(state), found.key))
            if row is None:
                return f"{fields_text([(path, value)])} cannot come in state {shown(state)}"
            state = row[2]
        if typed_key(state) in map(typed_key, self.final):
            return None
        ends = " or ".join(shown(name) for name in self.final)
        return f"the values end in state {shown(state)}, but must end in {ends}"
