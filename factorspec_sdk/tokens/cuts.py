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
3. SentencePiece style has no pre-tokens: p is a cut where no merge joins the two characters beside it
   (``marks.py``). That is another pair cut.
4. Added tokens are looked for first: no cut where one could span it.

Texts are such as the normaliser leaves alone (``Vocabulary.escape``); one that it changes has no canonical
tokens, whatever the cuts. They begin at a cut; 0 is returned where there is no later one.
"""

from __future__ import annotations

from factorspec_sdk.tokens.characters import CharacterClass, StandIns
from factorspec_sdk.tokens.families import Family, recognise
from factorspec_sdk.tokens.marks import MARK
from factorspec_sdk.tokens.memo import Memo, text_bytes
from factorspec_sdk.tokens.vocabulary import Vocabulary

_MAX_PAIRS = 1 << 16
_MAX_END_BYTES = 1 << 23
_DIGITS = "0123456789"


class Cuts:
    """Finds cuts for one vocabulary.

    Caches answers for pairs of characters (bounded); otherwise without state.

    Attributes:
        family: the recognised family, or None if the pre-tokenizer is not a known one.
        splits_everywhere: every position is a cut: no token is longer than a byte.
        stand_ins: character classes, or None without a family.
        joins: pairs of characters that a merge may join, for SentencePiece style, else None.
        num_digits: digits of a full number: a run of digits has cuts on both sides and after so many. None:
            there is no such rule.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        definition = vocabulary.definition
        self.family: Family | None = recognise(definition.pre_tokenizers)
        self.splits_everywhere = definition.num_merges == 0 and not definition.ignores_merges
        self.stand_ins = None if self.family is None else StandIns(self.family, vocabulary.tokenizer)
        self._pre_tokenizer = vocabulary.tokenizer.pre_tokenizer
        self.joins = None if definition.marks is None else definition.marks.joins
        self.num_digits = self._find_num_digits()
        self._added = vocabulary.added
        self._pairs: dict[str, bool] = {}
        self._ends: Memo[tuple[str, str], bool] = Memo(max_entries=_MAX_PAIRS, max_bytes=_MAX_END_BYTES)

    @property
    def is_local(self) -> bool:
        """True if cuts depend on the characters beside them alone (and on added tokens)."""
        return self.family is not None or self.splits_everywhere or self.joins is not None

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
            if not self._added.may_span(text, end, following):
                return end
        if not self.is_local:
            return self._last_cut_of_unknown(text)
        pairs = self._pairs
        for at in range(end - 1, 0, -1):
            pair = text[at - 1 : at + 1]
            known = pairs.get(pair)
            if (self.between(pair[0], pair[1]) if known is None else known) and not self._added.may_span(
                text, at
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
            if self.between(text[at - 1], text[at]) and not self._added.may_span(text, at):
                return at
        return None

    def parts(self, text: str) -> list[str]:
        """A text parted at every pair cut; added tokens apart."""
        pairs, out, begin = self._pairs, [], 0
        for at in range(1, len(text)):
            pair = text[at - 1 : at + 1]
            known = pairs.get(pair)
            if self.between(pair[0], pair[1]) if known is None else known:
                out.append(text[begin:at])
                begin = at
        if text:
            out.append(text[begin:])
        return out

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
            known = all(self.between(left, right) for right in following)
            self._ends.keep(key, known, text_bytes(left, following))
        return known

    def _find_num_digits(self) -> int | None:
        if self.splits_everywhere:
            return 1
        if self.joins is not None:
            return None if any(pair[0] in _DIGITS or pair[1] in _DIGITS for pair in self.joins) else 1
        return None if self.family is None else self.family.num_digits

    def _pair_is_cut(self, left: str, right: str) -> bool:
        if self.joins is not None:
            # A mark in a text would be read as a space.
            return (left + right).replace(MARK, " ") not in self.joins
        return self.family is not None and self._pair_is_cut_in(self.family, left, right)

    def _pair_is_cut_in(self, family: Family, left: str, right: str) -> bool:
        classes = self.stand_ins
        assert classes is not None
        before, after = classes.class_of(left), classes.class_of(right)
        if "unknown" in (before, after) or "mark" in (before, after):
            return False
        if family.digits_isolated and "number" in (before, after):
            return before != after or family.num_digits == 1
        if family.tells_symbols:
            return _is_cut_beside_symbols(left, right, before, after)
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

    def _last_cut_of_unknown(self, text: str) -> int:
        if self._pre_tokenizer is None:
            return 0
        pieces = self._pre_tokenizer.pre_tokenize_str(text)
        if len(pieces) <= 2:
            return 0
        for _, (start, _end) in reversed(pieces[:-1]):
            if start > 0 and not text[start - 1].isspace() and not self._added.may_span(text, start):
                return int(start)
        return 0


def _is_cut_beside_symbols(left: str, right: str, before: CharacterClass, after: CharacterClass) -> bool:
    """Pair cuts of the family that tells symbols apart, numbers and marks aside."""
    if before == after:
        return False
    if before.startswith("ideograph") or after.startswith("ideograph"):
        return True
    if before == "space":
        return False
    if after == "space":
        return before != "rest" or right not in "\r\n"
    if after == "letter":
        # A word takes one other character before it, and ASCII letters one ASCII mark.
        return before == "rest" and not (left.isascii() and right.isascii())
    return True
