"""Free numbers: integers of up to 19 digits, others of up to 17 digits before and behind the point.

JSON allows ``5.6e920`` and integers of any length; Python reads the first as infinity and refuses the second
beyond 4,300 digits. So digits and exponents are bounded, and what is left is a small automaton::

    integer   start -> "-" -> 1 .. 19 digits (no zero first),  start -> "0"
    number    start -> "-" -> "0" or 1 .. 17 digits  -> "." 1 .. 17 digits  -> "e" sign 1 .. 2 digits
                       each part may be the last one

It has some forty states, so all that can be asked is worked out for all of them at once, when the first spec
of a vocabulary with free numbers is compiled: where each token leads from each state, and which tokens close
a number. Then a token costs a look-up, whatever the number. ``number_rules.py`` bounds the same numbers
inside larger grammars; it is the reference.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from factorspec_sdk.decoding.json_strings import OUTSIDE
from factorspec_sdk.decoding.text_rules import TextRules, TextState
from factorspec_sdk.graph.program import HoleSpec
from factorspec_sdk.tokens import Allowed, Vocabulary, pack_ids
from factorspec_sdk.tokens.masks import Row
from factorspec_sdk.tokens.memo import ID_BYTES, Memo, text_bytes

NumberKind = Literal["integer", "number"]

MOST_INTEGER_DIGITS = 19
MOST_WHOLE_DIGITS = 17
MOST_FRACTION_DIGITS = 17
MOST_EXPONENT_DIGITS = 2

_KINDS: tuple[NumberKind, ...] = ("integer", "number")
_DEAD = -1
_DIGITS = b"0123456789"
_MAX_ENDINGS = 256
_MAX_ENDING_BYTES = 1 << 22
_MAX_ALLOWED = 1 << 12
_MAX_ALLOWED_BYTES = 1 << 23


class Automaton(NamedTuple):
    """States are numbered, 0 is the start.

    Attributes:
        steps: by byte, for each state the one behind it; -1: none. The last entry keeps -1 where it is.
        ends: the states in which a number may end.
        ways: for each state the shortest bytes that end a number.
    """

    steps: dict[int, tuple[int, ...]]
    ends: frozenset[int]
    ways: tuple[bytes, ...]


class FreeNumbers(TextRules):
    """The texts of all free numbers of a kind. A state is a number of the automaton's."""

    few_states = True

    def __init__(self, vocabulary: Vocabulary, kind: NumberKind) -> None:
        """Use ``of``."""
        super().__init__(vocabulary)
        self._row_words = vocabulary.row_words
        self._automaton = automaton_of(kind)
        self._afters = self._tabulated()
        self._closing: Memo[bytes, tuple[tuple[int, ...], ...]] = Memo(
            max_entries=_MAX_ENDINGS, max_bytes=_MAX_ENDING_BYTES
        )
        self._allowed: Memo[Hashable, Allowed] = Memo(max_entries=_MAX_ALLOWED, max_bytes=_MAX_ALLOWED_BYTES)

    @staticmethod
    def of(vocabulary: Vocabulary, spec: HoleSpec) -> FreeNumbers | None:
        """The rules of a hole, where it holds a free number. Kept with the vocabulary."""
        if spec.kind != "json" or spec.grammar is not None or spec.schema is None or len(spec.schema) != 1:
            return None
        kind = next((kind for kind in _KINDS if spec.schema == {"type": kind}), None)
        return None if kind is None else free_numbers(vocabulary, kind)

    def start(self) -> TextState:
        """Before the first byte."""
        return 0

    def walk(self, state: TextState, data: bytes) -> TextState | None:
        """The state after some bytes, or None if no number goes on so."""
        assert isinstance(state, int)
        steps = self._automaton.steps
        for byte in data:
            step = steps.get(byte)
            state = _DEAD if step is None else step[state]
            if state == _DEAD:
                return None
        return state

    def after(self, state: TextState, token: int) -> TextState | None:
        """The state after a token that lies wholly inside the number. One look-up."""
        assert isinstance(state, int)
        return self._afters[state].get(token)

    def may_go_on(self, state: TextState, data: bytes) -> bool:
        """True if a number may go on with these bytes."""
        return self.walk(state, data) is not None

    def mode(self, state: TextState) -> int:
        """Never inside a string."""
        return OUTSIDE

    def complete(self, state: TextState) -> bool:
        """True if the number may end here."""
        return state in self._automaton.ends

    def row(self, state: TextState) -> Row:
        """The tokens that lie wholly inside the number."""
        assert isinstance(state, int)
        return pack_ids(self._afters[state], self._row_words)

    def closing(self, state: TextState, ending: bytes) -> Sequence[int]:
        """The tokens that hold the rest of a number and then exactly ``ending``."""
        assert isinstance(state, int)
        known = self._closing.get(ending)
        if known is None:
            known = self._closing_with(ending)
            size = text_bytes(ending) + ID_BYTES * sum(map(len, known))
            self._closing.keep(ending, known, size)
        return known[state]

    def allowed(self, state: TextState, endings: tuple[bytes, ...]) -> Allowed:
        """The tokens of ``row`` and ``closing``. States that allow the same tokens share them."""
        key = (state, endings)
        known = self._allowed.get(key)
        if known is None:
            assert isinstance(state, int)
            ids = frozenset(self._afters[state]).union(*(self.closing(state, each) for each in endings))
            size = 2 * ID_BYTES * len(ids)
            known = self._allowed.get(ids) or self._allowed.keep(ids, Allowed.of(ids), size)
            self._allowed.keep(key, known, text_bytes(*endings))
        return known

    def way_out(self, state: TextState) -> bytes | None:
        """The shortest way to end the number."""
        assert isinstance(state, int)
        return self._automaton.ways[state]

    def finish_cost(self, state: TextState) -> int:
        """One token for each byte of the shortest way to end the number."""
        assert isinstance(state, int)
        return len(self._automaton.ways[state])

    def row_within(self, state: TextState, num_tokens: int) -> Row:
        """Tokens after which the number can be ended in time."""
        assert isinstance(state, int)
        kept = [token for token, on in self._afters[state].items() if self.finish_cost(on) <= num_tokens]
        return pack_ids(kept, self._row_words)

    def leaves_all(self, state: TextState, num_tokens: int) -> bool:
        """True if ``row_within`` is ``row``: no number needs more than a digit."""
        return num_tokens >= self.needed(state)

    def needed(self, state: TextState) -> int:
        """One digit."""
        return max(map(len, self._automaton.ways))

    def strides(self, state: TextState) -> Sequence[int]:
        """The tokens of the shortest way to end the number."""
        assert isinstance(state, int)
        way = self._automaton.ways[state]
        return [token for token in self._afters[state] if way and self.bytes_of(token) == way]

    def _tabulated(self) -> list[dict[int, int]]:
        """For each state the tokens by which a number goes on there, and the states behind them."""
        size = len(self._automaton.ways)
        found: list[dict[int, int]] = [{} for _ in range(size)]
        for data, token in self._tokens.spelled_on(b"", tuple(range(size)), self._walk_all):
            behind = self._walk_all(tuple(range(size)), data)
            for state, after in enumerate(behind or ()):
                if after != _DEAD:
                    found[state][token] = after
        return found

    def _closing_with(self, ending: bytes) -> tuple[tuple[int, ...], ...]:
        """For each state the tokens that hold the rest of a number and then ``ending``."""
        found: list[list[int]] = [[] for _ in self._automaton.ways]
        for data, token in self._ending_with(ending):
            for state, end in enumerate(self._walk_all(tuple(range(len(found))), data) or ()):
                if end in self._automaton.ends:
                    found[state].append(token)
        return tuple(map(tuple, found))

    def _ending_with(self, ending: bytes) -> Iterator[tuple[bytes, int]]:
        """What tokens hold before ``ending``, with their ids, where that begins like a number."""
        yield from ((b"", token) for token in self._tokens.spelling(ending))
        for byte in self._automaton.steps:
            first = bytes((byte,))
            for data, token in self._tokens.from_to(first, ending):
                yield first + data, token

    def _walk_all(self, states: tuple[int, ...], data: bytes) -> tuple[int, ...] | None:
        """``walk`` from each of some states; None if no number goes on from any."""
        for byte in data:
            step = self._automaton.steps.get(byte)
            if step is None:
                return None
            states = tuple(step[state] for state in states)
        return states if max(states) != _DEAD else None


@lru_cache(maxsize=16)
def free_numbers(vocabulary: Vocabulary, kind: NumberKind) -> FreeNumbers:
    """The rules of a kind: no spec has a part in them."""
    return FreeNumbers(vocabulary, kind)


@cache
def automaton_of(kind: NumberKind) -> Automaton:
    """The automaton of a kind, from the edges between its states."""
    edges = _edges_of(kind)
    names = ["start", *dict.fromkeys(to for _, _, to in edges)]
    numbers = {name: at for at, name in enumerate(names)}
    steps = {
        byte: [_DEAD] * (len(names) + 1) for byte in sorted({byte for _, data, _ in edges for byte in data})
    }
    ways = [b""] * len(names)
    for name, data, to in edges:
        ways[numbers[name]] = ways[numbers[name]] or data[:1]
        for byte in data:
            steps[byte][numbers[name]] = numbers[to]
    ends = frozenset(numbers[name] for name in names if name.startswith(("zero", "whole", "part", "power")))
    return Automaton(
        {byte: tuple(step) for byte, step in steps.items()},
        ends,
        tuple(b"" if state in ends else way for state, way in enumerate(ways)),
    )


Edge = tuple[str, bytes, str]


def _edges_of(kind: NumberKind) -> list[Edge]:
    """(state, bytes, state behind each of them). The first byte of a state that is no end leads to one."""
    if kind == "integer":
        digits = _run("start", "whole", MOST_INTEGER_DIGITS, _DIGITS[1:])
        return [("start", b"0", "zero"), ("minus", _DIGITS[1:], "whole 1"), *digits, ("start", b"-", "minus")]
    wholes = [f"whole {count + 1}" for count in range(MOST_WHOLE_DIGITS)]
    parts = [f"part {count + 1}" for count in range(MOST_FRACTION_DIGITS)]
    return [
        *((name, b"0", "zero") for name in ("start", "minus")),
        ("minus", _DIGITS[1:], "whole 1"),
        *_run("start", "whole", MOST_WHOLE_DIGITS, _DIGITS[1:]),
        ("start", b"-", "minus"),
        *((name, b".", "point") for name in ("zero", *wholes)),
        *_run("point", "part", MOST_FRACTION_DIGITS, _DIGITS),
        *((name, b"eE", "e") for name in ("zero", *wholes, *parts)),
        *_run("e", "power", MOST_EXPONENT_DIGITS, _DIGITS),
        ("e", b"+-", "sign"),
        ("sign", _DIGITS, "power 1"),
    ]


def _run(before: str, name: str, most: int, first: bytes) -> list[Edge]:
    """Up to ``most`` digits; ``first``: the bytes of the first one."""
    further = [(f"{name} {count}", _DIGITS, f"{name} {count + 1}") for count in range(1, most)]
    return [(before, first, f"{name} 1"), *further]
