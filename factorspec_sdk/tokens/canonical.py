"""Canonical tokens: the tokenizer's own encoding, piece by piece.

A record's tokens must equal ``encode(whole text)``, but a session knows only part of the text. So the text is
encoded in pieces that end at cuts (``cuts.py``), and of the piece that is still open only those tokens are
given out that no continuation can change (``Canonical.stable``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain

from factorspec_sdk.tokens.cuts import Cuts
from factorspec_sdk.tokens.families import UNKNOWN
from factorspec_sdk.tokens.held import NOTHING_HELD, Continuation, Held, LiteralEnd
from factorspec_sdk.tokens.memo import ID_BYTES, Memo, text_bytes
from factorspec_sdk.tokens.merged_digits import MergedDigits
from factorspec_sdk.tokens.self_check import check
from factorspec_sdk.tokens.vocabulary import Vocabulary

_MAX_WORDS = 1 << 16
_MAX_WORD_BYTES = 1 << 25
_LONGEST_WORD = 128
_MAX_TAILS = 1 << 12
_MAX_TAIL_BYTES = 1 << 22
_MAX_LITERALS = 1 << 14
_MAX_LITERAL_BYTES = 1 << 24
_IN_NO_TEXT = b"\xff"
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
        self.literal_ends: Memo[Continuation, LiteralEnd | None] = Memo(
            max_entries=_MAX_LITERALS, max_bytes=_MAX_LITERAL_BYTES
        )
        self.digit_groups: dict[tuple[str, int], frozenset[int]] = {}
        self._model = vocabulary.tokenizer.model
        self._added = vocabulary.added
        self._joins = self.cuts.joins
        self._words: Memo[str, tuple[int, ...]] = Memo(max_entries=_MAX_WORDS, max_bytes=_MAX_WORD_BYTES)
        self._tails: Memo[str, tuple[int, ...]] = Memo(max_entries=_MAX_TAILS, max_bytes=_MAX_TAIL_BYTES)
        self._spelled = vocabulary.definition.spelling.spelled
        family = self.cuts.family
        self._split = None if family is None else family.split
        if not vocabulary.is_checked:
            check(self)
            vocabulary.mark_checked()

    def encode_piece(self, text: str) -> tuple[int, ...]:
        """The tokens of a text that begins and ends at a cut (or at an end of the whole text).

        Equal to ``vocabulary.encode_inside(text)``; some µs where the words have been met before.
        """
        words = self._words_of(text)
        if words is None:
            return self.vocabulary.encode_inside(text)
        out: list[int] = []
        memo = self._words
        for word in words:
            ids = memo.get(word)
            out += self._encode_word(word) if ids is None else ids
        return tuple(out)

    def stable(self, tail: str) -> tuple[int, ...]:
        """The first tokens of a tail that begins at a cut, as far as no continuation can change them.

        Conservative: may be fewer than are certain, and is empty where nothing is known.

        Where a token of a word ends, no merge has joined, so that BPE of what stands before is that of the
        word up to there. If the token that reaches beyond the tail m begins at q, the tokens before it are
        ``bpe(m[:q])`` therefore; and q is the end of m, or m[q:] is a proper prefix of a token:

            stable(m) = common prefix of bpe(m[:q]) over these q

        That needs m to lie in one word whatever follows: so it does in SentencePiece style, where there is
        but one, and else for punctuation after at most one space.
        """
        known = self._tails.get(tail)
        if known is None:
            known = self._stable(tail)
            self._tails.keep(tail, known, text_bytes(tail) + ID_BYTES * len(known))
        return known

    def tail(self, text: str, following: str | None = None) -> str:
        """What of a text that begins at a cut is held back: what no later cut is known behind.

        Args:
            text: what is known.
            following: the characters of which one comes next; empty or None: any.
        """
        tail = text[self.cuts.last_cut(text, following) :]
        if self.cuts.joins is None:
            return tail
        # A token's end that nothing can move is a cut.
        return tail[len(self.vocabulary.decode_bytes(self.stable(tail)).decode()) :]

    def tokens_are_canonical(self, token_ids: Sequence[int]) -> bool:
        """True if these are exactly the tokens of the text that they spell."""
        try:
            text = self.vocabulary.decode(token_ids)
        except UnicodeDecodeError:
            return False
        return self.vocabulary.encode(text) == tuple(token_ids)

    @property
    def start(self) -> Held:
        """What is held before a record's first character: its leading mark, or nothing."""
        return Held(self.vocabulary.lead, 0) if self.vocabulary.lead else NOTHING_HELD

    def parts(self, text: str) -> list[tuple[str, tuple[int, ...]]] | None:
        """The parts of a text that are encoded apart, each with its tokens; for a text as ``encode_piece``'s.

        None where only the tokenizer itself can tell.
        """
        words = self._words_of(text)
        if words is None:
            return None
        known = ((word, self._words.get(word)) for word in words)
        return [(word, self._encode_word(word) if ids is None else ids) for word, ids in known]

    def inside_part(self, data: bytes) -> tuple[int, ...]:
        """The tokens that merges make of some bytes, which may end inside a character, of one part."""
        if self.vocabulary.definition.ignores_merges:
            # With a byte that is in no text they are no token themselves, so merges are what counts.
            return self._bpe(data + _IN_NO_TEXT)[:-1]
        if self.cuts.joins is None:
            return self._bpe(data)
        # The bytes of a character without a token are tokens that no merge joins.
        begin = next((at for at, byte in enumerate(data) if byte & 0xC0 != 0x80), len(data))
        whole = data[begin:].decode(errors="ignore").encode()
        spare = (data[:begin], data[begin + len(whole) :])
        before, behind = (map(self.vocabulary.token_id, (bytes([byte]) for byte in part)) for part in spare)
        found = (*before, *(self._bpe(whole) if whole else ()), *behind)
        return tuple(token for token in found if token is not None)

    def begun(self, text: str) -> tuple[tuple[int, ...], ...]:
        """The tokens that a text may have that begins at a cut and ends where a token does.

        Its last part may end there, or go on. Where a part that is a token is taken whole, whatever the
        merges say, these differ::

            '":"' = part                        one token
            '":"' of the longer part '":"(x'    '":' '"', if merges do not make the token
        """
        whole = self.encode_piece(text) if text else ()
        if not text or not self.vocabulary.definition.ignores_merges:
            return (whole,)
        last = self._last_word(text)
        merged = whole[: len(whole) - len(self._encode_word(last))] + self.inside_part(last.encode())
        return (whole,) if merged == whole else (whole, merged)

    @cached_property
    def _sorted_added(self) -> Sequence[bytes]:
        return sorted(token.content.encode() for token in self.vocabulary.definition.added)

    @cached_property
    def digit_tokens(self) -> tuple[int, ...]:
        """The tokens of the ten digits, where each is one token and they differ; else none."""
        found = [self.encode_piece(digit) for digit in "0123456789"]
        tokens = tuple(chain.from_iterable(found))
        return tokens if len(tokens) == len(found) == len(set(tokens)) else ()

    @cached_property
    def merged_digits(self) -> MergedDigits:
        """The tokens of digits, for walks where a run of digits is one pre-token."""
        return MergedDigits(self)

    @cached_property
    def _longest_bytes(self) -> int:
        return max(map(len, self.vocabulary.all_bytes), default=0)

    def _words_of(self, text: str) -> list[str] | None:
        """The text in parts that are encoded apart, or None where only the tokenizer itself can tell."""
        added = self._added
        if added.may_begin_in(text) and added.find(text) is not None:
            return None
        if self._joins is not None:
            return self.cuts.parts(text)
        split = self._split
        if split is None:
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

    def _last_word(self, text: str) -> str:
        words = self._words_of(text)
        if words is not None:
            return words[-1]
        pre_tokenizer = self.vocabulary.tokenizer.pre_tokenizer
        begin = 0 if pre_tokenizer is None else pre_tokenizer.pre_tokenize_str(text)[-1][1][0]
        return text[begin:]

    def _changes_under_normalizer(self, text: str) -> bool:
        normalizer = self.vocabulary.tokenizer.normalizer
        return normalizer is not None and normalizer.normalize_str(text) != text

    def _encode_word(self, word: str) -> tuple[int, ...]:
        ids = self._bpe(word.encode())
        if len(word) <= _LONGEST_WORD:
            self._words.keep(word, ids, text_bytes(word) + ID_BYTES * len(ids))
        return ids

    def _bpe(self, data: bytes) -> tuple[int, ...]:
        return tuple([token.id for token in self._model.tokenize(self._spelled(data))])

    def _stable(self, tail: str) -> tuple[int, ...]:
        if not self._is_open_word(tail):
            return ()
        data = tail.encode()
        shared = self.encode_piece(tail)
        for position in self._open_positions(data):
            shared = _common_prefix(shared, self._encode_begun(data[:position]))
            if not shared:
                break
        return shared

    def _encode_begun(self, data: bytes) -> tuple[int, ...]:
        """The tokens of the beginning of a word."""
        return self._bpe(data) if self.cuts.joins is None else self.encode_piece(data.decode())

    def _is_open_word(self, tail: str) -> bool:
        """True if the tail is one pre-token, and a part of one under every continuation."""
        if self.cuts.joins is not None:
            return bool(tail)
        stand_ins = self.cuts.stand_ins
        # A pre-token that is a token is not cut by merges here, so that BPE says nothing about it.
        if stand_ins is None or self.vocabulary.definition.ignores_merges or len(tail) > _LONGEST_TAIL:
            return False
        body = tail.removeprefix(" ")
        return bool(body) and all(stand_ins.class_of(character) == "rest" for character in body)

    def _open_positions(self, data: bytes) -> Iterator[int]:
        """Byte positions q where a token, or an added token, may begin that reaches beyond ``data``.

        In SentencePiece style a token of more than one byte begins and ends between characters.
        """
        between = self.cuts.joins is not None
        for position in range(max(0, len(data) - self._longest_bytes), len(data)):
            if between and data[position] & 0xC0 == 0x80:
                continue
            if self._is_proper_prefix(data[position:]):
                yield position

    def _is_proper_prefix(self, prefix: bytes) -> bool:
        table, ids, added = self.vocabulary.all_bytes, self.vocabulary.sorted_ids, self._sorted_added
        at = bisect_right(ids, prefix, key=table.__getitem__)
        if at < len(ids) and table[ids[at]].startswith(prefix):
            return True
        at = bisect_right(added, prefix)
        return at < len(added) and added[at].startswith(prefix)


def _common_prefix(left: tuple[int, ...], right: Iterable[int]) -> tuple[int, ...]:
    length = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        length += 1
    return left[:length]
