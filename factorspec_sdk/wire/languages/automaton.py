"""Deterministic automata over characters, and the operations by which sets of texts are combined.

::

    edges[state] = ((lo, hi, target), ...)   code points lo..hi lead to target; ranges ascend and are disjoint
    accepting[state]                         a text may end here

State 0 is the start; a character without an edge leads nowhere. Surrogates are in no automaton. An automaton
is *trim*: from each state but the start some text can still be finished, so one without edges and not
accepting is the empty set.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeVar

LAST = 0x10FFFF
#: all characters that a text may hold
CHARACTERS = ((0, 0xD7FF), (0xE000, LAST))
#: states of one automaton
MAX_STATES = 3_000

Span = tuple[int, int]


class Edge(NamedTuple):
    """Characters ``lo`` to ``hi`` lead to ``target``."""

    lo: int
    hi: int
    target: int


class TooManyStates(Exception):
    """An automaton would be larger than ``MAX_STATES``."""


@dataclass(frozen=True, slots=True, eq=False)
class Automaton:
    """A set of texts; see the module."""

    edges: tuple[tuple[Edge, ...], ...]
    accepting: tuple[bool, ...]

    @property
    def is_empty(self) -> bool:
        """True if there is no text."""
        return not self.accepting[0] and not self.edges[0]

    def after(self, state: int, character: str) -> int | None:
        """The state after one character."""
        code = ord(character)
        return next((e.target for e in self.edges[state] if e.lo <= code <= e.hi), None)

    def holds(self, text: str) -> bool:
        """True if the text is in the set."""
        state: int | None = 0
        for character in text:
            assert state is not None
            state = self.after(state, character)
            if state is None:
                return False
        return state is not None and self.accepting[state]

    def __and__(self, other: Automaton) -> Automaton:
        """Texts of both."""
        return _product(self, other, lambda a, b: a and b)

    def __or__(self, other: Automaton) -> Automaton:
        """Texts of either."""
        return _product(self, other, lambda a, b: a or b)

    def __sub__(self, other: Automaton) -> Automaton:
        """Texts of this one that are not in the other."""
        return _product(self, other, lambda a, b: a and not b)

    def texts(self, most: int) -> list[str] | None:
        """All texts, or None if they are more than ``most``."""
        found: list[str] = []
        stack = [(0, "")]
        while stack:
            state, text = stack.pop()
            if self.accepting[state]:
                found.append(text)
            # Trim: each state on the stack leads to a text of its own.
            if len(found) + len(stack) > most or len(text) > len(self.edges):
                return None
            for lo, hi, target in self.edges[state]:
                if hi - lo >= most:
                    return None
                stack += [(target, text + chr(code)) for code in range(lo, hi + 1)]
        return found if len(found) <= most else None


S = TypeVar("S", bound=Hashable)


def explore(start: S, step: Callable[[S], Iterable[tuple[Span, S]]], ends: Callable[[S], bool]) -> Automaton:
    """The smallest automaton of the texts along which ``step`` leads from ``start`` to a state that ``ends``.

    Raises:
        TooManyStates: there are more than ``MAX_STATES``.
    """
    numbers: dict[S, int] = {start: 0}
    states = [start]
    edges: list[tuple[Edge, ...]] = []
    while len(edges) < len(states):
        found = []
        for (lo, hi), target in step(states[len(edges)]):
            if target not in numbers:
                if len(states) >= MAX_STATES:
                    raise TooManyStates
                numbers[target] = len(states)
                states.append(target)
            found.append(Edge(lo, hi, numbers[target]))
        edges.append(tuple(sorted(found)))
    return smallest(Automaton(tuple(edges), tuple(map(ends, states))))


def smallest(whole: Automaton) -> Automaton:
    """The trim automaton of the same texts with the fewest states."""
    distance = _distances(whole)
    edges = [[edge for edge in row if edge.target in distance] for row in whole.edges]
    # States of one set of texts have equal shortest and longest texts: so chains are told apart at once.
    height = _heights(edges)
    names: dict[object, int] = {}
    block = [names.setdefault((distance.get(at), height.get(at)), len(names)) for at in range(len(edges))]
    count = len(names)
    while True:
        keys = [(block[at], tuple(_merged(row, block))) for at, row in enumerate(edges)]
        names = {}
        block = [names.setdefault(key, len(names)) for key in keys]
        if len(names) == count:
            break
        count = len(names)
    return _renumbered(whole, edges, block)


def _renumbered(whole: Automaton, edges: list[list[Edge]], block: list[int]) -> Automaton:
    """One state for each block that the start leads to, numbered as they are met."""
    member = {number: at for at, number in reversed(list(enumerate(block)))}
    order = [block[0]]
    seen = {block[0]: 0}
    rows: list[tuple[Edge, ...]] = []
    while len(rows) < len(order):
        row = []
        for lo, hi, target in _merged(edges[member[order[len(rows)]]], block):
            if target not in seen:
                seen[target] = len(order)
                order.append(target)
            row.append(Edge(lo, hi, seen[target]))
        rows.append(tuple(row))
    return Automaton(tuple(rows), tuple(whole.accepting[member[number]] for number in order))


def _distances(whole: Automaton) -> dict[int, int]:
    """Characters to the nearest end of a text, for the states from which one can be finished."""
    before: dict[int, list[int]] = {}
    for at, row in enumerate(whole.edges):
        for edge in row:
            before.setdefault(edge.target, []).append(at)
    layer = [at for at, accepts in enumerate(whole.accepting) if accepts]
    found = dict.fromkeys(layer, 0)
    while layer:
        reached = {at for target in layer for at in before.get(target, ()) if at not in found}
        found |= dict.fromkeys(reached, found[layer[0]] + 1)
        layer = list(reached)
    return found


def _heights(edges: list[list[Edge]]) -> dict[int, int]:
    """Length of the longest text from a state, for the states that have one."""
    before: dict[int, list[int]] = {}
    for at, row in enumerate(edges):
        for target in {edge.target for edge in row}:
            before.setdefault(target, []).append(at)
    left = [len({edge.target for edge in row}) for row in edges]
    ready = [at for at, number in enumerate(left) if number == 0]
    found = dict.fromkeys(ready, 0)
    for target in ready:  # grows: longest texts of targets are known before those of what leads there
        for at in before.get(target, ()):
            left[at] -= 1
            found[at] = max(found.get(at, 0), found[target] + 1)
            if left[at] == 0:
                ready.append(at)
    return {at: found[at] for at in ready}


def _merged(row: Iterable[Edge], block: list[int]) -> list[Edge]:
    """Edges to blocks; neighbouring ranges with one target become one."""
    found: list[Edge] = []
    for lo, hi, target in row:
        number = block[target]
        if found and found[-1].target == number and found[-1].hi + 1 == lo:
            found[-1] = Edge(found[-1].lo, hi, number)
        else:
            found.append(Edge(lo, hi, number))
    return found


def _product(left: Automaton, right: Automaton, accepts: Callable[[bool, bool], bool]) -> Automaton:
    def step(state: tuple[int, int]) -> Iterator[tuple[Span, tuple[int, int]]]:
        a, b = state
        for span, x, y in _overlaid(left.edges[a] if a >= 0 else (), right.edges[b] if b >= 0 else ()):
            yield span, (x, y)

    def ends(state: tuple[int, int]) -> bool:
        a, b = state
        return accepts(a >= 0 and left.accepting[a], b >= 0 and right.accepting[b])

    return explore((0, 0), step, ends)


def _overlaid(left: tuple[Edge, ...], right: tuple[Edge, ...]) -> Iterator[tuple[Span, int, int]]:
    """Ranges of characters with both targets; -1 where a side has none. O(edges)."""
    bounds = sorted({b for e in (*left, *right) for b in (e.lo, e.hi + 1)})
    i = j = 0
    for lo, above in pairwise(bounds):
        while i < len(left) and left[i].hi < lo:
            i += 1
        while j < len(right) and right[j].hi < lo:
            j += 1
        a = left[i].target if i < len(left) and left[i].lo <= lo else -1
        b = right[j].target if j < len(right) and right[j].lo <= lo else -1
        if a >= 0 or b >= 0:
            yield (lo, above - 1), a, b


NOTHING = Automaton(((),), (False,))
ANYTHING = Automaton((tuple(Edge(lo, hi, 0) for lo, hi in CHARACTERS),), (True,))


def of_texts(texts: Iterable[str]) -> Automaton:
    """The set of the given texts."""
    listed = frozenset(texts)

    def step(rest: frozenset[str]) -> Iterator[tuple[Span, frozenset[str]]]:
        for first in sorted({text[0] for text in rest if text}):
            code = ord(first)
            yield (code, code), frozenset(text[1:] for text in rest if text.startswith(first))

    return explore(listed, step, lambda rest: "" in rest)


def of_lengths(least: int, most: int | None) -> Automaton:
    """Texts of ``least`` to ``most`` characters."""
    last = least if most is None else most

    def step(length: int) -> Iterator[tuple[Span, int]]:
        if most is None or length < most:
            for span in CHARACTERS:
                yield span, min(length + 1, last + (most is not None))

    if last >= MAX_STATES:
        raise TooManyStates
    return explore(0, step, lambda length: length >= least)
