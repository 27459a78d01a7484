"""The fields of one object instance: paths to parts, parts to values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from factorspec_sdk.automata.logic import occurs
from factorspec_sdk.automata.nodes import Condition, Mark, NodeStore, ValueNode
from factorspec_sdk.automata.texts import text_length
from factorspec_sdk.automata.values import choose
from factorspec_sdk.fields.domains import Domain
from factorspec_sdk.fields.paths import FieldPath, Segment, parse_path
from factorspec_sdk.relations.unrolled import (
    FreePart,
    LeafPart,
    ListPart,
    NullablePart,
    Part,
    Presence,
    UnionPart,
    branches,
    choices,
    walk,
)


@dataclass(frozen=True)
class Fields:
    """One object instance (``here``) and the binders in force. Does not change anything but the store.

    Of the branches of a union at most one occurs: the fields of the others are absent.
    """

    store: NodeStore
    here: Part
    binders: Mapping[str, Part]

    def parts(self, path: str) -> list[Part]:
        """The parts a path names, in writing order. Negative indices are not allowed here."""
        found = parse_path(path, tuple(self.binders))
        root = self.here if found.root == "$" else self.binders[found.root]
        return list(walk(root, found.segments))

    def leaves(self, path: str) -> list[LeafPart]:
        """The finite scalars a path names, in writing order."""
        found = (inner for part in self.parts(path) for inner in _in_union(part))
        return [part for part in found if isinstance(part, LeafPart)]

    def reads(self, paths: Sequence[str]) -> list[tuple[int, Domain, bool]]:
        """(slot, domain, it can be absent) of all leaves that some paths name."""
        found = (leaf for path in paths for leaf in self.leaves(path))
        return [(leaf.slot, leaf.domain, leaf.optional) for leaf in found]

    def fields(self, path: str) -> list[ValueNode]:
        """The values of ``leaves``."""
        return [self.leaf(part) for part in self.leaves(path)]

    def leaf(self, part: Part) -> ValueNode:
        """The value of one part: a scalar's code; null or a compound for a nullable object; a branch's."""
        if isinstance(part, LeafPart):
            return self.store.slot(part.slot, part.domain, part.optional)
        if isinstance(part, NullablePart):
            there, null = occurs(self.store, (part.slot, 1)), occurs(self.store, (part.slot, 0))
            absent = choose(self.store, null, self.store.known(None), self.store.known(Mark.ABSENT))
            return choose(self.store, there, self.store.known(Mark.COMPOUND), absent)
        if isinstance(part, UnionPart):
            taken = [(branch, (part.slot, at)) for at, branch in enumerate(part.branches)]
            return self._chosen(taken, self.leaf)
        return self.store.known(Mark.COMPOUND)

    def _chosen(
        self,
        found: Iterable[tuple[Part, Presence]],
        value_of: Callable[[Part], ValueNode],
        missing: Mark = Mark.ABSENT,
    ) -> ValueNode:
        """The value of the part that occurs, of parts in different branches of unions; else ``missing``."""
        value: ValueNode = self.store.known(missing)
        for number, (part, taken) in enumerate(found):
            own = value_of(part)
            if number == 0 and isinstance(part, LeafPart):  # absent by itself in other branches
                value = own
            else:
                value = choose(self.store, occurs(self.store, taken), own, value)
        return value

    def list_at(self, path: str) -> ListPart | None:
        """The list that a path names, or None if there is no such list."""
        return next(iter(self.lists(path)), None)

    def lists(self, path: str) -> list[ListPart]:
        """The lists that a path names, in writing order."""
        found = (inner for part in self.parts(path) for inner in branches(part))
        return [part for part in found if isinstance(part, ListPart)]

    def items(self, path: str) -> tuple[list[tuple[Part, Condition]], Condition] | None:
        """((item, its presence) .., presence of the list), or None if there is no such list."""
        part = self.list_at(path)
        if part is None:
            return None
        items = [(item, occurs(self.store, part.item_presence(k))) for k, item in enumerate(part.items)]
        return items, occurs(self.store, part.presence)

    def bind(self, name: str, item: Part) -> Self:
        """This lowering with one more bound item."""
        return replace(self, binders={**self.binders, name: item})

    def reference(self, path: str) -> ValueNode:
        """The value of a single field, by a path that may count from the end of lists."""
        found = parse_path(path, tuple(self.binders))
        root = self.here if found.root == "$" else self.binders[found.root]
        segments = found.segments
        at = next((i for i, s in enumerate(segments) if isinstance(s, int) and s < 0), None)
        if at is None:
            return self._chosen(choices(root, segments, None), self.leaf)
        offset = segments[at]
        assert isinstance(offset, int)
        inner = (part for above in walk(root, segments[:at]) for part in branches(above))
        lists = ((part, part.presence) for part in inner if isinstance(part, ListPart))
        return self._chosen(lists, partial(self._from_end, offset=offset, rest=segments[at + 1 :]))

    def length(self, path: str) -> ValueNode:
        """The number of characters of a text; unknown where it is null, absent or no text.

        Negative indices are not allowed here.
        """
        found = parse_path(path, tuple(self.binders))
        root = self.here if found.root == "$" else self.binders[found.root]
        return self._chosen(choices(root, found.segments, None), self._length, Mark.UNKNOWN)

    def _length(self, part: Part) -> ValueNode:
        unknown = self.store.known(Mark.UNKNOWN)
        if isinstance(part, FreePart):
            if part.length is None:
                return unknown
            return choose(self.store, occurs(self.store, part.presence), self.leaf(part.length), unknown)
        if isinstance(part, NullablePart):
            there = occurs(self.store, (part.slot, 1))
            return choose(self.store, there, self._length(part.inner), unknown)
        if isinstance(part, UnionPart):
            taken = [(branch, (part.slot, at)) for at, branch in enumerate(part.branches)]
            return self._chosen(taken, self._length, Mark.UNKNOWN)
        return text_length(self.store, self.leaf(part))

    def _from_end(self, part: Part, *, offset: int, rest: tuple[Segment, ...]) -> ValueNode:
        """The field of the item that is ``offset`` from the end, whatever the length turns out to be."""
        assert isinstance(part, ListPart)
        value: ValueNode = self.store.known(Mark.ABSENT)
        for last in range(len(part.items)):
            target = last + 1 + offset
            there: ValueNode = self.store.known(Mark.ABSENT)
            if target >= 0:
                item = replace(self, here=part.items[target], binders={})
                there = item.reference(_path_text(rest))
            value = choose(self.store, occurs(self.store, part.item_presence(last)), there, value)
        return value


def _in_union(part: Part) -> Iterator[Part]:
    """The branches of a union, those of unions in them too; else the part."""
    if isinstance(part, UnionPart):
        for branch in part.branches:
            yield from _in_union(branch)
    else:
        yield part


def _path_text(segments: tuple[Segment, ...]) -> str:
    return str(FieldPath("$", segments))
