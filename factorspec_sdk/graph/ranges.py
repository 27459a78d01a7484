"""What numbers an open value can be, where slots are known to lie in narrower ranges than their domains.

A field that is computed from others (``net = quantity * price``) takes fewer values than it is declared
with; what is computed from it in turn is bounded by what it can be.
"""

from __future__ import annotations

from functools import reduce
from math import gcd

from factorspec_sdk.automata.division import Quotient
from factorspec_sdk.automata.linear import Linear
from factorspec_sdk.automata.nodes import Known, SlotValue, ValueNode
from factorspec_sdk.automata.values import Choose, OrZero, Product
from factorspec_sdk.fields.rounding import divided

Range = tuple[int, int]
#: (offset, modulus): the number is offset + k·modulus; modulus 0: it is the offset; 1: anything
Residue = tuple[int, int]


class Ranges:
    """Ranges of slots, as far as they are narrower than the domains."""

    def __init__(self) -> None:
        self._of: dict[int, Range] = {}

    def narrow(self, slot: int, found: Range) -> None:
        """The slot's number, where it is one, lies in ``found`` (which may be empty)."""
        old = self._of.get(slot)
        self._of[slot] = found if old is None else (max(old[0], found[0]), min(old[1], found[1]))

    def of(self, node: ValueNode) -> Range | None:
        """Bounds of the number that a value will be, if it is one; None where they are not known."""
        if node.lo is None or node.hi is None:
            return None
        match node:
            case SlotValue():
                lo, hi = self._of.get(node.slot, (node.lo, node.hi))
                return max(lo, node.lo), min(hi, node.hi)
            case Linear():
                return self.total(node)
            case OrZero():
                inner = self.of(node.inner)
                return None if inner is None else (min(inner[0], 0), max(inner[1], 0))
            case Choose():
                return _hull(self.of(node.yes), self.of(node.no))
            case Product():
                return _corners(self.of(node.left), self.of(node.right))
            case Quotient(divisor=Known(lo=int() as divisor)) if divisor:
                inner = self.of(node.dividend)
                if inner is None:
                    return None
                ends = [divided(number, divisor, node.mode) for number in inner]
                return min(ends), max(ends)
            case _:
                return node.lo, node.hi

    def total(self, value: Linear, without: int | None = None) -> Range | None:
        """Bounds of a linear value, leaving out the terms that read the slot ``without``."""
        lo = hi = value.constant
        for node, factor in value.terms:
            if without is not None and node.slots >> without & 1:
                continue
            own = self.of(node)
            if own is None:
                return None
            lo += min(factor * own[0], factor * own[1])
            hi += max(factor * own[0], factor * own[1])
        return lo, hi


def residue_of(node: ValueNode) -> Residue:
    """What numbers leave the same remainder as the value whatever its slots take."""
    if isinstance(node, Known) and node.number is not None:
        return node.number, 0
    if isinstance(node, SlotValue) and node.domain.stride is not None:
        return node.domain.stride.lo, node.domain.stride.step
    if isinstance(node, Linear):
        return residue_of_total(node)
    if isinstance(node, Product):
        (a, m), (b, n) = residue_of(node.left), residue_of(node.right)
        return a * b, gcd(a * n, b * m, m * n)
    return 0, 1


def residue_of_total(value: Linear, without: int | None = None) -> Residue:
    """``residue_of`` a linear value, leaving out the terms that read the slot ``without``."""
    kept = [
        (residue_of(node), factor)
        for node, factor in value.terms
        if without is None or not node.slots >> without & 1
    ]
    offset = value.constant + sum(factor * own[0] for own, factor in kept)
    return offset, reduce(gcd, (factor * own[1] for own, factor in kept), 0)


def _hull(one: Range | None, other: Range | None) -> Range | None:
    if one is None or other is None:
        return None
    return min(one[0], other[0]), max(one[1], other[1])


def _corners(left: Range | None, right: Range | None) -> Range | None:
    if left is None or right is None:
        return None
    corners = [a * b for a in left for b in right]
    return min(corners), max(corners)
