"""Membership in a table, lookup of a row's last column, the item at a position.

A table's trie is read level by level: each node has a literal that says "the keys so far lead here"::

    root (true) --key 0 is "Rome"--> node --key 1 is 3--> leaf
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from factorspec_sdk.automata.nodes import Mark, SlotValue, ValueNode
from factorspec_sdk.automata.tables import ItemAt, Lookup, Membership
from factorspec_sdk.automata.tries import Leaf, Trie
from factorspec_sdk.fields.domains import Scalar
from factorspec_sdk.graph.cp.encoded import Case, Made, Truth, Value, known, select
from factorspec_sdk.graph.cp.encoder import Encoder, of_condition, of_value, required
from factorspec_sdk.graph.cp.model import FALSE, TRUE, Lit, NotEncodable

#: rows that one table may have
MAX_ROWS = 100_000


def _leaves(encoder: Encoder, trie: Trie, keys: Sequence[Value]) -> list[tuple[Lit, Leaf]]:
    """Each leaf with the truth of "the keys lead here"."""
    level: dict[int, tuple[Lit, Trie | Leaf]] = {id(trie): (TRUE, trie)}
    for key in keys:
        arcs: dict[int, list[Lit]] = {}
        nodes: dict[int, Trie | Leaf] = {}
        for literal, node in level.values():
            assert isinstance(node, Trie)
            for cell, child in node.children.items():
                nodes[id(child)] = child
                taken = encoder.model.all_of([literal, key.equals(_scalar(cell))])
                arcs.setdefault(id(child), []).append(taken)
            if len(arcs) > MAX_ROWS:
                raise NotEncodable(f"a table has more than {MAX_ROWS} rows")
        level = {at: (encoder.model.any_of(found), nodes[at]) for at, found in arcs.items()}
    return [
        (literal, leaf) for literal, leaf in level.values() if isinstance(leaf, Leaf) and literal != FALSE
    ]


def _scalar(cell: Hashable) -> Scalar:
    """The code in a typed key."""
    assert isinstance(cell, tuple)
    code: Scalar = cell[1]
    return code


def _membership(encoder: Encoder, node: Membership) -> Truth:
    """MISSING makes it false and dominates; any other mark among the keys makes it unknown."""
    model, keys = encoder.model, [encoder.value(key) for key in node.keys]
    missing = encoder.any_missing(keys)
    if node.unknown:
        return Truth(FALSE, missing)
    path = model.any_of([literal for literal, _ in _leaves(encoder, node.trie, keys)])
    no_path = model.all_of([~path, *(key.is_scalar for key in keys)])
    true, false = (path, no_path) if node.allow else (no_path, path)
    return Truth(true, model.any_of([missing, false]))


def _require_membership(encoder: Encoder, node: Membership) -> None:
    """As a table constraint where the keys are slots that always occur."""
    slots = [encoder.slots[key.slot] for key in node.keys if isinstance(key, SlotValue)]
    certain = all(slot.present == TRUE for slot in slots)
    if node.unknown or not certain or len(slots) < len(node.keys):
        encoder.model.clause([~_membership(encoder, node).false])
        return
    rows = _index_rows(encoder, node.trie, node.keys)
    if not rows:
        encoder.model.clause([] if node.allow else [TRUE])
        return
    table = encoder.model.add().table
    for slot in slots:
        encoder.model.write(table.exprs.add(), encoder.model.of(slot.x))
    table.values.extend([index for row in rows for index in row])
    table.negated = not node.allow


def _index_rows(encoder: Encoder, trie: Trie, keys: Sequence[ValueNode]) -> list[tuple[int, ...]]:
    """The rows of a trie as indices of slots; rows that hold what no slot can take are left out."""
    rows: list[tuple[tuple[int, ...], Trie | Leaf]] = [((), trie)]
    for key in keys:
        assert isinstance(key, SlotValue)
        longer: list[tuple[tuple[int, ...], Trie | Leaf]] = []
        for row, node in rows:
            assert isinstance(node, Trie)
            for cell, child in node.children.items():
                index = key.domain.index_of_code(_scalar(cell))
                if index is not None:
                    longer.append(((*row, index), child))
        if len(longer) > MAX_ROWS:
            raise NotEncodable(f"a table has more than {MAX_ROWS} rows")
        rows = longer
    return [row for row, _ in rows]


def _lookup(encoder: Encoder, node: Lookup) -> Value:
    model, keys = encoder.model, [encoder.value(key) for key in node.keys]
    missing = encoder.any_missing(keys)
    if node.unknown:
        return _marks(encoder, missing, ~missing)
    leaves = _leaves(encoder, node.trie, keys)
    path = model.any_of([literal for literal, _ in leaves])
    no_row = model.all_of([~path, *(key.is_scalar for key in keys)])
    absent = model.any_of([missing, no_row])
    unknown = model.all_of([~path, ~absent])
    found = [(literal, known(model, leaf.code)) for literal, leaf in leaves]
    marks = [(absent, known(model, Mark.MISSING)), (unknown, known(model, Mark.UNKNOWN))]
    return select(model, [*found, *marks])


def _marks(encoder: Encoder, missing: Lit, unknown: Lit) -> Value:
    cases: dict[Case, Lit] = {Mark.MISSING: missing, Mark.UNKNOWN: unknown}
    return Made(encoder.model, FALSE, None, {case: lit for case, lit in cases.items() if lit != FALSE})


def _item_at(encoder: Encoder, node: ItemAt) -> Value:
    """Positions count the values that are not absent; outside of them it is MISSING."""
    model, index = encoder.model, encoder.value(node.index)
    options: list[tuple[Lit, Value]] = []
    before = model.constant(0)
    for value in map(encoder.value, node.values):
        there = ~value.marked(Mark.ABSENT)
        distance = model.total([(index.number, 1), (before, -1)])
        options.append((model.all_of([index.is_number, there, model.equals(distance, 0)]), value))
        before = model.total([(before, 1), (model.counted(there), 1)])
    inside = model.any_of([literal for literal, _ in options])
    outside = model.any_of([index.missing, model.all_of([index.is_number, ~inside])])
    unknown = model.all_of([~inside, ~outside])
    marks = [(outside, known(model, Mark.MISSING)), (unknown, known(model, Mark.UNKNOWN))]
    return select(model, [*options, *marks])


VALUES = (of_value(Lookup, _lookup), of_value(ItemAt, _item_at))
CONDITIONS = (of_condition(Membership, _membership),)
REQUIREMENTS = (required(Membership, _require_membership),)
