"""What may stand in a hole, byte by byte and token by token: for plain strings and for grammars.

Plain strings go by the automaton of ``json_strings.py`` (``string_rules.py``), strings with a schema and
whole JSON values by XGrammar (``grammars.py``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence

from factorspec_sdk.decoding.token_bytes import TokenBytes
from factorspec_sdk.tokens import Allowed, Vocabulary
from factorspec_sdk.tokens.masks import Row
from factorspec_sdk.tokens.memo import ID_BYTES, Memo, text_bytes

TextState = Hashable
_MAX_FIRST = 256
_MAX_FIRST_BYTES = 1 << 23


class TextRules(ABC):
    """The texts of one hole. States are immutable; made once for a vocabulary and shared.

    No token may both lie wholly inside a text and close it: strings end at a quote, and behind a whole JSON
    value at most a number goes on, but never by what may follow a value.

    Attributes:
        few_states: there are so few states, small integers, that each place may keep something for each.
    """

    few_states = False

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._tokens = TokenBytes.of(vocabulary)
        self._first: Memo[tuple[bytes, tuple[bytes, ...]], frozenset[int]] = Memo(
            max_entries=_MAX_FIRST, max_bytes=_MAX_FIRST_BYTES
        )

    @abstractmethod
    def start(self) -> TextState:
        """Before the first byte."""

    @abstractmethod
    def walk(self, state: TextState, data: bytes) -> TextState | None:
        """The state after some bytes, or None if no text goes on so."""

    @abstractmethod
    def after(self, state: TextState, token: int) -> TextState | None:
        """The state after a token that lies wholly inside the text; None if it may not be written there."""

    @abstractmethod
    def may_go_on(self, state: TextState, data: bytes) -> bool:
        """True if a token with these bytes may be written and lies wholly inside the text."""

    @abstractmethod
    def complete(self, state: TextState) -> bool:
        """True if the text may end here."""

    @abstractmethod
    def row(self, state: TextState) -> Row:
        """(row_words,) int32: the tokens that lie wholly inside the text. Do not change."""

    @abstractmethod
    def closing(self, state: TextState, ending: bytes) -> Sequence[int]:
        """The tokens that hold the rest of a text and then exactly ``ending``."""

    @abstractmethod
    def mode(self, state: TextState) -> int:
        """Where the text stands as a JSON string or value (``json_strings.py``)."""

    def way_out(self, state: TextState) -> bytes | None:
        """Bytes that bring the text to an end; None where none are known, or any will do."""
        return None

    def roomy(self, state: TextState) -> Hashable | None:
        """Equal for states from which any short text may go on and end; None where that is not known."""
        return None

    def allowed(self, state: TextState, endings: tuple[bytes, ...]) -> Allowed:
        """The tokens of ``row``, and of ``closing`` for each of the endings. Shared: do not change."""
        closing = {token for ending in endings for token in self.closing(state, ending)}
        return Allowed.from_row(self.row(state), closing)

    @abstractmethod
    def finish_cost(self, state: TextState) -> int:
        """A number of tokens by which the text can surely be brought to an end (without what closes it)."""

    @abstractmethod
    def row_within(self, state: TextState, num_tokens: int) -> Row:
        """Tokens of ``row`` after which ``finish_cost`` is at most ``num_tokens``; may leave some out."""

    @abstractmethod
    def leaves_all(self, state: TextState, num_tokens: int) -> bool:
        """True if ``row_within`` is ``row``."""

    def needed(self, state: TextState) -> int | None:
        """With so many tokens ``leaves_all`` is True, here and in every later state; None: not known."""
        return None

    @abstractmethod
    def strides(self, state: TextState) -> Sequence[int]:
        """Tokens of ``row`` worth trying for a short text: one for each number of characters."""

    def bytes_of(self, token: int) -> bytes:
        """The bytes of an ordinary token; none if it may not be part of text."""
        return self._tokens.of_token(token)

    def beginning_with(self, prefix: bytes) -> Sequence[tuple[bytes, int]]:
        """What tokens that begin with ``prefix`` hold behind it (not nothing), with their ids."""
        return self._tokens.beginning_with(prefix)

    def first_ids(self, prefix: bytes, endings: tuple[bytes, ...]) -> frozenset[int]:
        """Tokens of ``prefix`` and some text, or the whole of a text and one of ``endings``. Kept."""
        key = (prefix, endings)
        known = self._first.get(key)
        if known is None:
            begun = self._tokens.spelled_on(prefix, self.start(), self.walk)
            going_on = (token_id for data, token_id in begun if self.may_go_on(self.start(), data))
            known = frozenset((*going_on, *self._closing_at_once(prefix, endings)))
            self._first.keep(key, known, text_bytes(prefix, *endings) + 2 * ID_BYTES * len(known))
        return known

    def _closing_at_once(self, prefix: bytes, endings: Sequence[bytes]) -> Iterator[int]:
        """Tokens of ``prefix``, a whole text and one of the endings."""
        start = self.start()
        for ending in endings:
            for data, token_id in self._tokens.from_to(prefix, ending):
                end = self.walk(start, data)
                if end is not None and self.complete(end):
                    yield token_id
