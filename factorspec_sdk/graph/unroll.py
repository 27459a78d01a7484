"""Pass 1: from the resolved schema to the unrolled record, its slots and its holes.

Before: a ``SchemaNode`` tree. After: a ``Part`` tree in which every list is unrolled to its largest
length, slots numbered in writing order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from factorspec_sdk.errors import EmptyDomain, Problem, TooLarge
from factorspec_sdk.fields.domains import BranchDomain, Domain, IntRange
from factorspec_sdk.fields.paths import below
from factorspec_sdk.graph.program import HoleSpec, Slot
from factorspec_sdk.relations.unrolled import (
    FieldPart,
    FreePart,
    LeafPart,
    ListPart,
    NullablePart,
    ObjectPart,
    Part,
    Presence,
    UnionPart,
)
from factorspec_sdk.wire.finite import NULL_ONLY
from factorspec_sdk.wire.schema import (
    ArrayNode,
    FiniteNode,
    FreeNode,
    NeverNode,
    NullableNode,
    ObjectNode,
    SchemaNode,
    TextNode,
    UnionNode,
)

_BRANCH = BranchDomain(2)
_END = BranchDomain(1)
#: slots that one spec may unroll to
MAX_SLOTS = 20_000


@dataclass
class Unrolled:
    """The record, its slots and holes, and for each slot the slot that controls whether it occurs.

    owners: (object part, its schema node, names of enclosing nodes first) for every object instance.
    ends: for each slot that decides a union, the slots that end its branches (see ``UnionPart``).
    """

    root: Part
    slots: list[Slot]
    holes: list[HoleSpec]
    controllers: dict[int, Presence]
    owners: list[tuple[ObjectPart, tuple[ObjectNode, ...]]] = field(default_factory=list)
    ends: dict[int, tuple[int | None, ...]] = field(default_factory=dict)

    def controlling(self, slot: int) -> Iterator[int]:
        """The slots that decide whether ``slot`` occurs, from the nearest outwards.

        Of a union also the ends of the branches before, after which the slot is left out.
        """
        presence = self.controllers.get(slot)
        while presence is not None:
            yield presence[0]
            if presence[0] in self.ends:
                yield from (end for end in self.ends[presence[0]][: presence[1]] if end is not None)
            presence = self.controllers.get(presence[0])


def unroll(root: ObjectNode, lengths: Mapping[str, tuple[int, int]] | None = None) -> Unrolled:
    """Unroll a schema.

    Args:
        root: the resolved schema.
        lengths: (least, most) items by list path, where narrower than the schema says.

    Raises:
        TooLarge: more than ``MAX_SLOTS`` slots and holes.
        EmptyDomain: a field that must be written has no value.
    """
    walker = _Walker(lengths or {})
    part = walker.part(root, "", None, ())
    return Unrolled(part, walker.slots, walker.holes, walker.controllers, walker.owners, walker.ends)


class _Walker:
    def __init__(self, lengths: Mapping[str, tuple[int, int]]) -> None:
        self.lengths = lengths
        self.slots: list[Slot] = []
        self.holes: list[HoleSpec] = []
        self.controllers: dict[int, Presence] = {}
        self.owners: list[tuple[ObjectPart, tuple[ObjectNode, ...]]] = []
        self.ends: dict[int, tuple[int | None, ...]] = {}

    def slot(self, path: str, domain: Domain, presence: Presence, pointer: str) -> int:
        self._room(pointer)
        if not len(domain):
            raise EmptyDomain("a field has no value", [Problem(pointer, f"the domain of {path!r} is empty")])
        number = len(self.slots)
        self.slots.append(Slot(number, path, domain))
        self.controllers[number] = presence
        return number

    def _room(self, pointer: str) -> None:
        if len(self.slots) + len(self.holes) >= MAX_SLOTS:
            problem = Problem(
                pointer,
                f"the record unrolls to more than {MAX_SLOTS} fields",
                hint="lower maxItems or max_depth",
            )
            raise TooLarge("the spec is too large", [problem])

    def hole(self, spec: HoleSpec, pointer: str) -> int:
        self._room(pointer)
        self.holes.append(spec)
        return len(self.holes) - 1

    def part(self, node: SchemaNode, path: str, presence: Presence, outer: tuple[ObjectNode, ...]) -> Part:
        match node:
            case FiniteNode():
                slot = self.slot(path, node.domain, presence, node.pointer)
                return LeafPart(path, slot, node.domain, presence)
            case TextNode():
                return self.text_part(node, path, presence)
            case FreeNode():
                hole = self.hole(HoleSpec(path, "json", node.schema, grammar=node.grammar), node.pointer)
                return FreePart(path, hole, presence)
            case NullableNode() if isinstance(node.inner, NeverNode):
                return self.part(FiniteNode(node.pointer, NULL_ONLY), path, presence, outer)
            case NullableNode():
                slot = self.slot(f"{path}?", _BRANCH, presence, node.pointer)
                return NullablePart(path, slot, self.part(node.inner, path, (slot, 1), outer))
            case UnionNode():
                return self.union_part(node, path, presence, outer)
            case NeverNode():
                raise AssertionError("a part without a value does not occur")
            case ArrayNode():
                return self.list_part(node, path, presence, outer)
            case ObjectNode():
                return self.object_part(node, path, presence, (*outer, node))

    def text_part(self, node: TextNode, path: str, presence: Presence) -> Part:
        spec = HoleSpec(path, "string", node.schema, node.min_length, node.max_length)
        hole = self.hole(spec, node.pointer)
        if not node.measured:
            return FreePart(path, hole, presence)
        assert node.max_length is not None
        lengths, name = IntRange(node.min_length, node.max_length), f"length({path})"
        slot = self.slot(name, lengths, presence, node.pointer)
        return FreePart(path, hole, presence, LeafPart(name, slot, lengths, presence))

    def union_part(
        self, node: UnionNode, path: str, presence: Presence, outer: tuple[ObjectNode, ...]
    ) -> Part:
        taken = [branch for branch in node.branches if not isinstance(branch, NeverNode)]
        if len(taken) == 1:
            return self.part(taken[0], path, presence, outer)
        slot = self.slot(f"{path}|", BranchDomain(len(taken)), presence, node.pointer)
        branches: list[Part] = []
        ends: list[int | None] = []
        for index, branch in enumerate(taken):
            before = len(self.slots)
            branches.append(self.part(branch, path, (slot, index), outer))
            last = len(self.slots) == before or index == len(taken) - 1
            ends.append(None if last else self.slot(f"{path}|{index}", _END, (slot, index), node.pointer))
        self.ends[slot] = tuple(ends)
        return UnionPart(path, slot, tuple(branches), tuple(ends))

    def list_part(
        self, node: ArrayNode, path: str, presence: Presence, outer: tuple[ObjectNode, ...]
    ) -> Part:
        items: list[Part] = []
        more: list[int | None] = []
        starts: list[int] = []
        inside = presence
        least, most = self.lengths.get(path, (node.min_items, node.max_items))
        for at in range(most):
            here = f"{path}[{at}]"
            if at >= least:
                slot = self.slot(f"{here}?", _BRANCH, inside, node.pointer)
                inside = (slot, 1)
                more.append(slot)
            else:
                more.append(None)
            starts.append(len(self.slots))
            items.append(self.part(node.item, here, inside, outer))
        starts.append(len(self.slots))
        return ListPart(path, presence, tuple(items), tuple(more), tuple(starts))

    def object_part(
        self, node: ObjectNode, path: str, presence: Presence, nodes: tuple[ObjectNode, ...]
    ) -> Part:
        fields: list[FieldPart] = []
        for prop in node.properties:
            if isinstance(prop.node, NeverNode):
                continue
            here = below(path, prop.name)
            slot = None if prop.required else self.slot(f"{here}?", _BRANCH, presence, node.pointer)
            inside = presence if slot is None else (slot, 1)
            fields.append(FieldPart(prop.name, slot, self.part(prop.node, here, inside, nodes)))
        part = ObjectPart(path, presence, tuple(fields))
        self.owners.append((part, nodes))
        return part
