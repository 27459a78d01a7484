"""The shortest way to complete a record, by best-first search over places of the program (A*).

Used where the bounds do not decide whether a record fits into the tokens left. With exact costs the search
walks straight to the end; its budget matters only where bounds are loose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from factorspec_sdk.decoding.costs import Bounds
from factorspec_sdk.decoding.holes import HoleStep, Lead
from factorspec_sdk.decoding.hypotheses import DONE, Hypothesis, NumberStep, Opening, RowWalk
from factorspec_sdk.decoding.opening import Opener
from factorspec_sdk.decoding.runs import Hypotheses

_MAX_STEPS = 4_000

Item = Hypothesis | Opening
Edge = tuple[tuple[int, ...], Item]


class Found(NamedTuple):
    """What a search found.

    Attributes:
        tokens: a shortest completion, or None if there is none within the limit or the budget ended.
        exact: the budget did not end.
    """

    tokens: tuple[int, ...] | None
    exact: bool


class _Node(NamedTuple):
    parent: _Node | None
    tokens: tuple[int, ...]

    def path(self) -> tuple[int, ...]:
        parts = []
        node: _Node | None = self
        while node is not None:
            parts.append(node.tokens)
            node = node.parent
        return tuple(token for part in reversed(parts) for token in part)


def shortest(
    opener: Opener,
    bounds: Bounds,
    hypotheses: Hypotheses,
    limit: int | None,
    max_steps: int = _MAX_STEPS,
) -> Found:
    """A shortest completion of the hypotheses with at most ``limit`` tokens. Does not change anything."""
    order = count()
    queue: list[tuple[int, int, int, Item, _Node]] = []
    best: dict[Item, int] = {}

    def push(least: int, size: int, item: Item, node: _Node) -> None:
        if isinstance(item, Opening | HoleStep):
            if best.get(item, size + 1) <= size:
                return
            best[item] = size
        least = max(least, size + _least(bounds, item))
        if limit is None or least <= limit:
            heappush(queue, (least, -size, next(order), item, node))

    root = _Node(None, ())
    for hypothesis in hypotheses:
        push(0, 0, hypothesis, root)
    steps = 0
    while queue:
        least, negative, _, item, node = heappop(queue)
        if item is DONE:
            return Found(node.path(), exact=True)
        steps += 1
        if steps > max_steps:
            return Found(None, exact=False)
        for tokens, after in _edges(opener, item):
            push(
                max(least, len(tokens) - negative),
                len(tokens) - negative,
                after,
                _Node(node, tokens) if tokens else node,
            )
    return Found(None, exact=True)


def _least(bounds: Bounds, item: Item) -> int:
    return bounds.least(item) if isinstance(item, Opening) else 0


def _edges(opener: Opener, item: Item) -> Iterator[Edge]:
    """Whole rows and leads at once; numbers and text token by token."""
    if isinstance(item, Opening):
        for opened in opener.close([item]):
            yield (), opened
    elif isinstance(item, RowWalk):
        for at in range(item.lo, item.hi):
            yield (
                item.table.rows[at][item.depth :],
                item.source.exit(item.table.order[at], item.table.helds[at]),
            )
    elif isinstance(item, Lead):
        yield item.tokens[item.at :], item.then
    elif isinstance(item, NumberStep):
        for token in item.ids():
            for after in opener.advance((item,), token):
                yield (token,), after
    elif isinstance(item, HoleStep):
        yield from _text_edges(item)


def _text_edges(item: HoleStep) -> Iterator[Edge]:
    """One token for each way to close the text, and one for each number of characters to go on by."""
    seen: set[Opening] = set()
    tokens: Sequence[int] = sorted(item.ids())
    for token in tokens:
        for after in item.advance(token):
            if isinstance(after, Opening) and after not in seen:
                seen.add(after)
                yield (token,), after
    if not item.prefix:
        for token in item.place.rules.strides(item.text):
            for after in item.advance(token):
                if not isinstance(after, Opening):
                    yield (token,), after
