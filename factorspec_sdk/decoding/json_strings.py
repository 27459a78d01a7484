"""The inside of a JSON string as a small automaton over bytes.

XGrammar could tell which tokens go on inside a string too, but it compiles a grammar for each length, lets
lone surrogate escapes pass, and does not say whether a token's bytes end inside a character or an escape,
which the rule near the token limit needs. The automaton has 22 modes; a text's state is (mode, characters
begun)::

    PLAIN --\\--> ESCAPE --u--> 4 hex digits --> PLAIN         a high surrogate must be followed by a low one,
      |                                                       a low one alone is refused
      +--lead byte--> 1 to 3 continuation bytes --> PLAIN      UTF-8, shortest form, no surrogates

A character counts when it begins (an escape once, a surrogate pair once). The closing quote is no part of the
text. For whole JSON values (``in_value``) there is a mode more, ``OUTSIDE``: quotes lead in and out of
strings, and all else is left to the grammar.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PLAIN, ESCAPE = 0, 1
_U0, _U1D, _U1, _U2, _U3, _H2, _H3, _HB, _HU, _L0, _L1, _L2, _L3 = range(2, 15)
C1, _C2, _C3, _E0, _ED, _F0, _F4 = range(15, 22)
OUTSIDE = 22
#: modes inside a pair of surrogate escapes, whose second half must follow
FIRST_OF_PAIR, LAST_OF_PAIR = _H2, _L3
NUM_MODES = 23
STOP = -1

#: Tokens of one byte that surely finish an escape or character, by mode.
_FINISH = {
    PLAIN: b"",
    ESCAPE: b"n",
    _U0: b"0000",
    _U1D: b"000",
    _U1: b"000",
    _U2: b"00",
    _U3: b"0",
    _H2: b"00\\udc00",
    _H3: b"0\\udc00",
    _HB: b"\\udc00",
    _HU: b"udc00",
    _L0: b"dc00",
    _L1: b"c00",
    _L2: b"00",
    _L3: b"0",
    C1: b"\x80",
    _C2: b"\x80\x80",
    _C3: b"\x80\x80\x80",
    OUTSIDE: b"",
    _E0: b"\xa0\x80",
    _ED: b"\x80\x80",
    _F0: b"\x90\x80\x80",
    _F4: b"\x80\x80\x80",
}
LONGEST_FINISH = max(map(len, _FINISH.values()))

_HEX = b"0123456789abcdefABCDEF"


@cache
def transitions(in_value: bool) -> NDArray[np.int16]:
    """(modes + 1, 256) int16: next mode, -1 refused; the last row keeps refused tokens refused."""
    table = np.full((NUM_MODES + 1, 256), STOP, dtype=np.int16)

    def put(mode: int, data: bytes | range, after: int) -> None:
        table[mode, list(data)] = after

    put(PLAIN, range(0x20, 0x80), PLAIN)
    put(PLAIN, b'"', STOP)
    put(PLAIN, b"\\", ESCAPE)
    put(PLAIN, range(0xC2, 0xE0), C1)
    put(PLAIN, range(0xE0, 0xF0), _C2)
    put(PLAIN, range(0xF1, 0xF4), _C3)
    for lead, after in ((0xE0, _E0), (0xED, _ED), (0xF0, _F0), (0xF4, _F4)):
        put(PLAIN, range(lead, lead + 1), after)
    put(ESCAPE, b'"\\/bfnrt', PLAIN)
    put(ESCAPE, b"u", _U0)
    put(_U0, _HEX, _U1)
    put(_U0, b"dD", _U1D)
    put(_U1D, b"01234567", _U2)
    put(_U1D, b"89abAB", _H2)
    for mode, after in (
        (_U1, _U2),
        (_U2, _U3),
        (_U3, PLAIN),
        (_H2, _H3),
        (_H3, _HB),
        (_L2, _L3),
        (_L3, PLAIN),
    ):
        put(mode, _HEX, after)
    put(_HB, b"\\", _HU)
    put(_HU, b"u", _L0)
    put(_L0, b"dD", _L1)
    put(_L1, b"cdefCDEF", _L2)
    rest = range(0x80, 0xC0)
    for mode, data, after in (
        (C1, rest, PLAIN), (_C2, rest, C1), (_C3, rest, _C2), (_E0, range(0xA0, 0xC0), C1),
        (_ED, range(0x80, 0xA0), C1), (_F0, range(0x90, 0xC0), _C2), (_F4, range(0x80, 0x90), _C2),
    ):  # fmt: skip
        put(mode, data, after)
    if in_value:
        put(OUTSIDE, range(256), OUTSIDE)
        put(OUTSIDE, b'"', PLAIN)
        put(PLAIN, b'"', OUTSIDE)
    return table


@cache
def _steps(in_value: bool) -> tuple[tuple[int, ...], ...]:
    """The same transitions as plain tuples: faster for single bytes."""
    return tuple(tuple(row) for row in transitions(in_value).tolist())


class StringState(NamedTuple):
    """Where a text stands: the mode, and how many characters have begun."""

    mode: int = PLAIN
    length: int = 0


def walk(state: StringState, data: bytes, *, in_value: bool = False) -> StringState | None:
    """The state after some bytes, or None if they are not allowed there. Ignores limits on the length."""
    steps = _steps(in_value)
    mode, length = state
    for byte in data:
        after = steps[mode][byte]
        if after < 0:
            return None
        if mode == PLAIN:
            length += 1
        mode = after
    return StringState(mode, length)


def finish(mode: int) -> bytes:
    """Bytes that end an unfinished character or escape."""
    return _FINISH[mode]
