r"""The canonical filter: which tokens of a mask leave the record's tokens those of ``encode(text)``.

In free text a mask admits any split of a text into tokens. Whether a token is one of the canonical ones is
found out token by token, for the one that was sampled::

    library mask -> sample -> admitted?  yes: it stands
                          \-> no: its bit is cleared, sample again from the same logits

so the token that stands is the one that the exact mask would have given.

What is asked: is there a continuation of the record whose encoding begins with the tokens since the last cut
and this one? A continuation with a cut behind the token (``following.py``) settles it, whatever comes later.
If none of those looked at does but another may (``Verdict`` open), the tokens that may come next are tried
one by one: a canonical record goes on by one of them. So some token is always admitted: with the token that
was admitted last there is a continuation, and the first of its own tokens is admitted here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from factorspec_sdk.decoding.following import Ahead, Following
from factorspec_sdk.decoding.grammar_ways import whole_characters
from factorspec_sdk.decoding.holes import HoleStep, Lead
from factorspec_sdk.decoding.hypotheses import Hypothesis
from factorspec_sdk.decoding.json_strings import C1, OUTSIDE, PLAIN
from factorspec_sdk.decoding.opening import Opener
from factorspec_sdk.decoding.runs import Hypotheses, allowed_tokens
from factorspec_sdk.tokens import Beginnings, Canonical, Verdict
from factorspec_sdk.tokens.families import UNKNOWN
from factorspec_sdk.tokens.memo import ID_BYTES, Memo

_MAX_KNOWN = 1 << 14
_MAX_BYTES = 1 << 23
#: tokens in which the last cut is looked for first
_WINDOW = 8
_MAX_DEPTH = 4


class CanonicalText:
    """The filter of one decoder. Holds a bounded memo; shared by sessions and threads."""

    def __init__(self, opener: Opener, canonical: Canonical) -> None:
        self._opener = opener
        self._canonical = canonical
        self._beginnings = Beginnings(canonical)
        self._following = Following(opener, canonical)
        self._known: Memo[Hashable, bool] = Memo(max_entries=_MAX_KNOWN, max_bytes=_MAX_BYTES)

    def since_cut(self, tokens: Sequence[int]) -> tuple[int, ...]:
        """The last tokens, from the last cut in their text on. The tokens are canonical."""
        cuts, table = self._canonical.cuts, self._canonical.vocabulary.all_bytes
        window = _WINDOW
        while True:
            last = tokens[-window:]
            data = b"".join([table[token] for token in last])
            begin = 0
            while window < len(tokens) and begin < len(data) and data[begin] & 0xC0 == 0x80:
                begin += 1  # the window began inside a character
            text, _ = whole_characters(data[begin:])
            cut = cuts.last_cut(text) if cuts.is_local or window >= len(tokens) else 0
            if cut or window >= len(tokens):
                break
            window *= 2
        size = len(data) - begin - len(text[:cut].encode())
        first = len(last)
        while first and size > 0:
            first -= 1
            size -= len(table[last[first]])
        return tuple(last[first:])

    def keeps_form(self, tokens: Sequence[int], token: int) -> bool:
        """False if the tokenizer's normaliser would join a character of ``token`` to those before it.

        Pieces of text are normalised together: there are no cuts against that.
        """
        vocabulary = self._canonical.vocabulary
        normalizer = vocabulary.tokenizer.normalizer
        # In SentencePiece style the normaliser only writes marks for spaces.
        is_kept = normalizer is None or self._canonical.cuts.joins is not None
        if is_kept or vocabulary.token_bytes(token).isascii():
            return True
        text = vocabulary.decode_bytes((*tokens[-_WINDOW:], token)).decode(errors="ignore")
        return bool(normalizer.normalize_str(text) == text)

    def admits(self, tokens: Sequence[int], hypotheses: Hypotheses) -> bool:
        """True if the record may go on so that its tokens are those of its text.

        Args:
            tokens: from a cut on, such as ``since_cut`` gives, and the one that is asked about; all but the
                last are admitted.
            hypotheses: behind them.
        """
        return self._goes_on(tuple(tokens), hypotheses, 0)

    def _goes_on(self, tokens: tuple[int, ...], hypotheses: Hypotheses, depth: int) -> bool:
        if len(tokens) > 1 and self._beginnings.surely_differ(tokens):
            return False
        rest = self._behind_cut(tokens)
        if rest is None:
            return False
        tokens = rest
        step = hypotheses[0] if len(hypotheses) == 1 else None
        if not isinstance(step, HoleStep) or step.prefix:
            return self._search(tokens, hypotheses, depth)
        room = step.place.rules.roomy(step.text)
        if room is None:
            return self._search(tokens, hypotheses, depth)
        key = (tokens, room, step.place, min(depth, 1))
        known = self._known.get(key)
        if known is None:
            known = self._search_with_room(tokens, step, depth)
            self._known.keep(key, known, ID_BYTES * len(tokens))
        return known

    def _behind_cut(self, tokens: tuple[int, ...]) -> tuple[int, ...] | None:
        """The tokens behind the last cut; None if those before it are not canonical, whatever comes."""
        text, _ = whole_characters(self._canonical.vocabulary.decode_bytes(tokens))
        cut = self._canonical.cuts.last_cut(text)
        if not cut:
            return tokens
        ids = self._canonical.encode_piece(text[:cut])
        return tokens[len(ids) :] if tokens[: len(ids)] == ids else None

    def _search_with_room(self, tokens: tuple[int, ...], step: HoleStep, depth: int) -> bool:
        """Where anything may follow, the end of the text is as good as another mark."""
        found = self._look(tokens, self._following.within(step))
        if found == "begins":
            return True
        if _is_inside(step):
            return self._may_look_deeper((step,), depth) and self._by_token(tokens, (step,), depth)
        return found == "open" and self._search(tokens, (step,), depth)

    def _search(self, tokens: tuple[int, ...], hypotheses: Hypotheses, depth: int) -> bool:
        found = self._look(tokens, self._following.texts(hypotheses))
        if found == "begins":
            return True
        # Inside a character or an escape only a few of the ways to end it are among the texts.
        is_open = found != "differs" or any(map(_is_inside, hypotheses))
        return (
            is_open and self._may_look_deeper(hypotheses, depth) and self._by_token(tokens, hypotheses, depth)
        )

    def _may_look_deeper(self, hypotheses: Hypotheses, depth: int) -> bool:
        return depth < (_MAX_DEPTH if any(map(_is_in_character, hypotheses)) else 1)

    def _look(self, tokens: tuple[int, ...], texts: Iterator[Ahead]) -> Verdict:
        """``begins`` if one of the texts says so, else ``open`` if one leaves it open, else ``differs``;
        ``unknown`` if none of them tells.
        """
        tail = self._canonical.vocabulary.decode_bytes(tokens)
        found: Verdict = "unknown"
        for data, final in texts:
            verdict = self._beginnings.of(tail, tokens, data, final=final)
            if verdict == "begins":
                return verdict
            if verdict == "open" or (verdict == "differs" and found == "unknown"):
                found = verdict
        return found

    def _by_token(self, tokens: tuple[int, ...], hypotheses: Hypotheses, depth: int) -> bool:
        """Look at each token that may come next.

        Those that go on with a character of some kind are left out once that kind differs: where parts begin
        depends on the kinds of characters alone. What is still fixed before a text is looked through.
        """
        deeper = depth + (not any(isinstance(hypothesis, Lead) for hypothesis in hypotheses))
        vocabulary, may_follow, last = self._canonical.vocabulary, self._beginnings.may_follow, tokens[-1]
        pending = whole_characters(vocabulary.decode_bytes(tokens))[1]
        is_one_word = self._canonical.cuts.joins is not None
        failed: set[str] = set()
        for token in allowed_tokens(hypotheses):
            data = vocabulary.token_bytes(token)
            if (pending or is_one_word) and not may_follow(last, token):
                continue
            kind = self._kind_of(pending + data)
            after = () if kind in failed else self._opener.advance(hypotheses, token)
            if after and self._goes_on((*tokens, token), after, deeper):
                return True
            if kind in failed or kind is None or not after or not self.keeps_form(tokens, token):
                continue  # what is normalised differs whatever its kind
            if self._differs((*tokens, token), after):
                failed.add(kind)
        return False

    def _differs(self, tokens: tuple[int, ...], hypotheses: Hypotheses) -> bool:
        return self._look(tokens, self._following.texts(hypotheses)) == "differs"

    def _kind_of(self, data: bytes) -> str | None:
        """The kind of the first character; None where it is not whole or its kind is not known."""
        stand_ins = self._canonical.cuts.stand_ins
        text = whole_characters(data)[0][:1]
        kind = text.translate(stand_ins) if text and stand_ins is not None else UNKNOWN
        return None if kind == UNKNOWN else kind


def _is_inside(hypothesis: Hypothesis) -> bool:
    """True inside a character or an escape."""
    if not isinstance(hypothesis, HoleStep):
        return False
    return hypothesis.place.rules.mode(hypothesis.text) not in (PLAIN, OUTSIDE)


def _is_in_character(hypothesis: Hypothesis) -> bool:
    if not isinstance(hypothesis, HoleStep):
        return False
    return C1 <= hypothesis.place.rules.mode(hypothesis.text) < OUTSIDE
