"""Open intervals of codes that a slot must stay out of, and what they leave of its domain."""

from __future__ import annotations

from collections.abc import Iterable

from factorspec_sdk.fields.domains import Domain

#: beyond every code
INFINITE = 1 << 100
#: runs of bits that are cleared one by one
_FEW = 32
#: the codes strictly between two ends
Gap = tuple[int, int]


def mask_outside(domain: Domain, gaps: Iterable[Gap], shift: int) -> int:
    """Bit mask of the indices whose code plus ``shift`` lies in no gap; values that are no numbers stay.

    O(size of the mask + gaps) for ranges, else O(values · gaps).
    """
    size = len(domain)
    mask = (1 << size) - 1
    codes = domain.stride
    if codes is None:
        return mask & ~_listed(domain, list(gaps), shift)
    start, step = codes.lo + shift, codes.step
    ends = (((low - start) // step + 1, -((start - high) // step) - 1) for low, high in gaps)
    runs = [(max(first, 0), min(last, size - 1)) for first, last in ends]
    return _without(mask, size, [run for run in runs if run[0] <= run[1]])


def _without(mask: int, size: int, runs: list[tuple[int, int]]) -> int:
    """The mask without some runs of bits; many of them are cleared in a text of digits first."""
    if len(runs) <= _FEW:
        for first, last in runs:
            mask &= ~(((1 << (last - first + 1)) - 1) << first)
        return mask
    digits = bytearray(b"1" * size)
    for first, last in runs:
        digits[first : last + 1] = b"0" * (last - first + 1)
    return int(digits[::-1].decode("ascii"), 2)


def _listed(domain: Domain, gaps: list[Gap], shift: int) -> int:
    out = 0
    for index in range(len(domain)):
        code = domain.code(index)
        if isinstance(code, int) and not isinstance(code, bool):
            out |= any(low < code + shift < high for low, high in gaps) << index
    return out


def room_between(low: int, high: int, gaps: Iterable[Gap]) -> bool:
    """True if some number from ``low`` to ``high`` lies in no gap. O(gaps · log gaps)."""
    at = low
    for first, last in sorted(gaps):
        if first < at < last:
            at = last
    return at <= high
