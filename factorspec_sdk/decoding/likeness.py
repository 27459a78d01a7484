"""When two hypotheses go on alike: equal keys mean the same tokens from there on, and the same places behind.

Records whose values differ come to the same places again and again: behind a field that no relation reads,
behind a text, within the digits of a number once any digits may follow. Runs are remembered by such keys
(``run_tree.py``). The keys are shy: hypotheses that go on alike may have different ones.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

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


def tokens_alike(hypotheses: Sequence[Hypothesis], token: int, after: NumberStep) -> list[int]:
    """Other tokens behind which records go on as behind ``token``, which leads to ``after`` alone.

    Told where likeness comes from how many digits may follow. About 2 µs a digit, less where any may come.
    """
    lengths = _lengths(after)
    steps = [each for each in hypotheses if token in each.ids()] if lengths is not None else []
    step = steps[0] if len(steps) == 1 else None
    if not isinstance(step, NumberStep):
        return []
    digits = step.next_ids.difference((token,), *(each.ids() for each in hypotheses if each is not step))
    # Where any digits may follow, it does not matter which comes next.
    if step.lengths is not None:
        return list(digits)
    walk, begun = step.walk, step.number
    return [
        digit
        for digit in digits
        if (number := walk.advance(begun, digit)) is not None and walk.lengths(number, step.values) == lengths
    ]


def _lengths(step: NumberStep) -> frozenset[int] | None:
    """How many digits may follow where any may and nobody asks which: what is written matters no more."""
    slot = step.source.site.slot
    if step.lengths is None or slot is None or step.source.feasibility.reads(slot):
        return None
    return step.lengths
