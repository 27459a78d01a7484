"""Strings of a pattern or a format with bounds on their length: the characters are counted beside the place.

A state is a state of the table (``json_bytes.py``) and the characters so far. Their number is only compared
with what places need to come to an end (``remaining.py``). Far from the limits a mask is that of the place
alone, however large they are. Near them it is narrowed by arrays over the tokens, which say where each leads
and how many characters it begins. All is exact: a token may be written if and only if a text goes on so.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from factorspec_sdk.decoding.counted_walks import CountedWalks, Walked
from factorspec_sdk.decoding.json_bytes import JsonBytes
from factorspec_sdk.decoding.remaining import Remaining, Window
from factorspec_sdk.decoding.string_masks import packed
from factorspec_sdk.decoding.text_rules import TextRules, TextState
from factorspec_sdk.graph.feasibility import UNBOUNDED
from factorspec_sdk.tokens import Allowed, Vocabulary
from factorspec_sdk.tokens.masks import Row
from factorspec_sdk.tokens.memo import Memo, text_bytes
from factorspec_sdk.wire.languages.automaton import Automaton
from factorspec_sdk.wire.languages.bounded import lengths_of_narrowed, narrowed
from factorspec_sdk.wire.languages.lengths import Lengths

_MAX_KEPT = 512
_MAX_BYTES = 1 << 24
_MAX_STEPS = 1 << 16
_STEP_BYTES = 150
_PAIR_BYTES = 100
#: ways to finish with more characters are not told
_MAX_FINISH = 512
KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


class CountedState(NamedTuple):
    """A state of the table, and characters so far (no more than ``least`` where there is no upper limit)."""

    at: int
    length: int


class CountedRules(TextRules):
    """The texts of an automaton with ``least`` to ``most`` characters (None: any number)."""

    def __init__(
        self, vocabulary: Vocabulary, automaton: Automaton, lengths: Lengths, least: int, most: int | None
    ) -> None:
        """There must be such a text; ``lengths``: of the automaton, up to ``most``.

        Raises:
            TooManyBytes: the automaton is too large.
        """
        super().__init__(vocabulary)
        self._row_words = vocabulary.row_words
        self._token_id = vocabulary.token_id
        self._least, self._most = least, most
        self._table = JsonBytes(automaton)
        self._accepting = automaton.accepting
        self._remaining = Remaining(automaton, lengths, self._table, self._tokens.longest)
        self._walks = CountedWalks(vocabulary, self._table)
        self._start = CountedState(0, 0)
        self._steps: Memo[tuple[int, int], tuple[int, int] | None] = _memo(_MAX_STEPS)
        self._ends: Memo[Window, NDArray[np.bool_]] = _memo()
        self._costs: Memo[Window, NDArray[np.int64]] = _memo()
        self._rows: Memo[tuple[int, Window], Row] = _memo()
        self._allowed: Memo[tuple[int, Window, tuple[bytes, ...]], Allowed] = _memo()
        self._closing: Memo[tuple[int, bytes], tuple[tuple[int, int], ...]] = _memo()

    @property
    def num_bytes(self) -> int:
        """About the memory that the rules take now, in bytes."""
        memos = (self._steps, self._ends, self._costs, self._rows, self._allowed, self._closing)
        return 2 * self._table.table.nbytes + self._walks.num_bytes + sum(memo.num_bytes for memo in memos)

    def start(self) -> CountedState:
        """Before the first byte."""
        return self._start

    def walk(self, state: TextState, data: bytes) -> CountedState | None:
        """The state after some bytes, or None."""
        assert isinstance(state, CountedState)
        return self._at(state, self._table.walk(state.at, data))

    def after(self, state: TextState, token: int) -> CountedState | None:
        """The state after a token that lies wholly inside the text; mostly two look-ups."""
        assert isinstance(state, CountedState)
        key = (state.at, token)
        if key in self._steps:
            step = self._steps[key]
        else:
            step = self._steps.keep(key, self._step(state.at, token), _STEP_BYTES)
        return self._at(state, step)

    def _step(self, at: int, token: int) -> tuple[int, int] | None:
        data = self.bytes_of(token)
        step = self._table.walk(at, data) if data else None
        return None if step is None or not self._walks.may_end_in(step[0]) else step

    def _at(self, state: CountedState, step: tuple[int, int] | None) -> CountedState | None:
        """The state after a step, if a text goes on from there."""
        if step is None:
            return None
        at, begun = step
        length = state.length + begun
        if self._most is None:
            length = min(length, self._least)
        if at == state.at and length == state.length:
            return state
        after = CountedState(at, length)
        window = self._window(after)
        return after if self._remaining.is_ample(window) or self._ends_of(window)[at] else None

    def may_go_on(self, state: TextState, data: bytes) -> bool:
        """True if a token with these bytes may be written and lies wholly inside the text."""
        after = self.walk(state, data)
        return after is not None and self._walks.may_end_in(after.at)

    def complete(self, state: TextState) -> bool:
        """True if the text may end here."""
        assert isinstance(state, CountedState)
        at_rest = state.at < self._table.num_places
        return at_rest and self._accepting[state.at] and state.length >= self._least

    def row(self, state: TextState) -> Row:
        """The tokens that lie wholly inside the text."""
        assert isinstance(state, CountedState)
        key = (state.at, self._window(state))
        known = self._rows.get(key)
        if known is None:
            walked = self._walks.of(state.at)
            made = self._packed(walked, self._fits(walked, key[1]))
            known = self._rows.keep(key, made, made.nbytes)
        return known

    def _packed(self, walked: Walked, fits: NDArray[np.bool_]) -> Row:
        return packed(walked.ids[fits].astype(np.int32), self._row_words)

    def _fits(self, walked: Walked, window: Window) -> NDArray[np.bool_]:
        """(tokens,) bool: those after which an end is reached within the window."""
        if self._remaining.is_ample(window) or not len(walked.ids):
            return np.ones(len(walked.ids), dtype=np.bool_)
        numbers, index = np.unique(walked.begun, return_inverse=True)
        ends = [self._ends_of(_moved(window, begun)) for begun in numbers.tolist()]
        return np.array(ends, dtype=np.bool_).reshape(len(numbers), -1)[index, walked.ends]

    def mode(self, state: TextState) -> int:
        """Where the text stands."""
        assert isinstance(state, CountedState)
        return self._table.modes[state.at]

    def allowed(self, state: TextState, endings: tuple[bytes, ...]) -> Allowed:
        """The tokens of ``row`` and ``closing``. Kept for each place and window."""
        assert isinstance(state, CountedState)
        key = (state.at, self._window(state), endings)
        known = self._allowed.get(key)
        if known is None:
            size = 8 * self._row_words + text_bytes(*endings)
            known = self._allowed.keep(key, super().allowed(state, endings), size)
        return known

    def closing(self, state: TextState, ending: bytes) -> Sequence[int]:
        """The tokens that hold the rest of a text and then exactly ``ending``."""
        assert isinstance(state, CountedState)
        least, most = self._least - state.length, self._left(state)
        key = (state.at, ending)
        found = self._closing.get(key)
        if found is None:
            made = tuple(self._closers(state.at, ending))
            found = self._closing.keep(key, made, text_bytes(ending) + _PAIR_BYTES * len(made))
        return [i for i, begun in found if begun >= least and (most is None or begun <= most)]

    def _closers(self, at: int, ending: bytes) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for data, token_id in self._tokens.ending_with(ending):
            step = self._table.walk(at, data)
            if step is not None and step[0] < self._table.num_places and self._accepting[step[0]]:
                found.append((token_id, step[1]))
        return found

    def finish_cost(self, state: TextState) -> int:
        """One token for each byte that is missing."""
        assert isinstance(state, CountedState)
        return int(self._costs_of(self._least - state.length, self._left(state))[state.at])

    def row_within(self, state: TextState, num_tokens: int) -> Row:
        """Tokens after which the text can be finished in time."""
        assert isinstance(state, CountedState)
        if self.leaves_all(state, num_tokens):
            return self.row(state)
        walked = self._walks.of(state.at)
        costs = np.full(len(walked.ids), UNBOUNDED, dtype=np.int64)
        left = self._left(state)
        for begun in np.unique(walked.begun).tolist():
            most = None if left is None else left - begun
            if most is None or most >= 0:
                own = walked.begun == begun
                after = self._costs_of(self._least - state.length - begun, most)
                costs[own] = after[walked.ends[own]]
        return self._packed(walked, costs <= min(num_tokens, UNBOUNDED - 1))

    def leaves_all(self, state: TextState, num_tokens: int) -> bool:
        """True if ``row_within`` is ``row``."""
        return num_tokens >= self.needed(state)

    def needed(self, state: TextState) -> int:
        """As many as any place may need; later states need no more."""
        assert isinstance(state, CountedState)
        return self._remaining.most_cost(max(0, self._least - state.length))

    def way_out(self, state: TextState) -> bytes | None:
        """The shortest bytes that bring the text to an end; None where they are many."""
        assert isinstance(state, CountedState)
        least, most = max(0, self._least - state.length), self._left(state)
        if least > _MAX_FINISH:
            return None
        limit = _MAX_FINISH if most is None else min(most, _MAX_FINISH)
        numbers = self._remaining.numbers(least, limit)
        inner = self._table.inner[state.at].items()
        found = [(size + int(numbers[end]), end) for end, size in inner if numbers[end] <= limit]
        if not found:
            return None
        _, end = min(found)
        return self._table.into(state.at, end) + self._remaining.way(end, int(numbers[end]))

    def strides(self, state: TextState) -> Sequence[int]:
        """The first token of the way out, byte by byte."""
        way = None if self.complete(state) else self.way_out(state)
        token = self._token_id(way[:1]) if way else None
        return () if token is None else (token,)

    def _left(self, state: CountedState) -> int | None:
        return None if self._most is None else self._most - state.length

    def _window(self, state: CountedState) -> Window:
        return self._remaining.window(self._least - state.length, self._left(state))

    def _ends_of(self, window: Window) -> NDArray[np.bool_]:
        known = self._ends.get(window)
        if known is None:
            made = self._remaining.ends(window)
            known = self._ends.keep(window, made, made.nbytes)
        return known

    def _costs_of(self, least: int, most: int | None) -> NDArray[np.int64]:
        key = (max(least, 0), -1 if most is None else most)
        if least <= 0 and (most is None or most >= self._remaining.amplest):
            key = (0, -1)
        known = self._costs.get(key)
        if known is None:
            made = self._remaining.costs(key[0], None if key[1] < 0 else most)
            known = self._costs.keep(key, made, made.nbytes)
        return known


@lru_cache(maxsize=64)
def counted_rules(
    vocabulary: Vocabulary, pattern: str | None, name: str | None, least: int, most: int | None
) -> CountedRules:
    """The rules of a pattern, a format, or both. Kept.

    Raises:
        PatternProblem: the pattern is not taken.
        TooManyStates, TooManyBytes, LengthsTooMany: they are too large.
    """
    lengths = lengths_of_narrowed(pattern, name, most)
    return CountedRules(vocabulary, narrowed(pattern, name), lengths, least, most)


def _moved(window: Window, begun: int) -> Window:
    """What is left of a window after some characters."""
    return max(0, window[0] - begun), window[1] - begun


def _memo(entries: int = _MAX_KEPT) -> Memo[KeyT, ValueT]:
    return Memo(max_entries=entries, max_bytes=_MAX_BYTES)
