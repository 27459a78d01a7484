"""What a prompt says about the values of a record: which words stand there, and which numbers near them.

A branch of a plan is text such as ``Lisbon", "arrive": 9, "leave": 12}, {"city": "``. Its *claims* are its
words, each with the numbers behind it up to the next word: ``Lisbon: 9 12``; keys are no claims. A claim is
*supported* to the share of its numbers that stand near some place of the word in the prompt; one without
numbers if the word stands there at all. A branch's support is the mean over its claims.

Cheap and blind: it knows no relation and no meaning, only that records repeat what their prompts say.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

_WORD = re.compile(r"[^\W\d_]+|\d+")
_KEY = re.compile(r'"[^"]*": ?')
_BEGUN = re.compile(r'(?:: ?|\[|, ?)"([^"]*)$')
#: words behind and before a word that count as near it: a sentence or so
_BEHIND, _BEFORE = 15, 8
#: places of one word in a prompt that are looked at, the last ones
_MAX_PLACES = 32

Claim = tuple[str, tuple[str, ...]]


class PromptWords:
    """The words of a prompt, by place. O(words) to make."""

    def __init__(self, text: str) -> None:
        self._words = _WORD.findall(text)
        self._places: dict[str, list[int]] = defaultdict(list)
        for at, word in enumerate(self._words):
            self._places[word].append(at)
        self._known: dict[Claim, float] = {}

    def support(self, branch: str) -> float | None:
        """How much of what a branch claims stands in the prompt, 0 to 1; None if it claims nothing."""
        found = [self._supported(claim) for claim in claims(branch)]
        return sum(found) / len(found) if found else None

    def _supported(self, claim: Claim) -> float:
        known = self._known.get(claim)
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = self._known[claim] = self._look_up(*claim)
        return known

    def _look_up(self, word: str, numbers: Sequence[str]) -> float:
        places = self._places.get(word, ())[-_MAX_PLACES:]
        if not numbers:
            return float(bool(places))
        most = 0
        for at in places:
            near = {*self._words[max(0, at - _BEFORE) : at], *self._words[at + 1 : at + 1 + _BEHIND]}
            most = max(most, sum(number in near for number in numbers))
        return most / len(numbers)


_MAX_KNOWN = 4096


def claims(branch: str) -> Iterator[Claim]:
    """The words of a branch, each with the numbers behind it; numbers in front of the first word are none's.

    Where some word has numbers, the words without are parts of names or keys cut short, and left out.
    """
    found: list[tuple[str, list[str]]] = []
    for word in _WORD.findall(_KEY.sub(" ", branch)):
        if not word.isdigit():
            found.append((word, []))
        elif found:
            found[-1][1].append(word)
    numbered = any(numbers for _, numbers in found)
    return ((word, tuple(numbers)) for word, numbers in found if numbers or not numbered)


def claiming(context: str) -> str:
    """The end of a text that a branch adds to: a string that is begun, else from the last word on."""
    begun = _BEGUN.search(context)
    if begun:
        return begun.group(1)
    plain = _KEY.sub(" ", context)
    last = max((found.start() for found in _WORD.finditer(plain) if not found.group().isdigit()), default=0)
    return plain[last:]
