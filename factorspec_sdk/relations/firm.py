"""Which values are numbers wherever the item that they belong to is there."""

from __future__ import annotations

from factorspec_sdk.automata.linear import Linear
from factorspec_sdk.automata.nodes import Known, Mark, SlotValue, ValueNode
from factorspec_sdk.automata.tables import Lookup
from factorspec_sdk.automata.values import Magnitude, Product
from factorspec_sdk.relations.unrolled import LeafPart, ObjectPart, Part


def firm_slots(part: Part) -> frozenset[int]:
    """Slots of the scalars that are always written where ``part`` is."""
    if isinstance(part, LeafPart):
        return frozenset({part.slot})
    if not isinstance(part, ObjectPart):
        return frozenset()
    fields = (field.part for field in part.fields if field.slot is None)
    return frozenset[int]().union(*map(firm_slots, fields))


def is_firm(node: ValueNode, slots: frozenset[int]) -> bool:
    """True if the value is a number (or missing from a table) where ``slots`` are written.

    Sound, not complete: False where it is hard to say.
    """
    match node:
        case Known():
            return node.number is not None
        case SlotValue():
            return _written(node, slots) and not node.nullable
        case Linear():
            return not node.poison and all(is_firm(term, slots) for term, _ in node.terms)
        case Product():
            return is_firm(node.left, slots) and is_firm(node.right, slots)
        case Magnitude():
            return is_firm(node.inner, slots)
        case Lookup():
            return node.lo is not None and all(_keyed(key, slots) for key in node.keys)
        case _:
            return False


def _keyed(node: ValueNode, slots: frozenset[int]) -> bool:
    """True if the value is a JSON scalar, null included, where ``slots`` are written."""
    if isinstance(node, Known):
        return not isinstance(node.code, Mark)
    return isinstance(node, SlotValue) and _written(node, slots)


def _written(node: SlotValue, slots: frozenset[int]) -> bool:
    return node.always_present or node.slot in slots
