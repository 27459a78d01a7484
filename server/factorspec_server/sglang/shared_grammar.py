"""Grammar objects where several ranks run one model: the first rank's writes the record, the others' follow.

SGLang asks all of them the same, in the same order, and must conclude the same from what they answer. So
whatever a grammar answers has to be known on all ranks. That a record has ended is told by its end token.
That it is given up is told with the next step (``shared_step.py``) or row; until then nobody says so::

    row    what may come next │ 1: the record is given up     (row_words + 1) int32, from the first rank
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from copy import copy
from typing import Any, Self

import numpy as np
import torch

from factorspec_server.engines.errors import SessionRefused
from factorspec_server.sglang.ranks import Numbers, Ranks
from factorspec_server.sglang.records import Record
from factorspec_server.sglang.session_grammar import Ended, SessionGrammar

GIVEN_UP = "the record was given up"


class LeadingGrammar(SessionGrammar):
    """A record on the first rank. What goes wrong with it is noted, and told before it ends the request."""

    def __init__(
        self,
        session: Record,
        end_ids: Sequence[int],
        ranks: Ranks,
        *,
        request_id: str | None = None,
        ended: Callable[[Ended], None] | None = None,
    ) -> None:
        """``end_ids``: tokens that may end an answer, the one behind a record first."""
        super().__init__(session, end_ids[0], request_id=request_id, ended=ended)
        self._end_ids = frozenset(end_ids)
        self._ranks = ranks
        self._is_told = False

    def accept_token(self, token: int) -> None:
        """Write a token. Raises ValueError: all ranks know that the record is given up."""
        if self._is_told:
            self._is_given_up = True
            raise ValueError(f"{GIVEN_UP}: {self._error}")
        if self._error is None:
            try:
                super().accept_token(token)
            except ValueError as error:
                self._error = self.error or SessionRefused(str(error))
        elif self._refuses:  # the request goes on until all ranks know
            self._is_given_up = True
        if self._error is not None:
            self.current_token = token
            if token in self._end_ids:
                self._has_ended = self._is_given_up = True

    def rollback(self, k: int) -> None:
        """Take back the last ``k`` tokens, the end token included."""
        if self._error is None:
            super().rollback(k)
        elif k:
            self._has_ended = False

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        """Write the tokens that may come next into row ``idx`` of all ranks."""
        super().fill_vocab_mask(vocab_mask, idx)
        self._is_told = self._error is not None
        row = vocab_mask[idx].numpy()
        self._ranks.share(torch.from_numpy(np.append(row, np.int32(self._is_told))))


class FollowingGrammar:
    """The same record on another rank: it knows what ends it, and hears the rest.

    Attributes:
        finished: as SGLang says.
        current_token: the last one.
        grammar_stats: SGLang's own counts.
    """

    grammar_stats: Any
    current_token: int | None

    def __init__(self, end_ids: Sequence[int], ranks: Ranks) -> None:
        """``end_ids``: tokens that may end the answer."""
        super().__init__()
        self.finished = False
        self._end_ids = frozenset(end_ids)
        self._ranks = ranks
        self._is_told = False
        self._has_ended = False

    def accept_token(self, token: int) -> None:
        """Follow a token. Raises ValueError: the record is given up."""
        if self._is_told:
            raise ValueError(GIVEN_UP)
        self.current_token = token
        self._has_ended = self._has_ended or token in self._end_ids

    def rollback(self, k: int) -> None:
        """Take back the last ``k`` tokens, the end token included."""
        self._has_ended = self._has_ended and not k

    def is_terminated(self) -> bool:
        """The end token has come."""
        return self._has_ended

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        """Have the first rank's row in row ``idx``."""
        row = vocab_mask[idx]
        heard = torch.zeros(len(row) + 1, dtype=torch.int32)
        self._ranks.share(heard)
        row.copy_(heard[:-1])
        self._is_told = bool(heard[-1])

    allocate_vocab_mask = SessionGrammar.allocate_vocab_mask
    move_vocab_mask = staticmethod(SessionGrammar.move_vocab_mask)
    apply_vocab_mask = staticmethod(SessionGrammar.apply_vocab_mask)

    def copy(self) -> Self:
        """An independent grammar in the same state."""
        return copy(self)


class SharedOutcome(Future[Any]):
    """The promise of a grammar that all ranks get, or none does.

    SGLang takes up a promise once it is kept on all ranks, and asks for ``result`` then: on all of them, in
    the same order, from the main thread.
    """

    def __init__(self, made: Future[Any], ranks: Ranks, refused: Callable[[str], Any]) -> None:
        """
        Args:
            made: this rank's own.
            ranks: of the model.
            refused: makes the object that stands for a grammar which cannot be had; it has ``error_message``.
        """
        super().__init__()
        self._made = made
        self._ranks = ranks
        self._refused = refused

    def done(self) -> bool:
        """This rank's own is kept."""
        return self._made.done()

    def cancel(self) -> bool:
        """Nobody waits any more."""
        return self._made.cancel()

    def result(self, timeout: float | None = None) -> Any:
        """The grammar, or why there is none on the first rank. Waits for that."""
        if not self._ranks.is_first:
            return self._heard(timeout)
        try:
            found = self._made.result(timeout)
        except Exception as error:  # noqa: BLE001 - the other ranks wait for an answer
            found = self._refused(f"Grammar compilation failed: {error}")
        reason = getattr(found, "error_message", None)
        self._ranks.tell(_of_text(None if reason is None else str(reason)))
        return found

    def _heard(self, timeout: float | None) -> Any:
        reason = _text_of(self._ranks.hear())
        return self._made.result(timeout) if reason is None else self._refused(reason)


def _of_text(text: str | None) -> Numbers:
    """A text as numbers; none: an empty message."""
    written = b"" if text is None else b"\n" + text.encode()
    return np.frombuffer(written, dtype=np.uint8).astype(np.int32)


def _text_of(numbers: Numbers) -> str | None:
    return numbers.astype(np.uint8).tobytes()[1:].decode() if len(numbers) else None
