"""A minimal contradicting subset, by divide and conquer.

Source: Ulrich Junker, "QuickXplain: Preferred Explanations and Relaxations for Over-Constrained
Problems", AAAI 2004. Plain version: leave out one item after the other and keep those without which the
contradiction is gone (one question per item). QuickXplain halves the items instead and asks about a
half together with what is known to be needed: for k needed items of n about k·log(n/k) questions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def minimal_subset(items: Sequence[T], contradicts: Callable[[list[T]], bool]) -> list[T]:
    """A subset that contradicts while no proper subset of it does; earlier items are preferred.

    Args:
        items: all together they contradict.
        contradicts: must be monotone: with more items a contradiction stays one. What it cannot decide counts
            as none, so that the subset found still contradicts (it may then not be minimal).
    """
    if contradicts([]):
        return []
    return _needed([], False, list(items), contradicts)


def _needed(
    given: list[T], has_news: bool, items: list[T], contradicts: Callable[[list[T]], bool]
) -> list[T]:
    """Items that are needed beside ``given``; ``has_news``: something was added to it since it was asked."""
    if has_news and contradicts(given):
        return []
    if len(items) == 1:
        return items
    half = len(items) // 2
    first, second = items[:half], items[half:]
    needed_second = _needed([*given, *first], True, second, contradicts)
    needed_first = _needed([*given, *needed_second], bool(needed_second), first, contradicts)
    return [*needed_first, *needed_second]
