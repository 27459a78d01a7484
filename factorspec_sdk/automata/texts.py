"""The number of characters of an open text."""

from __future__ import annotations

from factorspec_sdk.automata.nodes import Code, Known, Mark, NodeStore, SlotValue, ValueNode
from factorspec_sdk.fields.domains import Domain


class TextLength(ValueNode):
    """Characters of a text; UNKNOWN where the value is null, absent or no text."""

    __slots__ = ("inner",)

    def __init__(self, store: NodeStore, inner: ValueNode) -> None:
        lo, hi, definite = None, None, False
        if isinstance(inner, SlotValue):
            lo, hi, only_texts = _lengths(inner.domain)
            definite = only_texts and inner.always_present
        super().__init__(store, inner.slots, lo, hi, definite, inner.may_miss)
        self.inner = inner

    def _residual(self, slot: int, index: int, code: Code) -> ValueNode:
        return text_length(self.store, self.inner.assign(slot, index, code))

    def _at(self, shift: int) -> ValueNode:
        return text_length(self.store, self.inner.moved(shift))


def text_length(store: NodeStore, inner: ValueNode) -> ValueNode:
    """The number of characters (code points) of a text."""
    if isinstance(inner, Known):
        if isinstance(inner.code, str):
            return store.known(len(inner.code))
        return inner if inner.code is Mark.MISSING else store.known(Mark.UNKNOWN)
    return store.intern((TextLength, inner), lambda: TextLength(store, inner))


def _lengths(domain: Domain) -> tuple[int | None, int | None, bool]:
    """(least, most, all values are texts) over a domain; no bounds where it has no text."""
    codes = [domain.code(index) for index in range(len(domain))]
    lengths = [len(code) for code in codes if isinstance(code, str)]
    if not lengths:
        return None, None, False
    return min(lengths), max(lengths), len(lengths) == len(codes)
