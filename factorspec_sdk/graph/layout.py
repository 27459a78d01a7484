"""Pass 2: from the unrolled record to the program of literals, values, branches and holes.

The program is emitted from its end, so that every node knows what follows and shared endings (a
list that may stop early) are one piece of program.
"""

from __future__ import annotations

from factorspec_sdk.fields.text import ITEM_SEPARATOR, KEY_SEPARATOR, json_text
from factorspec_sdk.graph.program import Branch, End, Hole, HoleSpec, Length, Literal, Node, Program, Value
from factorspec_sdk.graph.unroll import Unrolled
from factorspec_sdk.relations.unrolled import (
    FieldPart,
    FreePart,
    LeafPart,
    ListPart,
    NullablePart,
    ObjectPart,
    Part,
    UnionPart,
)


def lay_out(unrolled: Unrolled) -> Program:
    """The program that writes the record in canonical form. O(size of the unrolled record)."""
    emitter = _Emitter(unrolled.holes)
    start = emitter.part(unrolled.root, emitter.node(End()))
    return Program(tuple(emitter.nodes), start, tuple(unrolled.slots), tuple(unrolled.holes))


class _Emitter:
    def __init__(self, holes: list[HoleSpec]) -> None:
        self.nodes: list[Node] = []
        self.holes = holes

    def node(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def literal(self, text: str, then: int) -> int:
        following = self.nodes[then]
        if isinstance(following, Literal):
            return self.node(Literal(text + following.text, following.next))
        return self.node(Literal(text, then))

    def part(self, part: Part, then: int) -> int:
        match part:
            case LeafPart():
                return self.node(Value(part.slot, then))
            case FreePart():
                return self.free(part, then)
            case NullablePart():
                null = self.literal("null", then)
                return self.node(Branch(part.slot, (null, self.part(part.inner, then))))
            case UnionPart():
                return self.union(part, then)
            case ListPart():
                return self.list_part(part, then)
            case ObjectPart():
                return self.literal("{", self.fields(part.fields, then))

    def free(self, part: FreePart, then: int) -> int:
        if self.holes[part.hole].kind == "json":
            return self.node(Hole(part.hole, then))
        behind = self.literal('"', then)
        if part.length is not None:
            behind = self.node(Length(part.length.slot, behind))
        return self.literal('"', self.node(Hole(part.hole, behind)))

    def union(self, part: UnionPart, then: int) -> int:
        targets = [
            self.part(branch, then if end is None else self.node(Branch(end, (then,))))
            for branch, end in zip(part.branches, part.ends, strict=True)
        ]
        return self.node(Branch(part.slot, tuple(targets)))

    def list_part(self, part: ListPart, then: int) -> int:
        stop = self.literal("]", then)
        follow = stop
        for at in range(len(part.items) - 1, -1, -1):
            item = self.part(part.items[at], follow)
            entry = self.literal(ITEM_SEPARATOR, item) if at else item
            slot = part.more[at]
            follow = entry if slot is None else self.node(Branch(slot, (stop, entry)))
        return self.literal("[", follow)

    def fields(self, fields: tuple[FieldPart, ...], then: int) -> int:
        """The fields, then "}". Two programs side by side until the first field that is always
        written: with and without a field before, which decides the separator.
        """
        after = before = self.literal("}", then)  # after: something was written already
        for field in reversed(fields):
            key = json_text(field.name) + KEY_SEPARATOR
            value = self.part(field.part, after)
            written = self.literal(ITEM_SEPARATOR + key, value)
            first = self.literal(key, value)
            if field.slot is None:
                after, before = written, first
            else:
                after, before = (
                    self.node(Branch(field.slot, (after, written))),
                    self.node(Branch(field.slot, (before, first))),
                )
        return before
