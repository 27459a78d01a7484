"""A session whose free text is canonical too: the ids of its record are those of ``encode(text)``.

The masks are those of any session. A sampled token is asked about (``admits``); one that is refused is
cleared and another drawn from the same logits, and ``commit`` takes only what is admitted. What determines
the draw is unchanged, so drafting changes nothing either.

Validity comes first: where a token limit is so near that no canonical token is left, those of the mask stand,
and the report says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import index
from time import perf_counter
from typing import TYPE_CHECKING, SupportsIndex

from factorspec_sdk.decoding.limit import TokenLimit
from factorspec_sdk.decoding.report import Report, TextFilter
from factorspec_sdk.decoding.runs import Hypotheses
from factorspec_sdk.decoding.session import Session
from factorspec_sdk.decoding.standing import OnBudget
from factorspec_sdk.decoding.token_ids import token_id

if TYPE_CHECKING:
    from factorspec_sdk.decoding.decoder import Decoder

#: tokens looked at, near a limit, before those of the mask are taken
_MAX_LOOKED_AT = 2_000


@dataclass(slots=True)
class _Tally:
    checked: int = 0
    refused: int = 0
    dropped: int = 0
    time_s: float = 0.0


class CanonicalSession(Session):
    """One record being written whose tokens are those of its text."""

    canonical_text = True

    def __init__(
        self,
        decoder: Decoder,
        token_limit: int | None,
        narrowing: TokenLimit | None,
        on_budget: OnBudget = "narrow",
    ) -> None:
        """Use ``Decoder.session``."""
        super().__init__(decoder, token_limit, narrowing, on_budget)
        self._tally = _Tally()
        self._admitted: tuple[int, int] | None = None

    @property
    def report(self) -> Report:
        """Counts and origins so far, with what the filter did. O(tokens)."""
        tally = self._tally
        dropped = tally.dropped or int(self._is_off())
        text_filter = TextFilter(tally.checked, tally.refused, dropped, tally.time_s)
        return replace(super().report, text_filter=text_filter)

    def admits(self, token: SupportsIndex, after: Sequence[int] = ()) -> bool:
        """True if the token may be committed behind the tokens ``after``, which may be committed here.

        Does not change the session but for its report.
        """
        if after:
            twin = super().copy()  # counts where this one does
            return Session.commit(twin, after) == len(after) and twin.admits(token)
        start, token = perf_counter(), index(token)
        admitted = self._admits_here(token)
        self._tally.checked += 1
        self._tally.refused += not admitted
        self._tally.time_s += perf_counter() - start
        if admitted:
            self._admitted = (len(self._tokens), token)
        return admitted

    def commit(self, token_ids: Iterable[SupportsIndex]) -> int:
        """Write tokens. Stops at the first that is not admitted; the session is refused then.

        Raises:
            TypeError: a token is no integer. Nothing is written then.
        """
        written = 0
        for token in tuple(map(token_id, token_ids)):
            is_known = self._admitted == (len(self._tokens), token)
            if self._refused or not (is_known or self._admits_here(token)):
                self._refused = True
                break
            if not super().commit((token,)):
                break
            written += 1
        return written

    def rollback(self, num_tokens: int) -> None:
        """Take back the last ``num_tokens`` tokens, and a refusal."""
        self._admitted = None  # as many tokens may soon be other ones
        super().rollback(num_tokens)

    def copy(self) -> Session:
        """An independent session in the same state. O(tokens)."""
        copied = super().copy()
        assert isinstance(copied, CanonicalSession)
        twin: CanonicalSession = copied
        twin._tally = replace(self._tally)
        return twin

    def _opened(self, narrowing: TokenLimit | None) -> CanonicalSession:
        twin = CanonicalSession(self.decoder, self.token_limit, narrowing, self.on_budget)
        twin._tally, twin._admitted = self._tally, self._admitted
        return twin

    def _is_off(self) -> bool:
        """True for a record that is complete and not canonical: a limit may leave but one token, which is
        certain then and which nobody is asked about.
        """
        if self._narrowing is None or not self._narrowing.near_limit or self.state != "complete":
            return False
        return self.decoder.vocabulary.encode(self.text) != self.tokens

    def _admits_here(self, token: int) -> bool:
        allowed = self.allowed()
        if token not in allowed or allowed.count == 1:
            return token in allowed
        text_filter = self.decoder.canonical_text
        since = text_filter.since_cut(self._tokens)
        if self._is_behind_text(len(since)):
            return True
        if self._stands(token, since):
            return True
        if self._narrowing is None or not self._narrowing.near_limit:
            return False
        if any(self._stands(other, since) for other in allowed.ids()[:_MAX_LOOKED_AT].tolist()):
            return False
        self._tally.dropped += 1
        return True

    def _stands(self, token: int, since: Sequence[int]) -> bool:
        text_filter = self.decoder.canonical_text
        if not text_filter.keeps_form(self._tokens, token):
            return False
        return text_filter.admits((*since, token), self._behind(token))

    def _is_behind_text(self, num_since_cut: int) -> bool:
        """True where no free text is written, and none since the last cut: masks are canonical there."""
        num_tokens, run = len(self._tokens), self._run
        is_free = self._step is not None or run is None or run.free
        return not is_free and num_tokens - num_since_cut >= self._trail.end_of_text(num_tokens)

    def _behind(self, token: int) -> Hypotheses:
        step, run = self._step, self._run
        if step is None:
            assert run is not None, "what is allowed was asked for"
            return self.decoder.opener.advance(run.after, token)
        on = step.on(token)
        return self.decoder.opener.advance((step,), token) if on is None else (on,)
