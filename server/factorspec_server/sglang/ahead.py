"""Which steps are launched ahead: with one input for each request, before the last step's tokens are known.

::

    usual     tokens of the last step ─► plans ─► launch         the device stands still meanwhile
    ahead     launch ─► tokens of the last step ─► mask rows     the device runs the step meanwhile

The input of such a step is on the device already, and its mask rows are wanted only behind its forward pass,
so nothing is drawn otherwise. What the last step's tokens make certain is drafted a step later, though: each
request for which that happens loses one step. In free text hardly a token does so. A batch goes ahead while
nearly all of its requests are there, or have a grammar without drafts, or none. Where several ranks run one
model, none does: they would have to agree on it first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from factorspec_server.sglang.chains import Chain
from factorspec_server.sglang.drawing import draws_one_by_one
from factorspec_server.sglang.session_grammar import SessionGrammar, session_grammar_of

#: of the vocabulary so much may come next in free text, at least
_TEXT_SHARE = 1 / 16
#: of the requests so many may lose a step: steps that wait for tokens take 1.45 to 1.5 times as long as
#: those launched ahead, at 1, 8 and 128 requests of an 8B model; some of those in text lose one, too
_MOST_LOSE = 1 / 4


class Ahead:
    """Keeps of each record whether its next token may make others certain; used by the scheduler's thread.

    Args:
        vocab_size: of the model.
        is_on: False: never.
    """

    def __init__(self, vocab_size: int, *, is_on: bool) -> None:
        self._text = vocab_size * _TEXT_SHARE
        self._is_on = is_on
        self._in_text: WeakKeyDictionary[SessionGrammar, bool] = WeakKeyDictionary()

    def saw(self, grammars: Sequence[SessionGrammar | None], chains: Sequence[Chain]) -> None:
        """These chains run now, for the records of these grammars."""
        if self._is_on:
            for grammar, chain in zip(grammars, chains, strict=True):
                if grammar is not None:
                    self._in_text[grammar] = self._is_text(chain)

    def _is_text(self, chain: Chain) -> bool:
        if not chain.decisions:
            return False
        allowed = chain.decisions[-1].allowed
        return chain.then is None and allowed is not None and allowed.count >= self._text

    def is_fit(self, batch: Any) -> bool:
        """True if the next step of the batch is worth launching ahead, but for guesses.

        Args:
            batch: as SGLang has it, its last step a decode.
        """
        if not self._is_on or draws_one_by_one(batch):
            return False
        losing, most = 0, len(batch.reqs) * _MOST_LOSE
        for request in batch.reqs:
            grammar = session_grammar_of(request.grammar)
            if grammar is not None and not self._in_text.get(grammar, False):
                losing += 1
                if losing > most:
                    return False
        return True
