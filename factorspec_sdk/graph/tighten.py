"""Pass 0: list lengths that the relations on lengths leave.

A list of 1 to 10 items whose length a relation sets to 8 is a list of 8 items: no slot decides about one
more item, every field always occurs, the last item is known. For every list, each length is tried alone
in every relation that speaks of a length; what remains bounds ``minItems`` and ``maxItems``.

Before: an unrolled record. After: bounds by list path; records that satisfy the relations are the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from factorspec_sdk.automata.nodes import ABSENT_INDEX, Condition, Mark, NodeStore
from factorspec_sdk.graph.factors import lower_relations
from factorspec_sdk.graph.unroll import Unrolled
from factorspec_sdk.relations import Relation
from factorspec_sdk.relations.unrolled import ListPart, NullablePart, ObjectPart, Part, UnionPart

#: lists that may grow by more than this are left alone
MAX_LENGTHS = 200


def tightened_lengths(unrolled: Unrolled, store: NodeStore) -> dict[str, tuple[int, int]]:
    """(least, most) items of the lists that relations on lengths bound further, by list path."""
    conditions = [f.condition for f in lower_relations(unrolled, store, only=speaks_of_length)]
    if not conditions:
        return {}
    found: dict[str, tuple[int, int]] = {}
    lists = list(_lists(unrolled.root))
    paths = Counter(part.path for part in lists)
    for part in lists:
        if paths[part.path] > 1:  # in several branches of a union
            continue
        least = sum(slot is None for slot in part.more)
        if not 0 < len(part.items) - least <= MAX_LENGTHS:
            continue
        here = [c for c in conditions if any(slot is not None and c.slots >> slot & 1 for slot in part.more)]
        lengths = [n for n in range(least, len(part.items) + 1) if here and _possible(part, n, here, store)]
        if lengths and (lengths[0], lengths[-1]) != (least, len(part.items)):
            found[part.path] = (lengths[0], lengths[-1])
    return found


def speaks_of_length(relation: Relation) -> bool:
    """True if a length stands anywhere in the relation."""
    return relation.on_lengths or '"len"' in relation.model_dump_json()


def _possible(part: ListPart, length: int, conditions: list[Condition], store: NodeStore) -> bool:
    """False if some condition is false for this length, whatever else the record holds."""
    for condition in conditions:
        for at, slot in enumerate(part.more):
            if slot is not None:
                index = ABSENT_INDEX if at > length else int(at < length)
                condition = condition.assign(slot, index, Mark.ABSENT if index < 0 else index)
        if condition is store.false:
            return False
    return True


def _lists(root: Part) -> Iterator[ListPart]:
    """All lists of the record, outer ones first."""
    stack = [root]
    while stack:
        part = stack.pop()
        if isinstance(part, ListPart):
            yield part
            stack.extend(part.items)
        elif isinstance(part, ObjectPart):
            stack.extend(field.part for field in part.fields)
        elif isinstance(part, NullablePart):
            stack.append(part.inner)
        elif isinstance(part, UnionPart):
            stack.extend(part.branches)
