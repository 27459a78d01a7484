"""Added tokens: texts that the tokenizer looks for before anything else.

A vocabulary has three of them or six thousand, so they are looked up by their first characters (bisection in
the sorted contents), never one by one.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable


class AddedTexts:
    """The contents of added tokens. Does not change; safe to share."""

    def __init__(self, contents: Iterable[str]) -> None:
        self._all = frozenset(contents)
        self._sorted = sorted(self._all)
        lengths = sorted({(content[0], len(content)) for content in self._all}, reverse=True)
        self._longest = max((length for _, length in lengths), default=0)
        self._lengths: dict[str, list[int]] = {}
        for start, length in lengths:
            self._lengths.setdefault(start, []).append(length)
        starts = "".join(sorted({content[0] for content in self._all}))
        self._start = re.compile(f"[{re.escape(starts)}]") if starts else None

    def may_begin_in(self, text: str) -> bool:
        """True if the text holds a character with which an added token begins."""
        return self._start is not None and self._start.search(text) is not None

    def find(self, text: str) -> tuple[int, int] | None:
        """Where the first added token in a text begins and ends; of several there, the longest."""
        for at in self._begins(text, 0, len(text)):
            for length in self._lengths[text[at]]:
                if text[at : at + length] in self._all:
                    return at, at + length
        return None

    def may_span(self, text: str, at: int, following: str | None = None) -> bool:
        """True if one may begin before ``at`` and end after it.

        Args:
            text: what is known on both sides; more may follow.
            at: a position in it.
            following: the characters of which one comes behind the text; empty or None: any.
        """
        longest = self._longest
        for begin in self._begins(text, max(0, at - longest + 1), at):
            known = text[begin : begin + longest]
            if len(known) > at - begin and any(
                known[:length] in self._all
                for length in self._lengths[known[0]]
                if at - begin < length <= len(known)
            ):
                return True
            if begin + len(known) == len(text) and self._goes_on(known, following):
                return True
        return False

    def goes_on(self, begun: str) -> bool:
        """True if an added token is ``begun`` and something more."""
        return self._goes_on(begun, None)

    def _begins(self, text: str, lo: int, hi: int) -> Iterable[int]:
        if self._start is None or self._start.search(text, lo, hi) is None:
            return ()
        return (match.start() for match in self._start.finditer(text, lo, hi))

    def _goes_on(self, begun: str, following: str | None) -> bool:
        for at in range(bisect_left(self._sorted, begun), len(self._sorted)):
            content = self._sorted[at]
            if not content.startswith(begun):
                break
            if len(content) > len(begun) and (not following or content[len(begun)] in following):
                return True
        return False
