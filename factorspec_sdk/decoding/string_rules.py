"""The inside of a JSON string of bounded length, without further rules."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence
from functools import lru_cache

from factorspec_sdk.decoding.json_strings import LONGEST_FINISH, NUM_MODES, PLAIN, StringState, finish, walk
from factorspec_sdk.decoding.string_masks import MODE_SHIFT, REFUSED, StringMasks
from factorspec_sdk.decoding.text_rules import TextRules, TextState
from factorspec_sdk.decoding.token_bytes import TokenBytes
from factorspec_sdk.tokens import Allowed, Vocabulary
from factorspec_sdk.tokens.masks import Row

_MAX_KNOWN = 16


class StringRules(TextRules):
    """The inside of a JSON string of ``least`` to ``most`` characters (None: any number)."""

    def __init__(self, vocabulary: Vocabulary, least: int, most: int | None) -> None:
        """Use ``of``."""
        super().__init__(vocabulary)
        self._masks = StringMasks.of(vocabulary)
        self._least = least
        self._most = most
        #: with so many characters left the limit leaves no token out
        self._far = TokenBytes.of(vocabulary).longest
        #: of a text without a limit, the state in each mode once it is long enough
        self._ample = [StringState(mode, least) for mode in range(NUM_MODES)]
        self._codes: dict[int, array[int]] = {}
        self._known: dict[tuple[int, tuple[bytes, ...]], Allowed] = {}

    @staticmethod
    def of(vocabulary: Vocabulary, least: int, most: int | None) -> StringRules:
        """The rules for one vocabulary. Kept."""
        return _rules(vocabulary, least, most)

    def start(self) -> TextState:
        """Before the first byte."""
        return self._ample[PLAIN] if self._most is None and not self._least else StringState()

    def walk(self, state: TextState, data: bytes) -> TextState | None:
        """The state after some bytes, or None."""
        assert isinstance(state, StringState)
        after = walk(state, data)
        return None if after is None else self._at(after.mode, after.length)

    def after(self, state: TextState, token: int) -> TextState | None:
        """The state after a token that lies wholly inside the text: one look-up."""
        assert isinstance(state, StringState)
        mode, length = state
        codes = self._codes.get(mode)
        if codes is None:
            codes = self._codes[mode] = self._masks.codes(mode)
        code = codes[token] if 0 <= token < len(codes) else REFUSED
        if code == REFUSED:
            return None
        begun = code >> MODE_SHIFT
        return self._at(code - (begun << MODE_SHIFT), length + begun)

    def _at(self, mode: int, length: int) -> TextState | None:
        """The state, unless it is too long. Where nothing is too long, only missing characters count."""
        most = self._most
        if most is None:
            return StringState(mode, length) if length < self._least else self._ample[mode]
        return StringState(mode, length) if length <= most else None

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

    def mode(self, state: TextState) -> int:
        """Where the text stands."""
        assert isinstance(state, StringState)
        return state.mode

    def roomy(self, state: TextState) -> Hashable | None:
        """The mode, far from both limits."""
        assert isinstance(state, StringState)
        far = self._most is None or self._most - state.length >= self._far
        return state.mode if far and state.length >= self._least else None

    def allowed(self, state: TextState, endings: tuple[bytes, ...]) -> Allowed:
        """The tokens of ``row`` and ``closing``."""
        assert isinstance(state, StringState)
        mode, length = state
        if length >= self._least and (self._most is None or self._most - length >= self._far):
            key = (mode, endings)
            known = self._known.get(key)
            if known is None:
                known = self._masks.allowed(mode, None, 0, endings)
                if len(self._known) >= _MAX_KNOWN:
                    self._known.clear()
                self._known[key] = known
            return known
        return self._masks.allowed(mode, self._left(state), self._missing(state), endings)

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
        return num_tokens >= self.needed(state)

    def needed(self, state: TextState) -> int:
        """As many as characters are missing, and what finishes one; later states miss no more."""
        assert isinstance(state, StringState)
        return LONGEST_FINISH + self._missing(state)

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


@lru_cache(maxsize=64)
def _rules(vocabulary: Vocabulary, least: int, most: int | None) -> StringRules:
    return StringRules(vocabulary, least, most)
