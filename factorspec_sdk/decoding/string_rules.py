"""The inside of a JSON string of bounded length, without further rules."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from factorspec_sdk.decoding.json_strings import LONGEST_FINISH, PLAIN, StringState, finish, walk
from factorspec_sdk.decoding.string_masks import StringMasks
from factorspec_sdk.decoding.text_rules import TextRules, TextState
from factorspec_sdk.tokens import Vocabulary
from factorspec_sdk.tokens.masks import Row


class StringRules(TextRules):
    """The inside of a JSON string of ``least`` to ``most`` characters (None: any number)."""

    def __init__(self, vocabulary: Vocabulary, least: int, most: int | None) -> None:
        """Use ``of``."""
        super().__init__(vocabulary)
        self._masks = StringMasks.of(vocabulary)
        self._least = least
        self._most = most

    @staticmethod
    def of(vocabulary: Vocabulary, least: int, most: int | None) -> StringRules:
        """The rules for one vocabulary. Kept."""
        return _rules(vocabulary, least, most)

    def start(self) -> TextState:
        """Before the first byte."""
        return StringState()

    def walk(self, state: TextState, data: bytes) -> TextState | None:
        """The state after some bytes, or None."""
        assert isinstance(state, StringState)
        after = walk(state, data)
        return None if after is None or (self._most is not None and after.length > self._most) else after

    def may_go_on(self, state: TextState, data: bytes) -> bool:
        """True if a token with these bytes may be written and lies wholly inside the text."""
        after = self.walk(state, data)
        return isinstance(after, StringState) and self._masks.may_end_in(after.mode)

    def complete(self, state: TextState) -> bool:
        """True if the text may end here."""
        assert isinstance(state, StringState)
        return state.mode == PLAIN and state.length >= self._least

    def row(self, state: TextState) -> Row:
        """The tokens that lie wholly inside the text."""
        assert isinstance(state, StringState)
        return self._masks.row(state.mode, self._left(state))

    def closing(self, state: TextState, ending: bytes) -> Sequence[int]:
        """The tokens that hold the rest of a text and then exactly ``ending``."""
        assert isinstance(state, StringState)
        least = self._least - state.length
        most = self._left(state)
        found = self._masks.closing(state.mode, ending)
        return [i for i, begun in found if begun >= least and (most is None or begun <= most)]

    def finish_cost(self, state: TextState) -> int:
        """One token for each byte that is missing, and one for each missing character."""
        assert isinstance(state, StringState)
        return len(finish(state.mode)) + self._missing(state)

    def row_within(self, state: TextState, num_tokens: int) -> Row:
        """Tokens after which the text can be finished in time."""
        assert isinstance(state, StringState)
        spare = num_tokens - self._missing(state)
        if spare >= 0 or num_tokens < 0:
            return self._masks.row(state.mode, self._left(state), max(-1, min(spare, LONGEST_FINISH)))
        # So many characters must begin, and none may be left unfinished.
        return self._masks.row(state.mode, self._left(state), 0, least_begun=-spare)

    def leaves_all(self, state: TextState, num_tokens: int) -> bool:
        """True if ``row_within`` is ``row``."""
        assert isinstance(state, StringState)
        return num_tokens - self._missing(state) >= LONGEST_FINISH

    def strides(self, state: TextState) -> Sequence[int]:
        """Tokens worth trying for a short text, while characters are missing or one is unfinished."""
        assert isinstance(state, StringState)
        if self.complete(state):
            return ()
        left = self._left(state)
        return [i for begun, i in self._masks.strides(state.mode) if left is None or begun <= left]

    def _missing(self, state: StringState) -> int:
        return max(0, self._least - state.length)

    def _left(self, state: StringState) -> int | None:
        return None if self._most is None else self._most - state.length


@lru_cache(maxsize=256)
def _rules(vocabulary: Vocabulary, least: int, most: int | None) -> StringRules:
    return StringRules(vocabulary, least, most)
