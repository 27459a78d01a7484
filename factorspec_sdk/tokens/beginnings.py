"""Whether given tokens are those by which the encoding of a longer text begins.

Text that is still being written has been given tokens; some continuation of it is looked at::

    tail    = ' The end'        from the last cut before it
    tokens  = ' The', ' end'
    after   = '. '              the encoding of ' The end. ' begins with these tokens; that is sure whatever
                                comes behind, since there is a cut in ``after`` (or the record ends)

By the *pair property* (``Canonical.stable``) tokens of one part are canonical iff each two neighbours are. So
where the last part goes on beyond the tail and its tokens are another's, a part that goes on in another way
may still begin with the given ones: that is ``open``. Where tokens within the tail are others, nothing of the
kind can help: ``differs``. Without a cut behind the tail the text is too short to tell: ``unknown``.
"""

from __future__ import annotations

from typing import Literal

from factorspec_sdk.tokens.canonical import Canonical
from factorspec_sdk.tokens.memo import ID_BYTES, Memo

Verdict = Literal["begins", "open", "differs", "unknown"]
_MAX_PAIRS = 1 << 15
_MAX_BYTES = 1 << 24


class Beginnings:
    """Answers for one tokenizer. Holds a bounded memo; otherwise without state."""

    def __init__(self, canonical: Canonical) -> None:
        self._canonical = canonical
        self._pairs: Memo[tuple[int, int], bool] = Memo(max_entries=_MAX_PAIRS, max_bytes=_MAX_BYTES)

    def of(self, tail: bytes, tokens: tuple[int, ...], after: bytes, *, final: bool = False) -> Verdict:
        """How the encoding of ``tail + after`` and whatever comes behind begins.

        Args:
            tail: what the tokens spell, from a cut on; it may end inside a character, ``after`` not.
            tokens: given for the tail.
            after: what is written next.
            final: the record ends with it.
        """
        text = (tail + after).decode()
        cut = len(text) if final else self._canonical.cuts.last_cut(text)
        if len(text[:cut].encode()) < len(tail):
            return "unknown"
        parts = self._canonical.parts(text)
        if parts is None:
            ids = self._canonical.encode_piece(text[:cut])
            return "begins" if ids[: len(tokens)] == tokens else "differs"
        at = num_tokens = 0
        for part, ids in parts:
            end = at + (len(part) if part.isascii() else len(part.encode()))
            if end > len(tail):
                return self._straddling(tail[at:], tokens[num_tokens:], ids)
            if tokens[num_tokens : num_tokens + len(ids)] != ids:
                return "differs"
            at, num_tokens = end, num_tokens + len(ids)
        return "begins"

    def _straddling(self, begun: bytes, tokens: tuple[int, ...], ids: tuple[int, ...]) -> Verdict:
        """Of a part that the tail has begun, with these tokens; ``ids`` are those of the whole part."""
        if ids[: len(tokens)] == tokens:
            return "begins"
        return "open" if self._canonical.inside_part(begun) == tokens else "differs"

    def surely_differ(self, tokens: tuple[int, ...]) -> bool:
        """True if the last token never follows those before it: two stand in one part, whose are others.

        Cheap; mostly what is refused is refused so.
        """
        vocabulary = self._canonical.vocabulary
        left, right = tokens[-2:]
        if self._canonical.cuts.joins is not None:
            return not self.may_follow(left, right)
        behind = vocabulary.token_bytes(right)
        if behind[0] & 0xC0 != 0x80:
            before = vocabulary.decode_bytes(tokens[:-1])
            # A contraction ends a part: ``it's|tan``.
            if b"'" in before or not self._are_letters(before, behind):
                return False
        return not self.may_follow(left, right)

    def _are_letters(self, before: bytes, behind: bytes) -> bool:
        """True if two letters meet that are parted by contractions only."""
        cuts = self._canonical.cuts
        if cuts.family is None or cuts.stand_ins is None or cuts.family.words_take_contraction:
            return False
        if before[-1] < 0x80 and behind[0] < 0x80:
            return chr(before[-1]).isalpha() and chr(behind[0]).isalpha()
        left, right = before[-4:].decode(errors="replace")[-1:], behind[:4].decode(errors="replace")[:1]
        return cuts.stand_ins.class_of(left) == "letter" == cuts.stand_ins.class_of(right)

    def may_follow(self, left: int, right: int) -> bool:
        """False if ``right`` is sure not to follow ``left`` within one part: the pair is another's."""
        known = self._pairs.get((left, right))
        if known is None:
            vocabulary = self._canonical.vocabulary
            data = vocabulary.token_bytes(left) + vocabulary.token_bytes(right)
            known = self._canonical.inside_part(data) == (left, right)
            self._pairs.keep((left, right), known, 2 * ID_BYTES)
        return known
