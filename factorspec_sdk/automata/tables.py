"""Table automata: membership of a key in a table, lookup of a row's last column, item by position."""

from __future__ import annotations

from collections.abc import Sequence

from factorspec_sdk.automata.nodes import (
    Code,
    Condition,
    Known,
    Mark,
    NodeStore,
    SlotValue,
    ValueNode,
    union_slots,
)
from factorspec_sdk.automata.tries import Leaf, Row, Trie, build_trie
from factorspec_sdk.fields.domains import Domain, typed_key


def _trouble(keys: Sequence[ValueNode], unknown: bool) -> tuple[Mark | None, bool]:
    """(decided mark or None, unknown seen): MISSING dominates, so an unknown key may have to wait."""
    for key in keys:
        if isinstance(key, Known) and isinstance(key.code, Mark):
            if key.code is Mark.MISSING:
                return Mark.MISSING, unknown
            unknown = True
    if unknown and not any(key.may_miss for key in keys):
        return Mark.UNKNOWN, unknown
    return None, unknown


def _descend(trie: Trie, keys: tuple[ValueNode, ...]) -> tuple[Trie | Leaf | None, tuple[ValueNode, ...]]:
    """Follow the leading constants; None where no row is left."""
    node: Trie | Leaf | None = trie
    at = 0
    for key in keys:
        if not isinstance(key, Known) or isinstance(key.code, Mark) or not isinstance(node, Trie):
            break
        node = node.children.get(typed_key(key.code))
        at += 1
    return node, keys[at:]


class Membership(Condition):
    """The open keys are (``allow``) or are not a path of the trie."""

    __slots__ = ("allow", "keys", "trie", "unknown")

    def __init__(
        self, store: NodeStore, trie: Trie, keys: tuple[ValueNode, ...], allow: bool, unknown: bool
    ) -> None:
        super().__init__(store, union_slots(keys))
        self.trie, self.keys, self.allow, self.unknown = trie, keys, allow, unknown

    def _residual(self, slot: int, index: int, code: Code) -> Condition:
        keys = tuple(key.assign(slot, index, code) for key in self.keys)
        return membership(self.store, self.trie, keys, self.allow, self.unknown)

    def _at(self, shift: int) -> Condition:
        keys = tuple(key.moved(shift) for key in self.keys)
        return membership(self.store, self.trie, keys, self.allow, self.unknown)

    def allowed(self, slot: int, domain: Domain) -> int | None:
        first = self.keys[0]
        if not self.allow or not isinstance(first, SlotValue) or first.slot != slot:
            return None
        if not all(_certain(key) for key in self.keys):  # an unknown key would make any row unknown
            return None
        bits = 0
        for index in range(len(domain)):
            if typed_key_of(domain, index) in self.trie.children:
                bits |= 1 << index
        return bits


def typed_key_of(domain: Domain, index: int) -> object:
    """Trie key of a domain's value."""
    return typed_key(domain.code(index))


def membership(
    store: NodeStore, trie: Trie, keys: tuple[ValueNode, ...], allow: bool, unknown: bool = False
) -> Condition:
    """The condition that ``keys`` are (or are not) a row of the trie."""
    mark, unknown = _trouble(keys, unknown)
    if mark is not None:
        return store.false if mark is Mark.MISSING else store.unknown
    if not unknown:
        node, rest = _descend(trie, keys)
        if isinstance(node, Leaf):
            return store.truth(allow)
        if node is None:
            if all(_certain(key) for key in rest):
                return store.truth(not allow)
            return store.intern(
                (Membership, rest, allow), lambda: Membership(store, Trie({}), rest, allow, False)
            )
        trie, keys = node, rest
    return store.intern(
        (Membership, id(trie), keys, allow, unknown), lambda: Membership(store, trie, keys, allow, unknown)
    )


def _certain(key: ValueNode) -> bool:
    """True if the key will be a JSON scalar (null included) for sure."""
    return isinstance(key, Known) or (isinstance(key, SlotValue) and key.always_present)


class Lookup(ValueNode):
    """The leaf at the open keys; MISSING where there is none."""

    __slots__ = ("keys", "trie", "unknown")

    def __init__(self, store: NodeStore, trie: Trie, keys: tuple[ValueNode, ...], unknown: bool) -> None:
        total = not unknown and _total(trie, keys)
        definite = total and trie.lo is not None
        super().__init__(store, union_slots(keys), trie.lo, trie.hi, definite, not total)
        self.trie, self.keys, self.unknown = trie, keys, unknown

    def _residual(self, slot: int, index: int, code: Code) -> ValueNode:
        keys = tuple(key.assign(slot, index, code) for key in self.keys)
        return lookup(self.store, self.trie, keys, self.unknown)

    def _at(self, shift: int) -> ValueNode:
        return lookup(self.store, self.trie, tuple(key.moved(shift) for key in self.keys), self.unknown)


def _total(trie: Trie, keys: tuple[ValueNode, ...]) -> bool:
    """True if every value of a single open slot key has a row."""
    if len(keys) != 1:
        return False
    key = keys[0]
    if not isinstance(key, SlotValue) or not key.always_present:
        return False
    return all(typed_key_of(key.domain, i) in trie.children for i in range(len(key.domain)))


def lookup(store: NodeStore, trie: Trie, keys: tuple[ValueNode, ...], unknown: bool = False) -> ValueNode:
    """The last column of the row with these keys."""
    mark, unknown = _trouble(keys, unknown)
    if mark is not None:
        return store.known(mark)
    if not unknown:
        node, rest = _descend(trie, keys)
        if isinstance(node, Leaf):
            return store.known(node.code)
        if node is None:
            if all(_certain(key) for key in rest):
                return store.known(Mark.MISSING)
            return store.intern((Lookup, rest), lambda: Lookup(store, Trie({}), rest, False))
        trie, keys = node, rest
    return store.intern((Lookup, id(trie), keys, unknown), lambda: Lookup(store, trie, keys, unknown))


class ItemAt(ValueNode):
    """The value at a position among those of ``values`` that are not absent."""

    __slots__ = ("index", "values")

    def __init__(self, store: NodeStore, index: ValueNode, values: tuple[ValueNode, ...]) -> None:
        lows = [v.lo for v in values]
        highs = [v.hi for v in values]
        known = bool(values) and None not in lows and None not in highs
        lo = min(v for v in lows if v is not None) if known else None
        hi = max(v for v in highs if v is not None) if known else None
        super().__init__(store, index.slots | union_slots(values), lo, hi, False, True)
        self.index, self.values = index, values

    def _residual(self, slot: int, index: int, code: Code) -> ValueNode:
        values = tuple(v.assign(slot, index, code) for v in self.values)
        return item_at(self.store, self.index.assign(slot, index, code), values)

    def _at(self, shift: int) -> ValueNode:
        return item_at(self.store, self.index.moved(shift), tuple(v.moved(shift) for v in self.values))


def item_at(store: NodeStore, index: ValueNode, values: tuple[ValueNode, ...]) -> ValueNode:
    """The value at position ``index`` among the present values; MISSING outside.

    Absent values are a suffix of each list, so positions before the first open value are settled.
    """
    values = tuple(v for v in values if not (isinstance(v, Known) and v.code is Mark.ABSENT))
    if isinstance(index, Known):
        if index.number is None:
            return index if index.code is Mark.MISSING else store.known(Mark.UNKNOWN)
        if index.number < 0:
            return store.known(Mark.MISSING)
        settled = [_settled(v) for v in values]
        first_open = settled.index(False) if False in settled else len(settled)
        if index.number < first_open:
            return values[index.number]
        if first_open == len(settled):
            return store.known(Mark.MISSING)
    return store.intern((ItemAt, index, values), lambda: ItemAt(store, index, values))


def _settled(value: ValueNode) -> bool:
    """True if the value is present for sure, so that its position is known."""
    return isinstance(value, Known) or (isinstance(value, SlotValue) and value.always_present)


__all__ = ["Row", "build_trie", "item_at", "lookup", "membership"]
