"""Prompt and record so far as one text of tokens, searched for places that went as the text goes now.

Tokens that differ only by a space in front count as alike, since the first word of a string has none where
the prompt's has one: ``"San`` goes on as `` San Francisco`` did.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

TokenBytes = Callable[[int], bytes]

#: longest match that counts, in tokens
LONGEST_MATCH = 8
#: places with the same last token that are compared, the latest ones
_MAX_PLACES = 32


class Match(NamedTuple):
    """A place whose last ``length`` tokens are those of the text; ``at``: the index of what follows."""

    at: int
    length: int


class History:
    """Tokens by place. Appending takes O(tokens)."""

    def __init__(self, token_bytes: TokenBytes) -> None:
        self._token_bytes = token_bytes
        self._ids: list[int] = []
        self._keys: list[bytes] = []
        self._places: dict[bytes, list[int]] = defaultdict(list)

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, at: int) -> int:
        return self._ids[at]

    def extend(self, token_ids: Sequence[int]) -> None:
        """Append tokens."""
        for token in token_ids:
            key = self._key(token)
            self._places[key].append(len(self._ids))
            self._ids.append(token)
            self._keys.append(key)

    def matches(self, tail: Sequence[int]) -> list[Match]:
        """Places that went like the end of ``tail``, each with another token behind: longest first.

        Args:
            tail: the last tokens of the text, at least one.
        """
        keys = [self._key(token) for token in tail[-LONGEST_MATCH:]]
        best: dict[int, Match] = {}
        for place in reversed(self._places.get(keys[-1], ())[-_MAX_PLACES:]):
            at = place + 1
            if at < len(self._ids):
                match = Match(at, self._length(place, keys))
                token = self._ids[at]
                if token not in best or best[token].length < match.length:
                    best[token] = match
        return sorted(best.values(), key=lambda match: (-match.length, -match.at))

    def _length(self, place: int, keys: Sequence[bytes]) -> int:
        length = 1
        while length < len(keys) and length <= place and self._keys[place - length] == keys[-1 - length]:
            length += 1
        return length

    def _key(self, token: int) -> bytes:
        data = self._token_bytes(token)
        return data.lstrip(b" ") or data
