"""Which tokens of digits may follow which, where a run of digits is one pre-token (GPT-2).

*Pair property*. Tokens of one pre-token are canonical if and only if each two neighbours are. If they all
are: take the first join of BPE across the end of a token. Until then BPE has done nothing in the two tokens
beside it that it does not do in these two alone, so it would join them there too. The other way round: in
canonical tokens nothing is joined across the end of one, so BPE does in two of them what it does in these two
alone.

So runs of digits are paths in a graph of tokens; what is asked of it again and again is remembered::

    " 12"  ->  "345"  ->  "67"         " 12" and "345" may follow each other if BPE leaves " 12345" so
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from factorspec_sdk.tokens.canonical import Canonical

_MAX_PAIRS = 1 << 20
_MAX_FIRSTS = 1 << 12
_TEXT = re.compile(rb" ?[0-9]*")
_DIGITS = "0123456789"


class MergedDigits:
    """The tokens that are digits, maybe behind a space, and their pairs. Holds bounded memos.

    Attributes:
        ids: id of each token by its text.
    """

    def __init__(self, canonical: Canonical) -> None:
        vocabulary = canonical.vocabulary
        self._tokenize = vocabulary.tokenizer.model.tokenize
        table = vocabulary.all_bytes
        self.ids = {table[i].decode(): i for i in vocabulary.text_ids if _TEXT.fullmatch(table[i])}
        spelled = vocabulary.definition.spelling.spelled
        self._names = {text: spelled(text.encode()) for text in self.ids}
        self._beginnings = {text[:end] for text in self.ids for end in range(len(text) + 1)}
        self._pairs: dict[tuple[str, str], bool] = {}
        self._open: dict[tuple[str, int], bool] = {}
        self._firsts: dict[tuple[str, str, int], frozenset[int]] = {}

    def begins(self, text: str) -> bool:
        """True if some token begins so."""
        return text in self._beginnings

    def follows(self, last: str, text: str) -> bool:
        """True if ``text`` is a token that may follow the token ``last``; "": it is the first of its run."""
        key = (last, text)
        known = self._pairs.get(key)
        if known is None:
            if len(self._pairs) >= _MAX_PAIRS:
                self._pairs.clear()
            known = self._pairs[key] = self._is_pair(last, text)
        return known

    def goes_on(self, last: str, length: int) -> bool:
        """True if some tokens of just so many digits together may follow ``last``."""
        if not length:
            return True
        key = (last, length)
        known = self._open.get(key)
        if known is None:
            if len(self._open) >= _MAX_FIRSTS:
                self._open.clear()
            known = self._open[key] = next(self._find_firsts(last, "", length), None) is not None
        return known

    def firsts(self, last: str, begun: str, missing: int) -> frozenset[int]:
        """Ids of tokens behind ``last`` that begin with ``begun`` and, alone or with others, go on by just
        ``missing`` digits.
        """
        key = (last, begun, missing)
        known = self._firsts.get(key)
        if known is None:
            if len(self._firsts) >= _MAX_FIRSTS:
                self._firsts.clear()
            texts = self._find_firsts(last, begun, missing)
            known = self._firsts[key] = frozenset(self.ids[text] for text in texts)
        return known

    def _find_firsts(self, last: str, begun: str, missing: int) -> Iterator[str]:
        if begun and self.follows(last, begun) and self.goes_on(begun, missing):
            yield begun
        if missing:
            for digit in _DIGITS:
                if begun + digit in self._beginnings:
                    yield from self._find_firsts(last, begun + digit, missing - 1)

    def _is_pair(self, last: str, text: str) -> bool:
        token_id = self.ids.get(text)
        if token_id is None:
            return False
        tokens = self._tokenize(self._names.get(last, "") + self._names[text])
        return len(tokens) == (2 if last else 1) and tokens[-1].id == token_id
