"""Canonical tokens: the tokenizer's own encoding, piece by piece.

A record's tokens must equal ``encode(whole text)``, but a session knows only part of the text. So the text is
encoded in pieces that end at cuts (``cuts.py``), and of the piece that is still open only those tokens are
given out that no continuation can change (``Canonical.stable``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from factorspec_sdk.tokens.alphabet import to_alphabet
from factorspec_sdk.tokens.cuts import Cuts
from factorspec_sdk.tokens.families import UNKNOWN
from factorspec_sdk.tokens.held import Continuation, LiteralEnd
from factorspec_sdk.tokens.self_check import check
from factorspec_sdk.tokens.vocabulary import Vocabulary

_MAX_WORDS = 1 << 16
_LONGEST_WORD = 128
_MAX_TAILS = 1 << 12
# Longer open pre-tokens are held back whole: `stable` looks at every position in them.
_LONGEST_TAIL = 64


class Canonical:
    """Encodes pieces of text between cuts.

    Holds bounded memos (pre-token -> ids, tail -> stable tokens); otherwise without state.

    Attributes:
        vocabulary: whose tokens these are.
        cuts: where texts may be parted.
        literal_ends: memo of ``certain``.
        digit_groups: memo of ``NumberWalk``.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Raises ``EngineError`` if the vocabulary fails its self-check."""
        self.vocabulary = vocabulary
        self.cuts = Cuts(vocabulary)
        self.literal_ends: dict[Continuation, LiteralEnd | None] = {}
        self.digit_groups: dict[tuple[str, int], frozenset[int]] = {}
        self._model = vocabulary.tokenizer.model
        self._words: dict[str, tuple[int, ...]] = {}
        self._tails: dict[str, tuple[int, ...]] = {}
        self._added = tuple(token.content for token in vocabulary.definition.added)
        family = self.cuts.family
        self._split = None if family is None else family.split
        if not vocabulary.is_checked:
            check(self)
            vocabulary.mark_checked()

    def encode_piece(self, text: str) -> tuple[int, ...]:
        """The tokens of a text that begins and ends at a cut (or at an end of the whole text).

        Equal to ``vocabulary.encode(text)``; some µs where the words have been met before.
        """
        words = self._words_of(text)
        if words is None:
            return self.vocabulary.encode(text)
        out: list[int] = []
        memo = self._words
        for word in words:
            ids = memo.get(word)
            out += self._encode_word(word) if ids is None else ids
        return tuple(out)

    def stable(self, tail: str) -> tuple[int, ...]:
        """The first tokens of a tail that begins at a cut, as far as no continuation can change them.

        Conservative: may be fewer than are certain, and is empty where nothing is known.

        BPE has the *pair property*: tokens of one pre-token are canonical iff each two neighbours are. So if
        the token that reaches beyond the tail m begins at q, the tokens before it are ``bpe(m[:q])``; and q
        is the end of m, or m[q:] is a proper prefix of a token:

            stable(m) = common prefix of bpe(m[:q]) over these q

        That needs m to lie in one pre-token whatever follows, which is so for punctuation after at most one
        space.
        """
        known = self._tails.get(tail)
        if known is None:
            if len(self._tails) >= _MAX_TAILS:
                self._tails.clear()
            known = self._tails[tail] = self._stable(tail)
        return known

    def tokens_are_canonical(self, token_ids: Sequence[int]) -> bool:
        """True if these are exactly the tokens of the text that they spell."""
        try:
            text = self.vocabulary.decode(token_ids)
        except UnicodeDecodeError:
            return False
        return self.vocabulary.encode(text) == tuple(token_ids)

    @cached_property
    def _sorted_bytes(self) -> Sequence[bytes]:
        table = self.vocabulary.all_bytes
        return [table[token_id] for token_id in self.vocabulary.sorted_ids]

    def _words_of(self, text: str) -> list[str] | None:
        """The pre-tokens of a text, or None where only the tokenizer itself can tell."""
        split = self._split
        if split is None or (self.cuts.may_begin_added(text) and self._holds_added(text)):
            return None
        if text.isascii() and text.isprintable():
            found: list[str] = split.findall(text)
            return found
        stand_ins = self.cuts.stand_ins
        assert stand_ins is not None
        proxy = text.translate(stand_ins)
        if UNKNOWN in proxy or self._changes_under_normalizer(text):
            return None
        return [text[match.start() : match.end()] for match in split.finditer(proxy)]

    def _holds_added(self, text: str) -> bool:
        return any(content in text for content in self._added)

    def _changes_under_normalizer(self, text: str) -> bool:
        normalizer = self.vocabulary.tokenizer.normalizer
        return normalizer is not None and normalizer.normalize_str(text) != text

    def _encode_word(self, word: str) -> tuple[int, ...]:
        ids = tuple(token.id for token in self._model.tokenize(to_alphabet(word.encode())))
        if len(word) <= _LONGEST_WORD:
            if len(self._words) >= _MAX_WORDS:
                self._words.clear()
            self._words[word] = ids
        return ids

    def _stable(self, tail: str) -> tuple[int, ...]:
        if not self._is_open_punctuation(tail):
            return ()
        data = tail.encode()
        shared = self.encode_piece(tail)
        for position in self._open_positions(data):
            before = (
                tuple(t.id for t in self._model.tokenize(to_alphabet(data[:position]))) if position else ()
            )
            shared = _common_prefix(shared, before)
            if not shared:
                break
        return shared

    def _is_open_punctuation(self, tail: str) -> bool:
        """True if the tail is one pre-token, and a part of one under every continuation."""
        stand_ins = self.cuts.stand_ins
        # A pre-token that is a token is not cut by merges here, so the pair property may fail.
        if stand_ins is None or self.vocabulary.definition.ignores_merges or len(tail) > _LONGEST_TAIL:
            return False
        body = tail.removeprefix(" ")
        return bool(body) and all(stand_ins.class_of(character) == "rest" for character in body)

    def _open_positions(self, data: bytes) -> Iterator[int]:
        """Byte positions q where a token, or an added token, may begin that reaches beyond ``data``."""
        added = [content.encode() for content in self._added]
        for position in range(len(data)):
            rest = data[position:]
            if self._is_proper_prefix(rest) or any(a.startswith(rest) for a in added):
                yield position

    def _is_proper_prefix(self, prefix: bytes) -> bool:
        table = self._sorted_bytes
        at = bisect_right(table, prefix)
        return at < len(table) and table[at].startswith(prefix)


def _common_prefix(left: tuple[int, ...], right: Iterable[int]) -> tuple[int, ...]:
    length = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        length += 1
    return left[:length]
