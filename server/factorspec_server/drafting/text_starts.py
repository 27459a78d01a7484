"""Words of a prompt with which a text of the record may begin.

Where a text begins nothing goes before it that the prompt has too. But records quote: names, numbers and what
stands in quotes, mostly from the prompt's end, where the request is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from factorspec_sdk.tokens import Vocabulary

#: tokens at a prompt's end that are looked through
_LOOKED_THROUGH = 160
#: most words, the last ones
_MAX_WORDS = 24
_QUOTES = (b'"', b"'", b"`", "\u201c".encode(), "\u2018".encode())
_SPACES = (b" ", b"\n")
_NAME, _OTHER = 4.0, 1.0


class Start(NamedTuple):
    """A word: its tokens at the beginning of a text, the prompt's index behind it, how likely it is."""

    tokens: tuple[int, ...]
    behind: int
    weight: float


class Starts:
    """The words of one prompt."""

    def __init__(self, vocabulary: Vocabulary, prompt_ids: Sequence[int]) -> None:
        self._vocabulary = vocabulary
        self._prompt_ids = prompt_ids

    @cached_property
    def words(self) -> Sequence[Start]:
        """The last words, one for each first token, the likeliest first. Worked out when first asked."""
        found: dict[int, Start] = {}
        for start in self._all():
            token = start.tokens[0]
            if token not in found or found[token].weight < start.weight:
                found[token] = start
            if len(found) == _MAX_WORDS:
                break
        return sorted(found.values(), key=lambda start: -start.weight)

    def _all(self) -> Iterator[Start]:
        """All words, from the end."""
        data = [self._vocabulary.token_bytes(token) for token in self._prompt_ids[-_LOOKED_THROUGH:]]
        offset = len(self._prompt_ids) - len(data)
        for at in range(len(data) - 1, 0, -1):
            word = data[at].lstrip(b" ")
            is_quoted = data[at - 1].endswith(_QUOTES)
            if word[:1].isalnum() and (data[at][:1] == b" " or is_quoted or data[at - 1].endswith(_SPACES)):
                end = self._end(data, at)
                text = (word + b"".join(data[at + 1 : end])).decode("utf-8", errors="replace")
                is_name = is_quoted or text[:1].isupper() or text[:1].isdigit()
                tokens = self._vocabulary.encode(text)
                yield Start(tokens, offset + end, _NAME if is_name else _OTHER)

    def _end(self, data: Sequence[bytes], at: int) -> int:
        """The index behind the word that begins at ``at``: it may have several tokens."""
        end = at + 1
        while end < len(data) and data[end][:1].isalpha():
            end += 1
        return end
