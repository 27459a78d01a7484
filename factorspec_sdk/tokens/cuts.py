"""Safe cuts: positions where a text may be encoded in two parts, whatever follows.

::

    {"city": "Rome", "day": 1
            |      |      |        a cut between a letter or quote and white space, ...
    ---------------------->        certain
                           =====>  held: encoded when more is known

Definition. Position p of a text is a *cut* if for every continuation the tokens of the whole are the tokens
of the part before p followed by the tokens of the rest from p on. A shy rule is right, only slower.

How. BPE never joins pre-tokens, so p is a cut if a pre-token always ends there and the split of the part
before does not look beyond p.

1. Known family: whether that holds depends on the two characters beside p alone (*pair cut*). White space
   never has a cut after it, since ``\\s+(?!\\S)`` looks ahead (unless numbers are split off in a stage of
   their own).
2. Unknown pre-tokenizer: the last two pre-tokens of a text and the white space before them are held back.
   That is a rule of experience, so such a tokenizer must pass ``self_check`` first.
3. Added tokens are looked for first: no cut where one could span it.

Texts begin at a cut; 0 is returned where there is no later one.
"""

from __future__ import annotations

import re

from factorspec_sdk.tokens.characters import StandIns
from factorspec_sdk.tokens.families import Family, recognise
from factorspec_sdk.tokens.vocabulary import Vocabulary

_MAX_PAIRS = 1 << 16


class Cuts:
    """Finds cuts for one vocabulary.

    Caches answers for pairs of characters (bounded); otherwise without state.

    Attributes:
        family: the recognised family, or None if the pre-tokenizer is not a known one.
        splits_everywhere: every position is a cut: no token is longer than a byte.
        stand_ins: character classes, or None without a family.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        definition = vocabulary.definition
        self.family: Family | None = recognise(definition.pre_tokenizers)
        self.splits_everywhere = definition.num_merges == 0 and not definition.ignores_merges
        self.stand_ins = None if self.family is None else StandIns(self.family, vocabulary.tokenizer)
        self._pre_tokenizer = vocabulary.tokenizer.pre_tokenizer
        self._added = tuple(token.content for token in definition.added)
        starts = "".join(sorted({content[0] for content in self._added}))
        self._added_start = re.compile(f"[{re.escape(starts)}]") if starts else None
        self._longest_added = max(map(len, self._added), default=0)
        self._pairs: dict[str, bool] = {}
        self._ends: dict[tuple[str, str], bool] = {}

    @property
    def is_local(self) -> bool:
        """True if cuts depend on the characters beside them alone (and on added tokens)."""
        return self.family is not None or self.splits_everywhere

    def may_begin_added(self, text: str) -> bool:
        """True if the text holds a character with which an added token begins."""
        return self._added_start is not None and self._added_start.search(text) is not None

    def last_cut(self, text: str, following: str | None = None) -> int:
        """The last cut of a text that begins at a cut.

        Args:
            text: what is known.
            following: the characters of which one comes next, if it does not end there; empty or None: any.

        Returns:
            A position; ``len(text)`` only if ``following`` makes sure of it, and 0 if there is no cut inside.
        """
        end = len(text)
        if following and end and self._always_between(text[-1], following):
            if not self._may_span(text, end, following):
                return end
        if not self.is_local:
            return self._last_cut_of_unknown(text)
        pairs = self._pairs
        for at in range(end - 1, 0, -1):
            pair = text[at - 1 : at + 1]
            known = pairs.get(pair)
            if (self.between(pair[0], pair[1]) if known is None else known) and not self._may_span(
                text, at, None
            ):
                return at
        return 0

    def first_cut_at_or_after(self, text: str, position: int) -> int | None:
        """The first cut inside ``text`` that is not before ``position``, or None.

        O(length); for an unknown family O(length²).
        """
        if not self.is_local:
            ends = range(max(position, 1), len(text) + 1)
            found = [
                at for at in (self._last_cut_of_unknown(text[:end]) for end in ends) if at >= max(position, 1)
            ]
            return min(found, default=None)
        for at in range(max(position, 1), len(text)):
            if self.between(text[at - 1], text[at]) and not self._may_span(text, at, None):
                return at
        return None

    def between(self, left: str, right: str) -> bool:
        """True if there is always a cut between two neighbouring characters, added tokens apart."""
        pair = left + right
        known = self._pairs.get(pair)
        if known is None:
            if len(self._pairs) >= _MAX_PAIRS:
                self._pairs.clear()
            known = self._pairs[pair] = self.splits_everywhere or self._pair_is_cut(left, right)
        return known

    def _always_between(self, left: str, following: str) -> bool:
        key = (left, following)
        known = self._ends.get(key)
        if known is None:
            if len(self._ends) >= _MAX_PAIRS:
                self._ends.clear()
            known = self._ends[key] = all(self.between(left, right) for right in following)
        return known

    def _pair_is_cut(self, left: str, right: str) -> bool:
        family, classes = self.family, self.stand_ins
        if family is None or classes is None:
            return False
        before, after = classes.class_of(left), classes.class_of(right)
        if "unknown" in (before, after) or "mark" in (before, after):
            return False
        if family.digits_isolated and "number" in (before, after):
            return before != after or family.num_digits == 1
        if before == "space":
            return False
        if after == "space":
            return not (before == "rest" and right in "\r\n" and family.punctuation_takes_newlines)
        if before == "letter":
            return after != "letter" and not (family.words_take_contraction and right == "'")
        if before == "number":
            return after != "number" or family.num_digits == 1
        if after == "number":
            return True
        return after == "letter" and not family.words_take_prefix and left != "'"

    def _may_span(self, text: str, at: int, following: str | None) -> bool:
        """True if an added token may begin before ``at`` and end after it, given the text on both sides."""
        if self._added_start is None:
            return False
        for match in self._added_start.finditer(text, max(0, at - self._longest_added + 1), at):
            begun = text[match.start() : at]
            for content in self._added:
                if len(content) > len(begun) and content.startswith(begun):
                    rest = content[len(begun) :]
                    known = text[at : at + len(rest)]
                    if rest.startswith(known) and (known or following is None or rest[0] in following):
                        return True
        return False

    def _last_cut_of_unknown(self, text: str) -> int:
        if self._pre_tokenizer is None:
            return 0
        pieces = self._pre_tokenizer.pre_tokenize_str(text)
        if len(pieces) <= 2:
            return 0
        for _, (start, _end) in reversed(pieces[:-1]):
            if start > 0 and not text[start - 1].isspace() and not self._may_span(text, start, None):
                return int(start)
        return 0
