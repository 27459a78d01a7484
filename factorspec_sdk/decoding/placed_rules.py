"""Holes whose grammar is known: the place in it tells one state from another, so masks are made once a place.

XGrammar makes a mask in some µs to tens of µs, and anew wherever a text stands. Walking the grammar beside it
(``grammar_ways.py``) shows that most tokens lead to a place where a text has stood before: inside a string
without rules every character leads back to where it came from. States are kept by place, each with what was
worked out there: allowed tokens, where they lead, whether the text may end. XGrammar is asked only at a place
that no text has reached before; its matcher is brought there only then.

``GrammarRules`` is the slow reference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from factorspec_sdk.decoding.ebnf import UnknownSyntax
from factorspec_sdk.decoding.grammar_ways import Place, Ways, whole_characters
from factorspec_sdk.decoding.grammars import (
    MAX_GRAMMAR_SIZE,
    GrammarRules,
    GrammarState,
    grammar_text,
    grammar_too_large,
)
from factorspec_sdk.decoding.json_strings import (
    FIRST_OF_PAIR,
    LAST_OF_PAIR,
    OUTSIDE,
    PLAIN,
    StringState,
    finish,
    walk,
)
from factorspec_sdk.decoding.token_bytes import TokenBytes
from factorspec_sdk.graph.program import HoleSpec
from factorspec_sdk.tokens import Allowed, Vocabulary
from factorspec_sdk.tokens.masks import Row
from factorspec_sdk.tokens.memo import Memo, text_bytes

if TYPE_CHECKING:
    import xgrammar

_MAX_RULES = 64
_MAX_RULES_BYTES = 1 << 26
_MAX_STATES = 1024
_MAX_DENSE = 64
#: those with many tokens that are made while compiling
_MAX_PREPARED_DENSE = 40
_MAX_MEMO = 4096
_ASCII = 0x80
_NOTHING = -1
#: steps that all states remember together
_MAX_STEPS = 1 << 17
# Measured, in bytes.
_STEP_BYTES = 150
_STATE_BYTES = 1000
#: rows with no more words than this are kept as ids
_FEW_WORDS = 64
_SPECIAL = re.compile(rb'[\x00-\x1f"\\]')
#: the characters that stand for themselves in any string
_PLAIN_SPANS = ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0x7F))


class PlacedState(GrammarState):
    """A place, the bytes of an unfinished character, and the string automaton's state. One object each."""

    __slots__ = ("afters", "allowed", "before", "first", "loops", "pending", "place", "walks")

    def __init__(
        self,
        string: StringState,
        place: Place,
        pending: bytes,
        first: int,
        before: tuple[PlacedState, bytes] | xgrammar.GrammarMatcher,
    ) -> None:
        super().__init__(string, None)
        #: the ASCII bytes of which the grammar takes one next, as bits
        self.first = first
        self.place = place
        self.pending = pending
        #: the matcher, or the state that this one came from and by which bytes
        self.before = before
        self.loops: bool | None = None
        self.afters: dict[int, PlacedState | None] = {}
        self.walks: dict[bytes, PlacedState | None] = {}
        self.allowed: dict[tuple[bytes, ...], Allowed] = {}


class PlacedRules(GrammarRules):
    """The texts of a grammar, without bounds on their length."""

    def __init__(self, spec: HoleSpec, vocabulary: Vocabulary, grammar: str, ways: Ways) -> None:
        """Compiles the grammar. Use ``grammar_rules``."""
        super().__init__(spec, vocabulary, grammar)
        self._ways = ways
        self._num_dense = 0
        self._num_steps = 0
        self._states: dict[tuple[Place, bytes, int], PlacedState] = {}
        assert self._start.matcher is not None
        place = ways.start if self._in_value else ways.after(ways.start, '"')
        self._start = PlacedState(self._start.string, place, b"", ways.first(place), self._start.matcher)

    def walk(self, state: object, data: bytes) -> PlacedState | None:
        """The state after some bytes, or None."""
        assert isinstance(state, PlacedState)
        if not data:
            return state
        if data[0] < _ASCII and not state.first >> data[0] & 1:
            return None
        if self._loops(state):
            special = _SPECIAL.search(data)
            plain = len(data) if special is None else special.start()
            if plain and data[:plain].isascii():
                return self.walk(state, data[plain:])
        if data in state.walks:
            return state.walks[data]
        if len(state.walks) >= _MAX_MEMO:
            state.walks.clear()
        after = state.walks[data] = self._walk(state, data)
        self._count_step()
        return after

    def _walk(self, state: PlacedState, data: bytes) -> PlacedState | None:
        string = walk(state.string, data, in_value=self._in_value)
        if string is None:
            return None
        try:
            text, pending = whole_characters(state.pending + data)
        except UnicodeDecodeError:
            return None
        place = self._ways.after(state.place, text)
        if not place or (pending and not self._may_begin(string, place, pending)):
            return None
        key = (place, pending, string.mode)
        known = self._states.get(key)
        if known is None:
            if len(self._states) >= _MAX_STATES:
                self._states.clear()
            # Another thread may have made it meanwhile: one of the two is kept.
            first = 0 if pending else self._ways.first(place)
            made = PlacedState(StringState(string.mode), place, pending, first, (state, data))
            known = self._states.setdefault(key, made)
        return known

    def _may_begin(self, string: StringState, place: Place, pending: bytes) -> bool:
        """True if a character that begins so may follow: outside strings there is none of several bytes."""
        return string.mode != OUTSIDE and self._ways.may_begin(place, pending)

    def _loops(self, state: PlacedState) -> bool:
        """True if every ASCII character but quotes, backslashes and controls leads back to the state."""
        if state.loops is None:
            at_rest = state.string.mode == PLAIN and not state.pending
            state.loops = at_rest and all(self._ways.loops(state.place, *span) for span in _PLAIN_SPANS)
        return state.loops

    def after(self, state: object, token: int) -> PlacedState | None:
        """The state after a token that lies wholly inside the text; mostly one look-up."""
        assert isinstance(state, PlacedState)
        if token in state.afters:
            return state.afters[token]
        data = self.bytes_of(token)
        after = self.walk(state, data) if data else None
        if after is not None and not self._masks.may_end_in(after.string.mode):
            after = None
        if len(state.afters) >= _MAX_MEMO:
            state.afters.clear()
        state.afters[token] = after
        self._count_step()
        return after

    def _count_step(self) -> None:
        """Forget the states where they remember too many steps together."""
        self._num_steps += 1
        if self._num_steps > _MAX_STEPS:
            self._states.clear()
            self._num_steps = 0

    @property
    def num_bytes(self) -> int:
        """About the memory that the rules take now, in bytes."""
        steps = _STEP_BYTES * self._num_steps + _STATE_BYTES * len(self._states)
        return super().num_bytes + self._ways.num_bytes + steps

    def complete(self, state: object) -> bool:
        """True if the text may end here."""
        assert isinstance(state, PlacedState)
        if state.ends is None:
            at_rest = state.string.mode == (OUTSIDE if self._in_value else PLAIN) and not state.pending
            place = state.place if self._in_value or not at_rest else self._ways.after(state.place, '"')
            state.ends = at_rest and self._ways.may_end(place)
        return state.ends

    def row(self, state: object) -> Row:
        """The tokens that lie wholly inside the text. Not kept: see ``allowed``."""
        assert isinstance(state, PlacedState)
        row = np.zeros(self._vocabulary.row_words, dtype=np.int32)
        self._matcher_of(state).fork().fill_next_token_bitmask(row)
        return row & self._masks.row(state.string.mode, None)

    def allowed(self, state: object, endings: tuple[bytes, ...]) -> Allowed:
        """The tokens of ``row`` and ``closing``. Kept for each place."""
        assert isinstance(state, PlacedState)
        known = state.allowed.get(endings)
        if known is None:
            closing = {token for ending in endings for token in self.closing(state, ending)}
            known = state.allowed[endings] = self._made(self.row(state), closing)
        return known

    def _made(self, row: Row, closing: set[int]) -> Allowed:
        words = np.flatnonzero(row).tolist()
        if len(words) > _FEW_WORDS:
            self._num_dense += 1
            if self._num_dense > _MAX_DENSE:
                self._num_dense = 1
                self._states.clear()
            return Allowed.from_row(row, closing)
        for word in words:
            bits = int(row[word]) & 0xFFFFFFFF
            while bits:
                closing.add(32 * word + (bits & -bits).bit_length() - 1)
                bits &= bits - 1
        return Allowed.of(closing)

    def prepare(self, endings: tuple[bytes, ...], most: int) -> int:
        """Make ``allowed`` of at most ``most`` places, those nearest to the beginning first; of how many."""
        assert isinstance(self._start, PlacedState)
        found = [self._start] if most > 0 else []
        seen, dense = set(found), min(self._num_dense + _MAX_PREPARED_DENSE, _MAX_DENSE)
        for at, state in enumerate(found):
            if self._num_dense >= dense:
                return at
            self.allowed(state, endings)
            for character in self._ways.characters(state.place) if len(found) < most else ():
                after = self.walk(state, character.encode())
                if after is not None and after not in seen and len(found) < most:
                    seen.add(after)
                    found.append(after)
        return len(found)

    def closing(self, state: object, ending: bytes) -> Sequence[int]:
        """The tokens that hold the rest of a text and then exactly ``ending``."""
        assert isinstance(state, PlacedState)
        candidates = _candidates(self._vocabulary, self._in_value, state.string.mode, ending)
        found: list[int] = []
        for first, pairs in candidates.items():
            if first < _ASCII and first != _NOTHING and not state.first >> first & 1:
                continue
            for data, token_id in pairs:
                end = self.walk(state, data)
                if end is not None and self.complete(end):
                    found.append(token_id)
        return found

    def _finish_of(self, state: GrammarState) -> bytes | None:
        """The shortest bytes that end the text."""
        assert isinstance(state, PlacedState)
        if FIRST_OF_PAIR <= state.string.mode <= LAST_OF_PAIR:  # the grammar may know nothing of pairs
            head = finish(state.string.mode)
            after = self.walk(state, head)
            tail = None if after is None else self._finish_of(after)
            return None if tail is None else head + tail
        found = self._ways.finish(state.place, state.pending)
        if found is not None and not self._in_value:
            found = found[:-1]  # the closing quote is not among a string's bytes
        if found is None or self._walk(state, found) is None:
            return super()._finish_of(state)
        return found

    def _matcher_of(self, state: GrammarState) -> xgrammar.GrammarMatcher:
        """The state's matcher, brought there from the nearest state that has one."""
        assert isinstance(state, PlacedState)
        chain: list[bytes] = []
        before = state.before
        while isinstance(before, tuple):
            chain.append(before[1])
            before = before[0].before
        matcher = before
        for data in reversed(chain):
            matcher = matcher.fork()
            taken = matcher.accept_string(data)
            assert taken, "the grammar library takes what the grammar's rules take"
        if chain:
            state.before = matcher
        return matcher


def grammar_rules(spec: HoleSpec, vocabulary: Vocabulary) -> GrammarRules:
    """The rules of a hole. Cached by content.

    Raises:
        DocumentError: XGrammar refuses the schema.
        TooLarge: the grammar is larger than ``MAX_GRAMMAR_SIZE``.
        MissingExtra: XGrammar is not installed.
    """
    schema = json.dumps(spec.schema if spec.schema is not None else {})
    key = (spec.kind, schema, spec.min_length, spec.max_length, spec.grammar)
    memo = _rules(vocabulary)
    known = memo.get(key)
    if known is None:
        made = _make(spec, vocabulary)
        known = memo.keep(key, made, text_bytes(schema) + made.num_bytes)
    return known


def _make(spec: HoleSpec, vocabulary: Vocabulary) -> GrammarRules:
    text = grammar_text(spec)
    if len(text) > MAX_GRAMMAR_SIZE:
        raise grammar_too_large(spec.path)
    if (spec.min_length, spec.max_length) == (0, None):
        try:
            return PlacedRules(spec, vocabulary, text, Ways.of(text))
        except UnknownSyntax:
            pass
    return GrammarRules(spec, vocabulary, text)


@lru_cache(maxsize=8)
def _rules(vocabulary: Vocabulary) -> Memo[tuple[object, ...], GrammarRules]:
    return Memo(max_entries=_MAX_RULES, max_bytes=_MAX_RULES_BYTES)


#: (what a token holds before an ending, its id), by the first byte of that; nothing before it: ``_NOTHING``
Candidates = dict[int, tuple[tuple[bytes, int], ...]]


@lru_cache(maxsize=512)
def _candidates(vocabulary: Vocabulary, in_value: bool, mode: int, ending: bytes) -> Candidates:
    """The tokens that hold some bytes and then ``ending``, if strings are closed or open as they must be."""
    wanted, by_first = OUTSIDE if in_value else PLAIN, dict[int, list[tuple[bytes, int]]]()
    for data, token_id in TokenBytes.of(vocabulary).ending_with(ending):
        end = walk(StringState(mode), data, in_value=in_value)
        if end is not None and end.mode == wanted:
            by_first.setdefault(data[0] if data else _NOTHING, []).append((data, token_id))
    return {first: tuple(pairs) for first, pairs in by_first.items()}
