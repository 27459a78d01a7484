"""Travel (or set-up) times between the places of two items, and the value that they are in a residual.

A place that is null or absent takes no time to reach and to leave. Between equal places the time is that of
their row, 0 without one; between different places without a row there is no way at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from factorspec_sdk.automata.nodes import Code, Known, Mark, NodeStore, SlotValue, ValueNode
from factorspec_sdk.automata.tables import Lookup
from factorspec_sdk.automata.tries import Leaf, Trie
from factorspec_sdk.fields.domains import Scalar, typed_key

#: typed key of a place; None for a place that is null or absent
Place = tuple[str, Scalar] | None
#: the place of an item whose place has no value (a lookup without a row): nothing leads there
NOWHERE: Place = ("missing", None)
#: shortest ways over other places are worked out for so many places; beyond, they are taken to be 0
MAX_PLACES = 64


def place_of(code: Code) -> Place:
    """The place that a code stands for."""
    if code is Mark.MISSING:
        return NOWHERE
    return None if code is None or isinstance(code, Mark) else typed_key(code)


class Travel:
    """Times from place to place. Compared by identity.

    places: those that items may have, as far as they are known; ``closed``: there are no others.
    hub: some item may have no place, so that any two places are close.
    """

    def __init__(
        self, times: Mapping[tuple[Place, Place], int], places: Iterable[Place], *, closed: bool
    ) -> None:
        listed = list(places)
        self.times = times
        self.places = tuple(dict.fromkeys(place for place in listed if place is not None))
        self.closed = closed
        self.hub = None in listed or not closed
        self.longest = max(times.values(), default=0)
        self._spans: dict[object, tuple[int, int, bool]] = {}

    def time(self, start: Place, end: Place) -> int | None:
        """Time of the direct way; None if there is none."""
        if start is None or end is None:
            return 0
        if NOWHERE in (start, end):
            return None
        found = self.times.get((start, end))
        return 0 if found is None and start == end else found

    def least(self, start: Place, end: Place) -> int | None:
        """Time of the shortest way, over any places; None if there is none. At most ``time``."""
        if self.hub or start is None or end is None or len(self.places) > MAX_PLACES:
            return 0
        return self._shortest.get((start, end), self.time(start, end))

    @cached_property
    def direct(self) -> bool:
        """True if no way over other places is shorter than the direct one, so that pairs tell everything."""
        if self.hub or len(self.places) > MAX_PLACES:
            return False
        return all(self.time(a, b) == self.least(a, b) for a in self.places for b in self.places)

    @cached_property
    def complete(self) -> bool:
        """True if there is a way between any two places."""
        return self.closed and all(self.time(a, b) is not None for a in self.places for b in self.places)

    def span(self, start: ValueNode, end: ValueNode) -> tuple[int, int, bool]:
        """(least, most, whether there is one for sure) of the times between two open places. Cached."""
        key = (_content(start), _content(end))
        found = self._spans.get(key)
        if found is None:
            found = self._spans[key] = self._span(possible_places(start), possible_places(end))
        return found

    def _span(self, starts: list[Place] | None, ends: list[Place] | None) -> tuple[int, int, bool]:
        if starts is None or ends is None or len(starts) * len(ends) > MAX_PLACES**2:
            return 0, self.longest, False
        found = [self.time(a, b) for a in starts for b in ends]
        times = [time for time in found if time is not None]
        return min(times, default=0), max(times, default=0), len(times) == len(found)

    @cached_property
    def _shortest(self) -> dict[tuple[Place, Place], int | None]:
        """Floyd and Warshall. O(places³)."""
        found: dict[tuple[Place, Place], int | None] = {
            (a, b): self.time(a, b) for a in self.places for b in self.places
        }
        for via in self.places:
            for a in self.places:
                first = found[a, via]
                if first is None:
                    continue
                for b in self.places:
                    second, known = found[via, b], found[a, b]
                    if second is not None and (known is None or first + second < known):
                        found[a, b] = first + second
        return found


class TravelTime(ValueNode):
    """The time of the way between two open places; MISSING where there is none."""

    __slots__ = ("end", "start", "travel")

    def __init__(self, store: NodeStore, travel: Travel, start: ValueNode, end: ValueNode) -> None:
        lo, hi, complete = travel.span(start, end)
        super().__init__(store, start.slots | end.slots, lo, hi, complete, not complete)
        self.travel, self.start, self.end = travel, start, end

    def _residual(self, slot: int, index: int, code: Code) -> ValueNode:
        start, end = self.start.assign(slot, index, code), self.end.assign(slot, index, code)
        return travel_time(self.store, self.travel, start, end)

    def _at(self, shift: int) -> ValueNode:
        return travel_time(self.store, self.travel, self.start.moved(shift), self.end.moved(shift))


def travel_time(store: NodeStore, travel: Travel, start: ValueNode, end: ValueNode) -> ValueNode:
    """The time of the way from one place to another; 0 where one of them is null or absent."""
    if isinstance(start, Known) and isinstance(end, Known):
        found = travel.time(place_of(start.code), place_of(end.code))
        return store.known(Mark.MISSING if found is None else found)
    key = (TravelTime, id(travel), start, end)
    return store.intern(key, lambda: TravelTime(store, travel, start, end))


def possible_places(node: ValueNode) -> list[Place] | None:
    """The places that a value may be; None where that is not known."""
    match node:
        case Known():
            return [place_of(node.code)]
        case SlotValue() if len(node.domain) <= MAX_PLACES**2:
            places = [place_of(node.domain.code(index)) for index in range(len(node.domain))]
            return places if node.always_present else [*places, None]
        case Lookup():
            return [*_leaves(node.trie), NOWHERE, *([] if _is_written(node) else [None])]
        case _:
            return None


def _is_written(node: Lookup) -> bool:
    return not node.unknown and all(isinstance(key, SlotValue) and key.always_present for key in node.keys)


def _leaves(trie: Trie) -> list[Place]:
    stack: list[Trie | Leaf] = [trie]
    found: dict[Place, None] = {}
    while stack:
        node = stack.pop()
        if isinstance(node, Leaf):
            found[place_of(node.code)] = None
        else:
            stack.extend(node.children.values())
    return list(found)


def _content(node: ValueNode) -> object:
    """What ``possible_places`` depends on."""
    match node:
        case Known():
            return place_of(node.code)
        case SlotValue():
            return node.domain.key, node.always_present
        case Lookup():
            return id(node.trie), _is_written(node)
        case _:
            return None
