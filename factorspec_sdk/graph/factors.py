"""Pass 3: from relations to factors (conditions on slots), and from factors to connected components.

Before: unrolled record and relations. After: factors whose conditions are neither true nor unknown,
grouped so that components share no slot and no controlling slot: they are independent of each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from factorspec_sdk.automata.logic import And
from factorspec_sdk.automata.nodes import Condition, NodeStore, Truth
from factorspec_sdk.automata.tries import Trie
from factorspec_sdk.fields.domains import Scalar
from factorspec_sdk.graph.unroll import Unrolled
from factorspec_sdk.relations import Relation
from factorspec_sdk.relations.lowering import Lowering


@dataclass(frozen=True, slots=True)
class Origin:
    """Which relation, in which object (path, "" for the root), at which JSON pointer."""

    relation: Relation
    place: str
    pointer: str

    @property
    def label(self) -> str:
        """The relation's name; for nested objects with the place."""
        return f"{self.relation.name} ({self.place})" if self.place else self.relation.name


@dataclass(frozen=True, slots=True)
class Factor:
    """One condition of one relation. A relation over a list has many."""

    condition: Condition
    origin: Origin


@dataclass(frozen=True, slots=True)
class Group:
    """A connected component: its slots in writing order (controlling ones included) and its factors."""

    slots: tuple[int, ...]
    factors: tuple[Factor, ...]


def lower_relations(
    unrolled: Unrolled, store: NodeStore, only: Callable[[Relation], bool] | None = None
) -> list[Factor]:
    """Conditions of all enforced relations (or of some) on all object instances.

    Decided conditions are kept only if false.
    """
    return [
        Factor(part, origin)
        for origin, lowering in enforced_relations(unrolled, store)
        if only is None or only(origin.relation)
        for condition in origin.relation.lower(lowering)
        for part in _parts(condition, store)
    ]


def enforced_relations(unrolled: Unrolled, store: NodeStore) -> Iterator[tuple[Origin, Lowering]]:
    """Every enforced relation on every object instance, with what lowers it there."""
    tries: dict[object, Trie] = {}
    for part, nodes in unrolled.owners:
        node = nodes[-1]
        if not node.relations:
            continue
        tables: dict[str, Sequence[Sequence[Scalar]]] = {}
        for outer in nodes:
            tables.update(outer.tables)
        lowering = Lowering(store, part, {}, tables, tries)
        for relation, pointer in zip(node.relations, node.relation_pointers, strict=True):
            if relation.enforce:
                yield Origin(relation, part.path, pointer), lowering


def _parts(condition: Condition, store: NodeStore) -> Iterator[Condition]:
    """Conjuncts; at the top, unknown is as good as true."""
    if isinstance(condition, And):
        for part in condition.parts:
            yield from _parts(part, store)
    elif not isinstance(condition, Truth) or condition is store.false:
        yield condition


def connect(factors: Iterable[Factor], unrolled: Unrolled, scopes: Iterable[int] = ()) -> list[Group]:
    """Connected components, in writing order of their first slots. O(scope sizes · α).

    scopes: more sets of slots (bit masks) that must lie in one component each.
    """
    parent: dict[int, int] = {}

    def find(slot: int) -> int:
        root = slot
        while parent.setdefault(root, root) != root:
            root = parent[root]
        while parent[slot] != root:
            parent[slot], slot = root, parent[slot]
        return root

    def join(mask: int) -> int:
        first = (mask & -mask).bit_length() - 1
        for slot in bits(mask):
            parent[find(slot)] = find(first)
            for controller in unrolled.controlling(slot):
                parent[find(controller)] = find(first)
        return first

    scoped = [(join(factor.condition.slots), factor) for factor in factors]
    for mask in scopes:
        join(mask)
    slots: dict[int, list[int]] = {}
    for slot in sorted(parent):
        slots.setdefault(find(slot), []).append(slot)
    members: dict[int, list[Factor]] = {}
    for first, factor in scoped:
        members.setdefault(find(first), []).append(factor)
    return [Group(tuple(found), tuple(members.get(root, ()))) for root, found in slots.items()]


def bits(mask: int) -> Iterator[int]:
    """Positions of the 1 bits, rising."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
