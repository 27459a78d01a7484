"""When two hypotheses go on alike: equal keys mean the same tokens from there on, and the same places behind.

Records whose values differ come to the same places again and again: behind a field that no relation reads,
behind a text, within the digits of a number once any digits may follow. Runs are remembered by such keys
(``run_tree.py``). The keys are shy: hypotheses that go on alike may have different ones.
"""

from __future__ import annotations

from collections.abc import Hashable

from factorspec_sdk.decoding.holes import HoleStep, Lead
from factorspec_sdk.decoding.hypotheses import Hypothesis, NumberStep, Opening, RowWalk


def likeness(item: Hypothesis | Opening) -> Hashable:
    """A key. O(1), but for hashing the oracle's state."""
    if isinstance(item, RowWalk):
        at = item.source.at
        return RowWalk, item.table, item.lo, item.hi, item.depth, at.state, at.pc, at.offset
    if isinstance(item, NumberStep):
        at = item.source.at
        lengths = _lengths(item)
        if lengths is not None:
            return NumberStep, lengths, at.state, item.next_pc
        return NumberStep, item.walk, item.number, at.state, at.pc
    if isinstance(item, HoleStep):
        place = item.place
        return HoleStep, place.rules, place.state, place.behind, item.prefix, item.text
    if isinstance(item, Lead):
        return Lead, item.tokens, item.at, likeness(item.then)
    return (item,)


def _lengths(step: NumberStep) -> frozenset[int] | None:
    """How many digits may follow where any may and nobody asks which: what is written matters no more."""
    slot = step.source.site.slot
    if step.lengths is None or slot is None or step.source.feasibility.reads(slot):
        return None
    return step.lengths
