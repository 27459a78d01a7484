"""Free text that may turn into a tool call: where the opener ends, and which tokens would run past its end.

The opener is either one token of its own (``<tool_call>`` is one in Qwen's vocabulary), which nothing else
spells, or a text. A text is watched byte by byte, however the model splits it into tokens::

    opener           < t o o l _ c a l l >
    written   … a  b < t o o l                    begun = 5 bytes
    allowed          _ c a | _ c a l l > | x y …  all tokens but those that go on behind the opener's end

A token that reaches beyond the end would write a part of the call unseen by its spec, so it is left out;
everything else stays allowed. Text that only resembles an opener is text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from factorspec_sdk.tokens import Allowed, Vocabulary

#: positions in an opener, with or without room for a call
_MAX_ROWS = 256


@dataclass(frozen=True, slots=True)
class Opener:
    """What begins a call within text.

    Attributes:
        text: its bytes; not empty.
        token_id: the added token that it is; None: it is spelled by ordinary tokens.
    """

    text: bytes
    token_id: int | None = None


class OpenerWatch:
    """The rules of one opener under one vocabulary. Shared by requests; may be used from any thread."""

    def __init__(self, opener: Opener, vocabulary: Vocabulary, num_tokens: int) -> None:
        """``num_tokens``: ids from there on are never chosen (``engines.seam.Model``)."""
        self.opener = opener
        self._bytes = vocabulary.all_bytes[:num_tokens]
        self._num_bits = vocabulary.row_words * 32
        # Only these can complete the opener.
        last = opener.text[-1:]
        self._completing = [(token_id, data) for token_id, data in enumerate(self._bytes) if last in data]
        self._of_place = lru_cache(maxsize=_MAX_ROWS)(self._allowed)

    def after(self, begun: int, token_id: int) -> int | None:
        """How many bytes of the opener stand at the end of the text behind a token; None: all of them."""
        if self.opener.token_id is not None:
            return None if token_id == self.opener.token_id else 0
        opener = self.opener.text
        tail = opener[:begun] + self._bytes[token_id]
        if opener in tail:
            return None
        return next(
            size for size in range(min(len(opener) - 1, len(tail)), -1, -1) if _ends(tail, opener, size)
        )

    def allowed(self, begun: int, *, has_room: bool) -> Allowed:
        """The tokens that may come behind so many bytes of the opener; ``has_room``: for a call."""
        return self._of_place(begun, has_room)

    def _allowed(self, begun: int, has_room: bool) -> Allowed:
        bits = np.zeros(self._num_bits, dtype=np.uint8)
        bits[: len(self._bytes)] = 1
        bits[self._left_out(begun, has_room)] = 0
        return Allowed.from_row(np.packbits(bits, bitorder="little").view("<i4").astype(np.int32))

    def _left_out(self, begun: int, has_room: bool) -> list[int]:
        """The tokens that reach behind the opener's end, or to it where there is no room."""
        opener, own = self.opener.text, self.opener.token_id
        if own is not None:
            return [] if has_room else [own]
        found = []
        for token_id, data in self._completing:
            tail = opener[:begun] + data
            at = tail.find(opener)
            if at >= 0 and not (has_room and at + len(opener) == len(tail)):
                found.append(token_id)
        return found


def _ends(tail: bytes, opener: bytes, size: int) -> bool:
    return tail.endswith(opener[:size])
