"""A session without a constraint: an ordinary answer, until an end token or a stop string."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from copy import copy
from functools import lru_cache
from math import inf

import numpy as np

from factorspec_sdk.tokens import Allowed
from factorspec_server.drafting.seam import GuessPolicy, Plan, SessionState, Shape, one_choice
from factorspec_server.engines.seam import Wording

_UNFINISHED = "\N{REPLACEMENT CHARACTER}"


class TextStream:
    """Turns tokens into text as they come, whole characters only, and watches for stop strings.

    ``pushed`` text is final: a part that may be the beginning of a stop string is held back until it is
    clear. The answer ends before the stop string that is complete first, wherever tokens begin and end.
    """

    def __init__(self, decode: Callable[[Sequence[int]], str], stop: Sequence[str] = ()) -> None:
        self._decode = decode
        self._stop = tuple(stop)
        self._token_ids: list[int] = []
        self._window = 0  # decoding starts here: a token's text may depend on the one before it
        self._read = 0  # tokens before this are in the text already
        self._held = ""
        self._stopped = False
        self._starts: list[int] = []  # of each token's text
        self._num_read = self._num_final = 0  # characters

    @property
    def stopped(self) -> bool:
        """True once a stop string has been found."""
        return self._stopped

    def copy(self) -> TextStream:
        """An independent stream at the same place. O(tokens)."""
        twin = copy(self)
        vars(twin).update(_token_ids=[*self._token_ids], _starts=[*self._starts])
        return twin

    def push(self, token_id: int) -> str:
        """Append a token; returns the text that becomes final with it."""
        self._token_ids.append(token_id)
        self._starts.append(self._num_read)
        text = self._decode(self._token_ids[self._window :])
        if (
            text.endswith(_UNFINISHED)
            and self._cut(self._held + self._new_of(text)[: -len(_UNFINISHED)]) is None
        ):
            return ""
        return self._settle(text)

    def flush(self) -> str:
        """The text that was held back, at the end."""
        text = "" if self._stopped else self._settle(self._decode(self._token_ids[self._window :]))
        text, self._held = text + self._held, ""
        if not self._stopped:
            self._num_final = self._num_read
        return text

    @property
    def num_shown(self) -> int:
        """Tokens whose text is final, in part at least: those that the text so far is made of."""
        return bisect_left(self._starts, self._num_final)

    def _settle(self, text: str) -> str:
        new = self._new_of(text)
        self._held, self._num_read = self._held + new, self._num_read + len(new)
        self._window, self._read = self._read, len(self._token_ids)
        cut = self._cut(self._held)
        if cut is not None:
            self._stopped = True
            final, self._held = self._held[:cut], ""
            self._num_final += len(final)
            return final
        keep = max((_overlap(self._held, string) for string in self._stop), default=0)
        cut = len(self._held) - keep
        final, self._held = self._held[:cut], self._held[cut:]
        self._num_final += len(final)
        return final

    def _new_of(self, text: str) -> str:
        """What is new in the text of the window."""
        return text[len(self._decode(self._token_ids[self._window : self._read])) :]

    def _cut(self, text: str) -> int | None:
        """Where the stop string begins that is complete first; of two that end there the longer one's."""
        found = [(at + len(string), at) for string in self._stop if (at := text.find(string)) >= 0]
        return min(found)[1] if found else None


def _overlap(text: str, string: str) -> int:
    """Length of the longest end of ``text`` that is a proper beginning of ``string``."""
    for length in range(min(len(text), len(string) - 1), 0, -1):
        if text.endswith(string[:length]):
            return length
    return 0


@lru_cache(maxsize=8)
def _all_tokens(num_tokens: int) -> Allowed:
    """Every token that the tokenizer knows; immutable, so that all chats share it."""
    bits = np.zeros(-(-num_tokens // 32) * 32, dtype=np.uint8)
    bits[:num_tokens] = 1
    return Allowed.from_row(np.packbits(bits, bitorder="little").view("<i4").astype(np.int32))


class ChatSession:
    """Allows every token that the tokenizer knows; complete at an end token or a stop string."""

    def __init__(self, model: Wording, stop: Sequence[str] = ()) -> None:
        self._plan = one_choice(_all_tokens(model.num_tokens), free=True)
        self._end_ids = frozenset(model.end_ids)
        self._stream = TextStream(model.decode, stop)
        self._has_stop = bool(stop)
        self._ended = False

    @property
    def state(self) -> SessionState:
        """``complete`` after an end token or a stop string."""
        return "complete" if self._ended or self._stream.stopped else "open"

    def plan(
        self,
        width: int | None = None,
        guesses: GuessPolicy | None = None,
        shape: Shape | None = None,
        *,
        until_s: float = inf,
    ) -> Plan:
        """One choice among all tokens; there is nothing to draft."""
        return self._plan

    def commit(self, token_ids: Sequence[int]) -> None:
        """Append tokens; see ``write`` for their text, which nobody reads who calls this."""
        if self._has_stop:
            self.write(token_ids)
        else:
            self._ended = self._ended or not self._end_ids.isdisjoint(token_ids)

    def write(self, token_ids: Sequence[int]) -> str:
        """Append tokens; returns the text that became final."""
        text = ""
        for token_id in token_ids:
            if token_id in self._end_ids:
                self._ended = True
                return text + self._stream.flush()
            text += self._stream.push(token_id)
            if self._stream.stopped:
                break
        return text

    def copy(self) -> ChatSession:
        """An independent session at the same place. O(tokens)."""
        twin = copy(self)
        vars(twin).update(_stream=self._stream.copy())
        return twin

    def flush(self) -> str:
        """The text held back, once no more tokens come."""
        return self._stream.flush()

    @property
    def num_shown(self) -> int:
        """Tokens that the text so far is made of."""
        return self._stream.num_shown
