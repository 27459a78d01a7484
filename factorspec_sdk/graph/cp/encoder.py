"""Slots and nodes of one component as a CP-SAT model. Each node is encoded once, by its class's encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from factorspec_sdk.automata.nodes import Condition, Known, SlotValue, ValueNode
from factorspec_sdk.automata.nodes import Truth as Decided
from factorspec_sdk.fields.domains import Domain
from factorspec_sdk.graph.cp.encoded import SlotCode, Truth, Value, known
from factorspec_sdk.graph.cp.model import TRUE, Lit, Model
from factorspec_sdk.relations.unrolled import Presence

ValueEncoder = Callable[["Encoder", ValueNode], Value]
ConditionEncoder = Callable[["Encoder", Condition], Truth]
#: posts that a condition is not false
Requirement = Callable[["Encoder", Condition], None]
ValueT = TypeVar("ValueT", bound=ValueNode)
ConditionT = TypeVar("ConditionT", bound=Condition)


@dataclass(frozen=True)
class Families:
    """Which encoder takes which class of node; ``any_value`` and ``any_condition`` take all others.

    requirements: for classes that are posted in a shorter way than by their truth.
    """

    values: Mapping[type[ValueNode], ValueEncoder]
    conditions: Mapping[type[Condition], ConditionEncoder]
    requirements: Mapping[type[Condition], Requirement]
    any_value: ValueEncoder
    any_condition: ConditionEncoder


class Encoder:
    """Encodes the conditions of one component. slots: the value of each slot, in writing order."""

    def __init__(
        self, domains: Mapping[int, Domain], controllers: Mapping[int, Presence], families: Families
    ) -> None:
        """The slots in writing order, and what makes each occur.

        A controller that is not among the slots is taken as decided in favour.
        """
        self.model = Model()
        self.slots: dict[int, SlotCode] = {}
        self._families = families
        self._values: dict[ValueNode, Value] = {}
        self._truths: dict[Condition, Truth] = {}
        for slot, domain in domains.items():
            self.slots[slot] = self._new_slot(domain, controllers.get(slot))

    def _new_slot(self, domain: Domain, presence: Presence) -> SlotCode:
        controller = None if presence is None else self.slots.get(presence[0])
        present = TRUE if presence is None or controller is None else controller.at([presence[1]])
        return SlotCode(self.model, domain, present)

    def taken(self, slot: int, index: int) -> Lit:
        """True where the slot occurs with this value."""
        return self.slots[slot].at([index])

    def value(self, node: ValueNode) -> Value:
        """A node's value."""
        found = self._values.get(node)
        if found is None:
            if isinstance(node, Known):
                found = known(self.model, node.code)
            elif isinstance(node, SlotValue):
                found = self.slots[node.slot]
            else:
                found = self._families.values.get(type(node), self._families.any_value)(self, node)
            self._values[node] = found
        return found

    def truth(self, condition: Condition) -> Truth:
        """A condition's truth."""
        found = self._truths.get(condition)
        if found is None:
            if isinstance(condition, Decided):
                store = condition.store
                found = Truth(*(TRUE if condition is one else ~TRUE for one in (store.true, store.false)))
            else:
                encode = self._families.conditions.get(type(condition), self._families.any_condition)
                found = encode(self, condition)
            self._truths[condition] = found
        return found

    def require(self, condition: Condition) -> None:
        """Post that a condition is not false."""
        post = self._families.requirements.get(type(condition))
        if post is not None:
            post(self, condition)
        else:
            self.model.clause([~self.truth(condition).false])

    def any_missing(self, values: Iterable[Value]) -> Lit:
        """True where one of the values is MISSING."""
        return self.model.any_of([value.missing for value in values])


def of_value(
    kind: type[ValueT], encode: Callable[[Encoder, ValueT], Value]
) -> tuple[type[ValueNode], ValueEncoder]:
    """An entry of ``Families.values``."""

    def take(encoder: Encoder, node: ValueNode) -> Value:
        assert isinstance(node, kind)
        return encode(encoder, node)

    return kind, take


def of_condition(
    kind: type[ConditionT], encode: Callable[[Encoder, ConditionT], Truth]
) -> tuple[type[Condition], ConditionEncoder]:
    """An entry of ``Families.conditions``."""

    def take(encoder: Encoder, condition: Condition) -> Truth:
        assert isinstance(condition, kind)
        return encode(encoder, condition)

    return kind, take


def required(
    kind: type[ConditionT], post: Callable[[Encoder, ConditionT], None]
) -> tuple[type[Condition], Requirement]:
    """An entry of ``Families.requirements``."""

    def take(encoder: Encoder, condition: Condition) -> None:
        assert isinstance(condition, kind)
        post(encoder, condition)

    return kind, take
