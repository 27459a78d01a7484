"""A session as plain as can be: hypotheses after each token, every mask worked out anew.

The slow reference.
"""

from __future__ import annotations

from factorspec_sdk.decoding import Decoder, Origin, SessionState
from factorspec_sdk.decoding.hypotheses import DONE, NARROWED
from factorspec_sdk.decoding.runs import Hypotheses, allowed_tokens
from factorspec_sdk.tokens import Allowed


class PlainSession:
    """What ``Session`` does, token by token and without sharing anything but the decoder's tables."""

    def __init__(self, decoder: Decoder, token_limit: int | None = None) -> None:
        self.decoder = decoder
        self.limit = decoder.session(token_limit)._narrowing
        self.tokens: list[int] = []
        self.origins: list[Origin] = []
        self._after: list[Hypotheses] = [decoder.start]

    @property
    def state(self) -> SessionState:
        return "complete" if self._after[-1][0] is DONE else "open"

    @property
    def exact(self) -> bool:
        return not any(NARROWED in hypotheses for hypotheses in self._after)

    def allowed(self) -> Allowed:
        """All tokens, less what the limit leaves out."""
        hypotheses = self._after[-1]
        every = Allowed.of(token for token in allowed_tokens(hypotheses) if token >= 0)
        limit = self.limit
        if limit is None or every.count <= 1 or limit._limit - len(self.tokens) >= limit.ample:
            return every
        kept = limit._allowed(hypotheses, tuple(self.tokens))
        return every if kept is None else kept

    def commit(self, token: int) -> None:
        """Write one allowed token."""
        allowed, hypotheses = self.allowed(), self._after[-1]
        assert token in allowed
        free = any(hypothesis.free for hypothesis in hypotheses)
        self.origins.append("certain" if allowed.count == 1 else "free" if free else "chosen")
        self._after.append(self.decoder.opener.advance(hypotheses, token))
        self.tokens.append(token)

    def rollback(self, num_tokens: int) -> None:
        keep = len(self.tokens) - num_tokens
        del self.tokens[keep:], self.origins[keep:], self._after[keep + 1 :]
