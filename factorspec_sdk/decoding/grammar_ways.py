r"""The shortest way to finish a text of a grammar, from any place in it.

XGrammar gives the mask of a place but not what is still to come. So a grammar that we wrote ourselves
(``wire/languages/grammar.py``) is walked beside it, character by character. A *place* is what may still have
to be written, as sequences of symbols of which one must be written whole::

    rest 0                    nothing
    rest n = (symbol, rest)   a symbol, then an earlier rest: an id into ``_rests``

Rests are shared, so a place is a small set of ids; each rest has its shortest text's length. Equal places go
on and end alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import heappop, heappush

from factorspec_sdk.decoding.ebnf import Alternatives, Class, Name, Span, Symbol, rules_of
from factorspec_sdk.graph.feasibility import UNBOUNDED

Place = frozenset[int]
_LAST = 0x10FFFF
_ASCII = 0x80
_BREAKS = '"\\'
_MAX_STEPS = 1 << 14
# Measured, in bytes.
_REST_BYTES = 500
_STEP_BYTES = 300
_SYMBOL_BYTES = 200


class Ways:
    """The places of one grammar. Rests are kept; threads may share it (at worst one is made twice)."""

    def __init__(self, grammar: str) -> None:
        """Raises ``UnknownSyntax``."""
        self._rules = rules_of(grammar)
        rows = [row for alternatives in self._rules.values() for row in alternatives]
        self._rule_bytes = _SYMBOL_BYTES * sum(len(row) + 1 for row in rows)
        self._shortest = _shortest(self._rules)
        self._rests: list[tuple[Symbol, int] | None] = [None]
        self._sizes = [0]
        self._ids: dict[tuple[Symbol, int], int] = {}
        self._opened: dict[int, tuple[int, ...]] = {}
        self._steps: dict[tuple[Place, str], Place] = {}
        self.start: Place = frozenset((self._rest((Name("root"),), 0),))

    @staticmethod
    @lru_cache(maxsize=8)
    def of(grammar: str) -> Ways:
        """The ways of a grammar, made once."""
        return Ways(grammar)

    @property
    def num_bytes(self) -> int:
        """About the memory that rules, rests and steps take, in bytes."""
        return self._rule_bytes + _REST_BYTES * len(self._rests) + _STEP_BYTES * len(self._steps)

    def after(self, place: Place, text: str) -> Place:
        """The place after some text that the grammar takes there."""
        for character in text:
            key = (place, character)
            after = self._steps.get(key)
            if after is None:
                code = ord(character)
                after = frozenset(
                    rest for symbol, rest in self._characters(place) if symbol.among(code, code) is not None
                )
                if len(self._steps) >= _MAX_STEPS:
                    self._steps.clear()
                self._steps[key] = after
            place = after
        return place

    def first(self, place: Place) -> int:
        """The ASCII characters of which one may come next, as bits."""
        found = 0
        for symbol, _ in self._characters(place):
            for lo, hi in symbol.spans:
                if lo < _ASCII:
                    found |= ((2 << min(hi, _ASCII - 1) - lo) - 1) << lo
        return found

    def characters(self, place: Place) -> Sequence[str]:
        """ASCII characters, one for each way to go on by one; no quote and no backslash."""
        symbols = [symbol for symbol, _ in self._characters(place)]
        borders = {border for symbol in symbols for lo, hi in symbol.spans for border in (lo, hi + 1)}
        codes = (code for code in sorted(borders) if 0x20 <= code < _ASCII and chr(code) not in _BREAKS)
        return [
            chr(code) for code in codes if any(symbol.among(code, code) is not None for symbol in symbols)
        ]

    def loops(self, place: Place, lo: int, hi: int) -> bool:
        """True if the place surely stays the same whatever character from ``lo`` to ``hi`` follows."""
        found: set[int] = set()
        for symbol, rest in self._characters(place):
            if symbol.among(lo, hi) is not None:
                if not any(a <= lo and hi <= b for a, b in symbol.spans):
                    return False
                found.add(rest)
        return bool(found) and found == place

    def may_end(self, place: Place) -> bool:
        """True if nothing need follow."""
        return any(0 in self._open(rest) for rest in place)

    def may_begin(self, place: Place, pending: bytes) -> bool:
        """True if a character that begins with some bytes may follow."""
        lo, hi = _range(pending)
        return any(symbol.among(lo, hi) is not None for symbol, _ in self._characters(place))

    def finish(self, place: Place, pending: bytes) -> bytes | None:
        """The shortest bytes that finish a text; ``pending``: the first bytes of a character, if any."""
        written = bytearray()
        if pending:
            lo, hi = _range(pending)
            found = [
                (self._sizes[rest], code, rest)
                for symbol, rest in self._characters(place)
                if (code := symbol.among(lo, hi)) is not None
            ]
            if not found:
                return None
            _, code, rest = min(found)
            written += chr(code).encode()[len(pending) :]
        elif place:
            rest = min(place, key=lambda at: self._sizes[at])
        else:
            return None
        return bytes(written) + self._text(rest)

    def _text(self, rest: int) -> bytes:
        """The shortest text of a rest. Its length is ``_sizes``, so the loop ends."""
        written = bytearray()
        while rest:
            rest = min(self._open(rest), key=lambda at: self._sizes[at])
            entry = self._rests[rest]
            if entry is None:
                break
            symbol, rest = entry
            assert isinstance(symbol, Class)
            written += _least(symbol).encode()
        return bytes(written)

    def _characters(self, place: Place) -> Iterator[tuple[Class, int]]:
        for rest in place:
            for opened in self._open(rest):
                entry = self._rests[opened]
                if entry is not None:
                    assert isinstance(entry[0], Class)
                    yield entry[0], entry[1]

    def _open(self, rest: int) -> tuple[int, ...]:
        """The rests that begin with a character or are empty, by which a rest may go on."""
        known = self._opened.get(rest)
        if known is not None:
            return known
        found: dict[int, None] = {}
        seen, stack = {rest}, [rest]
        while stack:
            at = stack.pop()
            entry = self._rests[at]
            if entry is None or isinstance(entry[0], Class):
                found[at] = None
                continue
            for symbols in self._rules[entry[0].name]:
                inner = self._rest(symbols, entry[1])
                if inner not in seen:
                    seen.add(inner)
                    stack.append(inner)
        self._opened[rest] = tuple(found)
        return self._opened[rest]

    def _rest(self, symbols: tuple[Symbol, ...], rest: int) -> int:
        for symbol in reversed(symbols):
            key = (symbol, rest)
            known = self._ids.get(key)
            if known is None:
                size = self._shortest[symbol.name] if isinstance(symbol, Name) else _size(symbol)
                self._rests.append(key)
                self._sizes.append(min(UNBOUNDED, size + self._sizes[rest]))
                known = self._ids[key] = len(self._rests) - 1
            rest = known
        return rest


def whole_characters(data: bytes) -> tuple[str, bytes]:
    """The characters of some UTF-8, and the first bytes of one that is not whole."""
    cut = len(data)
    while cut and len(data) - cut < 4 and data[cut - 1] & 0xC0 == 0x80:
        cut -= 1
    first = data[cut - 1] if cut else 0
    size = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if first >= 0xC0 and len(data) - cut + 1 < size:
        return data[: cut - 1].decode(), data[cut - 1 :]
    return data.decode(), b""


def _least(symbol: Class) -> str:
    return chr(symbol.spans[0][0])


def _size(symbol: Class) -> int:
    return len(_least(symbol).encode())


def _shortest(rules: dict[str, Alternatives]) -> dict[str, int]:
    """Bytes of the shortest text of each rule (Knuth's generalisation of Dijkstra's algorithm)."""
    users: dict[str, list[tuple[str, list[int]]]] = {}
    queue: list[tuple[int, str]] = []
    for name, alternatives in rules.items():
        for symbols in alternatives:
            inner = [symbol.name for symbol in symbols if isinstance(symbol, Name)]
            state = [sum(_size(symbol) for symbol in symbols if isinstance(symbol, Class)), len(inner)]
            for used in inner:
                users.setdefault(used, []).append((name, state))
            if not inner:
                heappush(queue, (state[0], name))
    found: dict[str, int] = {}
    while queue:
        size, name = heappop(queue)
        if name in found:
            continue
        found[name] = size
        for user, state in users.get(name, ()):
            state[0] += size
            state[1] -= 1
            if not state[1]:
                heappush(queue, (state[0], user))
    return {name: found.get(name, UNBOUNDED) for name in rules}


def _range(pending: bytes) -> Span:
    """The characters whose UTF-8 begins with some bytes."""
    first = pending[0]
    size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    code = first & (0x7F >> size)
    for byte in pending[1:]:
        code = code << 6 | byte & 0x3F
    left = 6 * (size - len(pending))
    lowest = (0x80, 0x800, 0x10000)[size - 2]
    return max(code << left, lowest), min((code << left) | ((1 << left) - 1), _LAST)
