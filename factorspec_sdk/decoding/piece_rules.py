"""The inside of a JSON string that must be a verbatim piece of a given text."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np

from factorspec_sdk.decoding.json_strings import PLAIN, StringState, walk
from factorspec_sdk.decoding.pieces import Piece, Pieces
from factorspec_sdk.decoding.string_masks import StringMasks, packed
from factorspec_sdk.decoding.text_rules import TextRules, TextState
from factorspec_sdk.decoding.token_bytes import TokenBytes
from factorspec_sdk.tokens import Vocabulary
from factorspec_sdk.tokens.masks import Row
from factorspec_sdk.tokens.memo import ID_BYTES, Memo

#: bytes of the longest escape of a character (a pair of surrogates)
_LONGEST_CHARACTER = 12
_MAX_KEPT = 512
_MAX_KEPT_BYTES = 1 << 22
_KEY_BYTES = 300
#: so many ways to go on are all tried for a short text; of more, one for each number of characters
_FEW = 64
KeyT = TypeVar("KeyT", bound=Hashable)


class PieceState(NamedTuple):
    """What is written, and where that stands as a JSON string."""

    piece: Piece
    string: StringState


class PieceRules(TextRules):
    """Pieces of ``sources`` of ``least`` to ``most`` characters, each character in its one spelling."""

    def __init__(self, vocabulary: Vocabulary, sources: tuple[str, ...], least: int, most: int) -> None:
        """Use ``of``."""
        super().__init__(vocabulary)
        self._pieces = Pieces.of(sources, least)
        self._masks = StringMasks.of(vocabulary)
        self._row_words = vocabulary.row_words
        self._least = least
        self._most = most
        self._going: Memo[PieceState, tuple[int, ...]] = Memo(
            max_entries=_MAX_KEPT, max_bytes=_MAX_KEPT_BYTES
        )
        self._closing: Memo[tuple[PieceState, bytes], tuple[int, ...]] = Memo(
            max_entries=_MAX_KEPT, max_bytes=_MAX_KEPT_BYTES
        )

    @staticmethod
    def of(vocabulary: Vocabulary, sources: tuple[str, ...], least: int, most: int) -> PieceRules:
        """The rules for one vocabulary. Kept."""
        return _rules(vocabulary, sources, least, most)

    def start(self) -> TextState:
        """Before the first byte."""
        return PieceState(Piece(), StringState())

    def walk(self, state: TextState, data: bytes) -> TextState | None:
        """The state after some bytes, or None if no piece goes on so."""
        assert isinstance(state, PieceState)
        string = walk(state.string, data)
        if string is None or string.length > self._most:
            return None
        piece = self._pieces.after(state.piece, data)
        return None if piece is None else PieceState(piece, string)

    def after(self, state: TextState, token: int) -> TextState | None:
        """The state after a token that lies wholly inside the text."""
        data = self.bytes_of(token)
        after = self.walk(state, data) if data else None
        return after if isinstance(after, PieceState) and self._masks.may_end_in(after.string.mode) else None

    def may_go_on(self, state: TextState, data: bytes) -> bool:
        """True if a token with these bytes may be written and lies wholly inside the text."""
        after = self.walk(state, data)
        return isinstance(after, PieceState) and self._masks.may_end_in(after.string.mode)

    def mode(self, state: TextState) -> int:
        """Where the text stands."""
        assert isinstance(state, PieceState)
        return state.string.mode

    def complete(self, state: TextState) -> bool:
        """True if the text may end here."""
        assert isinstance(state, PieceState)
        return state.string.mode == PLAIN and state.string.length >= self._least

    def row(self, state: TextState) -> Row:
        """The tokens that lie wholly inside the text."""
        return self._packed(self._going_on(state))

    def closing(self, state: TextState, ending: bytes) -> Sequence[int]:
        """The tokens that hold the rest of a text and then exactly ``ending``."""
        assert isinstance(state, PieceState)
        found = self._closing.get((state, ending))
        if found is None:
            table = _sorted_by_rest(self._tokens, ending)
            ids = (i for data, i in self._pieces.spelled_on(state.piece, table) if self._ends(state, data))
            found = _keep(self._closing, (state, ending), tuple(ids))
        return found

    def finish_cost(self, state: TextState) -> int:
        """One token for each byte to the end of the character, and of the characters that are missing."""
        assert isinstance(state, PieceState)
        return self._pieces.missing_bytes(state.piece, state.string.length)

    def row_within(self, state: TextState, num_tokens: int) -> Row:
        """Tokens after which the text can be finished in time."""
        assert isinstance(state, PieceState)
        if num_tokens < 0:
            return self._packed(())
        ids = [i for i in self._going_on(state) if self._cost_after(state, i) <= num_tokens]
        return self._packed(ids)

    def leaves_all(self, state: TextState, num_tokens: int) -> bool:
        """True if ``row_within`` is ``row``; said only where that is plain."""
        return num_tokens >= self.needed(state)

    def needed(self, state: TextState) -> int:
        """Enough for the characters that are missing; later states miss no more."""
        assert isinstance(state, PieceState)
        return _LONGEST_CHARACTER * (max(0, self._least - state.string.length) + 1)

    def strides(self, state: TextState) -> Sequence[int]:
        """Tokens worth trying for a short text, while characters are missing or one is unfinished."""
        assert isinstance(state, PieceState)
        if self.complete(state):
            return ()
        tokens = self._going_on(state)
        if len(tokens) <= _FEW:
            return tokens
        by_end = {walk(state.string, self.bytes_of(token)): token for token in tokens}
        return list(by_end.values())

    def _going_on(self, state: TextState) -> tuple[int, ...]:
        assert isinstance(state, PieceState)
        found = self._going.get(state)
        if found is None:
            on = self._pieces.spelled_on(state.piece, self._tokens.sorted_bytes)
            ids = (token_id for data, token_id in on if data and self._stays(state, data))
            found = _keep(self._going, state, tuple(ids))
        return found

    def _cost_after(self, state: PieceState, token: int) -> int:
        """``finish_cost`` behind a token of ``row``."""
        after = self.walk(state, self.bytes_of(token))
        assert after is not None, "the token goes on with the text"
        return self.finish_cost(after)

    def _stays(self, state: PieceState, data: bytes) -> bool:
        """True if a piece that goes on with ``data`` is still within the limits of the text."""
        string = walk(state.string, data)
        return string is not None and string.length <= self._most and self._masks.may_end_in(string.mode)

    def _ends(self, state: PieceState, data: bytes) -> bool:
        """True if a piece that goes on with ``data`` may be the whole text."""
        string = walk(state.string, data)
        return string is not None and string.mode == PLAIN and self._least <= string.length <= self._most

    def _packed(self, ids: Sequence[int]) -> Row:
        return packed(np.array(ids, dtype=np.int32), self._row_words)


def _keep(memo: Memo[KeyT, tuple[int, ...]], key: KeyT, ids: tuple[int, ...]) -> tuple[int, ...]:
    """Remember an answer."""
    return memo.keep(key, ids, _KEY_BYTES + ID_BYTES * len(ids))


@lru_cache(maxsize=256)
def _sorted_by_rest(tokens: TokenBytes, ending: bytes) -> tuple[tuple[bytes, int], ...]:
    return tuple(sorted(tokens.ending_with(ending)))


@lru_cache(maxsize=32)
def _rules(vocabulary: Vocabulary, sources: tuple[str, ...], least: int, most: int) -> PieceRules:
    return PieceRules(vocabulary, sources, least, most)
