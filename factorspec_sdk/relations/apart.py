"""That values differ pairwise, as conditions: one over all of them, or one a pair where a field is wide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from factorspec_sdk.automata.distinct import distinct, distinct_plan
from factorspec_sdk.automata.linear import compare
from factorspec_sdk.automata.logic import same
from factorspec_sdk.automata.nodes import Condition, NodeStore
from factorspec_sdk.errors import Problem, TooLarge
from factorspec_sdk.relations.unrolled import LeafPart

#: values of one field that are numbered one by one
_MOST_VALUES = 1 << 19
#: pairs of fields, one of them wider, that are told apart
_MOST_PAIRS = 20_000


def all_distinct(store: NodeStore, named: Sequence[LeafPart]) -> list[Condition]:
    """The values of the leaves differ pairwise; null and absent ones are left out.

    A leaf that is named twice differs from itself only where it has no value.
    O(values of the widest leaf), or O(pairs) where one has more than ``_MOST_VALUES``; that one is a range of
    numbers, dates or times, never null.

    Raises:
        TooLarge: more than ``_MOST_PAIRS`` pairs have such a leaf.
    """
    times = Counter(leaf.slot for leaf in named)
    leaves = sorted({leaf.slot: leaf for leaf in named}.values(), key=lambda leaf: leaf.slot)
    twice = [_without_value(store, leaf) for leaf in leaves if times[leaf.slot] > 1]
    wide = [leaf for leaf in leaves if len(leaf.domain) > _MOST_VALUES]
    narrow = [leaf for leaf in leaves if len(leaf.domain) <= _MOST_VALUES]
    made: list[Condition] = []
    if narrow:
        plan = distinct_plan([(leaf.slot, leaf.domain, leaf.optional) for leaf in narrow])
        made = [distinct(store, plan)]
    if len(wide) * len(leaves) > _MOST_PAIRS:
        problem = Problem(
            wide[0].path,
            f"one of {len(leaves)} fields that differ pairwise has more than {_MOST_VALUES} values",
            f"{len(wide[0].domain)} values",
            "narrow its bounds, or allow fewer items",
        )
        raise TooLarge("the spec is too large", [problem])
    pairs = [*combinations(wide, 2), *((one, other) for one in wide for other in narrow)]
    return [*twice, *made, *(_apart(store, *pair) for pair in pairs if _may_meet(*pair))]


def _may_meet(one: LeafPart, other: LeafPart) -> bool:
    """Whether the two can have a value in common, as far as their types tell."""
    kinds = {one.domain.code_type, other.domain.code_type}
    return len(kinds) == 1 or None in kinds


def _apart(store: NodeStore, one: LeafPart, other: LeafPart) -> Condition:
    left, right = (store.slot(leaf.slot, leaf.domain, leaf.optional) for leaf in (one, other))
    if one.domain.stride is not None and other.domain.stride is not None:
        return compare(store, "ne", left, right)
    return same(store, left, right, positive=False)  # a wide field is never null


def _without_value(store: NodeStore, leaf: LeafPart) -> Condition:
    """The leaf is null or absent. Two nodes for one slot would cancel out where it is null."""
    node, codes = store.slot(leaf.slot, leaf.domain, leaf.optional), leaf.domain.stride
    if codes is not None:
        return compare(store, "lt", node, store.known(codes.lo))
    return same(store, node, store.known(None))
