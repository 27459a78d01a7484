"""The nearest valid record: the fewest changed fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from factorspec_sdk.automata.nodes import NodeStore
from factorspec_sdk.errors import JsonValue, TooLarge
from factorspec_sdk.explaining.differences import Change, changes_between, num_equal
from factorspec_sdk.explaining.fixing import Fixing
from factorspec_sdk.explaining.keeping import Kept, OutOfQuestions, most_kept
from factorspec_sdk.explaining.placing import Placed, place
from factorspec_sdk.explaining.rewriting import written
from factorspec_sdk.explaining.subject import RecordLike, SpecLike, record_of, spec_of
from factorspec_sdk.explaining.weights import Keep, keeps_of
from factorspec_sdk.fields.domains import BranchDomain
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph.compile import STEP_BUDGET, compile_spec
from factorspec_sdk.graph.components import Component, OverBudget
from factorspec_sdk.graph.factors import Group, connect, lower_relations
from factorspec_sdk.graph.sources import bind_sources
from factorspec_sdk.graph.unroll import unroll
from factorspec_sdk.wire.spec import Spec

#: work on the question what of one group of fields can be kept, in steps of the search; some seconds
KEEPING_STEPS = 300_000


@dataclass(frozen=True, slots=True)
class Nearest:
    """A valid record near an invalid one.

    record: JSON, in writing order.
    changes: what differs, field by field.
    kept: fields that stand as they were given.
    proven: no valid record changes fewer fields. False where a budget ran out, or where another branch of a
        union may be nearer (its fields are not counted one by one); the record is valid then too.
    """

    record: dict[str, JsonValue]
    changes: tuple[Change, ...]
    proven: bool
    kept: int

    def __str__(self) -> str:
        if not self.changes:
            return "the record is valid"
        least = "" if self.proven else ", maybe not the fewest"
        lines = [f"{len(self.changes)} changed{least}:", *(f"  - {change}" for change in self.changes)]
        return "\n".join(lines)


def nearest(subject: SpecLike, record: RecordLike, step_budget: int = STEP_BUDGET) -> Nearest:
    """The valid record with the fewest fields changed, added or removed.

    Free text stays as it is where its length and its source allow it. Among equally near records,
    numbers move as little as they can in writing order; of a value outside its domain, the one that it comes
    closest to counts (``closest_value.py``).

    Args:
        subject: a spec, or a model (bound, if it has parameters).
        record: JSON or an instance, valid or not; parts that the schema has no place for are dropped.
        step_budget: for each question to the constraint core (``keeping.MAX_QUESTIONS`` a component, and
            ``KEEPING_STEPS`` together).

    Raises:
        Unsatisfiable: no record exists.
        TooLarge: feasibility of the spec cannot be proved within the budget.
        RecordError: a new free part is needed that cannot be made up (its schema is not plain text).
    """
    return nearest_of(subject, [record], step_budget)[1]


def nearest_of(
    subject: SpecLike, records: Sequence[RecordLike], step_budget: int = STEP_BUDGET
) -> tuple[int, Nearest]:
    """The place of the record that says most of the fields (the last of equals), and what is nearest to it.

    Args and errors are those of ``nearest``; there is at least one record.
    """
    spec = spec_of(subject)
    compile_spec(spec, step_budget)  # says why where no record exists
    repair, given = _Repair(spec, step_budget), [record_of(record) for record in records]
    at = repair.fullest(given)
    return at, repair.nearest(given[at])


class _Repair:
    def __init__(self, spec: Spec, step_budget: int) -> None:
        self._store = NodeStore()
        self._unrolled, impossible = bind_sources(unroll(spec.root), self._store)
        factors = [*lower_relations(self._unrolled, self._store), *impossible]
        self._groups = connect(factors, self._unrolled)
        self._fixing = Fixing(self._unrolled, self._store, step_budget)

    def fullest(self, records: Sequence[dict[str, JsonValue]]) -> int:
        """The place of the record that says most."""
        if len(records) == 1:
            return 0

        def worth(at: int) -> tuple[int, ...]:
            given = place(self._unrolled.root, records[at], self._unrolled.holes)
            slots = self._unrolled.slots
            values = sum(not isinstance(slots[slot].domain, BranchDomain) for slot in given.decisions)
            texts = sum(text is not None for text in given.texts.values())
            return values + texts, len(given.nearby), -len(given.strays), at

        return max(range(len(records)), key=worth)

    def nearest(self, record: dict[str, JsonValue]) -> Nearest:
        given = place(self._unrolled.root, record, self._unrolled.holes)
        keeps = keeps_of(self._unrolled.root, given)
        decisions, proven = dict[int, int](), True
        for group in self._groups:
            mine = {slot: keeps[slot] for slot in group.slots if slot in keeps}
            kept = self._kept(group, mine)
            other_branch = len(kept.slots) < len(mine) and any(
                slot in self._unrolled.ends for slot in group.slots
            )
            proven = proven and kept.proven and not other_branch
            decisions |= self._completed(group, {slot: mine[slot] for slot in kept.slots}, given)
        self._free_slots(decisions, given)
        repaired = written(self._unrolled, decisions, given.texts)
        changes = tuple(changes_between(record, repaired))
        return Nearest(repaired, changes, proven, num_equal(record, repaired))

    def _kept(self, group: Group, keeps: Mapping[int, Keep]) -> Kept:
        limit = self._fixing.steps + KEEPING_STEPS

        def can_keep(slots: Sequence[int]) -> bool | None:
            if self._fixing.steps > limit:
                raise OutOfQuestions
            fixed, never = _split({slot: keeps[slot] for slot in slots})
            return self._fixing.is_satisfiable(group.factors, fixed, never)

        return most_kept({slot: keep.weight for slot, keep in keeps.items()}, can_keep)

    def _completed(self, group: Group, keeps: Mapping[int, Keep], given: Placed) -> dict[int, int]:
        """Decisions for all slots of the group, as near as possible to what is given."""
        fixed, never = _split(keeps)
        try:
            components = self._fixing.components(group.factors, fixed, never)
        except OverBudget:
            raise TooLarge("the step budget for repairing the record ran out") from None
        assert components is not None, "what is kept can be kept"
        return dict(step for component in components for step in self._walk(component, given))

    def _walk(self, component: Component, given: Placed) -> Iterator[tuple[int, int]]:
        layer, state = 0, component.start
        while layer < len(component.slots):
            slot = component.slots[layer]
            wanted = given.decisions.get(slot, given.nearby.get(slot))
            index = near(component.values(layer, state), wanted)
            yield slot, index
            layer, state = component.step(layer, state, index)

    def _free_slots(self, decisions: dict[int, int], given: Placed) -> None:
        """Slots that no relation reads: as given where that is in the domain, else the first value."""
        for slot in self._unrolled.slots:
            wanted = given.decisions.get(slot.id, given.nearby.get(slot.id, 0))
            decisions.setdefault(slot.id, wanted)


def _split(keeps: Mapping[int, Keep]) -> tuple[dict[int, int], list[int]]:
    """Decisions to fix, and presence slots whose part does not occur."""
    fixed = {slot: keep.index for slot, keep in keeps.items() if keep.index is not None}
    return fixed, [slot for slot, keep in keeps.items() if keep.index is None]


def near(values: IndexSet, wanted: int | None) -> int:
    """The index of a set that is not empty nearest to the wanted one; the first where none is wanted.

    O(log distance) questions to the set.
    """
    if wanted is None:
        return values.first
    low, high = -1, 0  # no member is within ``low``, some is within ``high``
    while not values.any_in(wanted - high, wanted + high):
        low, high = high, max(1, 2 * high)
    while high - low > 1:
        middle = (low + high) // 2
        if values.any_in(wanted - middle, wanted + middle):
            high = middle
        else:
            low = middle
    return wanted - high if values.any_in(wanted - high, wanted - high) else wanted + high
