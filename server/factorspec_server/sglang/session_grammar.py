"""One record as SGLang's scheduler sees it: a grammar object that is a session.

The scheduler asks for mask rows, tells which tokens were taken, takes some back when drafts are looked at,
and ends a request when the grammar is terminated. A record is complete before that: SGLang cuts the token
that terminates a grammar off the answer, so an end token follows, as behind any other answer::

    {"city": "Rome"}            <|im_end|>
    session: open ─► complete ─► terminated

Speculative workers ask the same object (``session_grammar_of``): ``plan`` tells what is certain and what
may be guessed; behind a complete record ``end_id`` is certain. They tell what stands by ``accept_token``,
or leave that to the scheduler, which does it for every token of a step's result.

The record may be a session of this process or one of the constraint service's (``records.py``), which has to
be closed: whoever hears how the record ended does so, or the grammar's end, where SGLang drops a request
without a word, as it does with those that still wait.

A session that fails (a budget ended and the request asked to abort, or a defect) must not end the
scheduler, nor the other requests: from then on only the end token is allowed, and refused when it comes, by
which SGLang aborts this request alone. Where steps are planned before SGLang looks at the results of the last
one, a session may fail behind its request's end, a stop string say, which nobody here knows of. So a failure
is noted first, and told as the record's only where the request goes on::

    failed ── SGLang: the request has finished ──► nobody hears of it
       └───── a further token comes, or who plans ends the request ──► given up
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Self

import numpy as np
import torch

from factorspec_sdk.decoding import GuessPolicy, Plan, Shape
from factorspec_sdk.errors import FactorspecError
from factorspec_server.engines.errors import failure_of
from factorspec_server.engines.remembering import earlier_of, remember
from factorspec_server.sglang.cpu_masks import mask_logits
from factorspec_server.sglang.process_parts import parts
from factorspec_server.sglang.records import Record, give_back, has_ended
from factorspec_server.sglang.step_counts import StepCounts

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ended:
    """How one record ended.

    Attributes:
        request_id: see ``RequestOptions``; None: nobody waits for a report.
        grammar: of the record; nobody uses it any more.
        error: why the record was given up; None: it was not.
    """

    request_id: str | None
    grammar: SessionGrammar
    error: FactorspecError | None = None


class SessionGrammar:
    """A grammar object of SGLang's that writes one record. Used by the scheduler's main thread alone.

    Attributes:
        end_id: the token that follows a complete record.
        grammar_stats: SGLang's own counts.
        steps: what a speculative worker did for the record.
    """

    grammar_stats: Any
    current_token: int | None

    def __init__(
        self,
        session: Record,
        end_id: int,
        *,
        request_id: str | None = None,
        ended: Callable[[Ended], None] | None = None,
    ) -> None:
        """``request_id``, ``ended``: whom to tell how the record ended, and under which name."""
        super().__init__()
        self._session: Record | None = session
        self._begun: Record | None = None
        self._expected: tuple[int, ...] = ()
        self._num_arrived = 0
        self.end_id = end_id
        self._request_id = request_id
        self._tell = ended
        self._has_ended = False
        self._finished = False
        self.steps = StepCounts()
        self._times_s = [perf_counter()]
        #: why the session cannot go on; nothing is written from then on, which ends the request by a token
        self._error: FactorspecError | None = None
        self._refuses = self._is_given_up = False

    @property
    def session(self) -> Record:
        """Of the record; shared with nobody."""
        session = self._session
        if session is None:
            session = self._session = self._copied()
        if self._num_arrived:
            arrived = self._expected[: self._num_arrived]
            self._expected, self._num_arrived = (), 0
            session.commit(arrived)
        return session

    def _copied(self) -> Record:
        """The record of a copy, made once somebody asks for it."""
        assert self._begun is not None
        session, self._begun = self._begun.copy(), None
        session.rollback(session.num_tokens)
        return session

    def expect(self, token_ids: tuple[int, ...]) -> None:
        """Certain tokens that a step may bring: those that come are written together when somebody asks.

        SGLang hands over a step's tokens one by one, for each request in turn, while the device waits.
        """
        if self._num_arrived or self._session is None:
            assert self.session is self._session
        self._expected = token_ids

    def fail(self, error: FactorspecError) -> None:
        """Write no more. Whether the request has ended before that, SGLang says next, or ``give_up``."""
        self._error = self._error or error
        self._refuses = True
        self._expected = self._expected[: self._num_arrived]

    def give_up(self, error: FactorspecError) -> None:
        """The request ends by this: whoever hears how the record ended gets the error."""
        self.fail(error)
        self._is_given_up = True
        self.finished = True

    @property
    def error(self) -> FactorspecError | None:
        """Why the record cannot go on, if it cannot."""
        return self._error

    def written(self) -> Record:
        """The record at its end, as far as its tokens could be written."""
        try:
            return self.session
        except Exception as error:  # noqa: BLE001 - it went wrong behind the end
            _logger.warning("tokens behind a record's end: %s", failure_of(error))
            return self.session

    @property
    def finished(self) -> bool:
        """The request is finished, as SGLang says behind each step and before it answers."""
        return self._finished

    @finished.setter
    def finished(self, finished: bool) -> None:
        is_news = finished and not self._finished
        self._finished = finished
        if is_news:
            self._times_s.append(perf_counter())
            self._remember()
            if self._tell is None:
                self.close()
            else:
                self._tell(Ended(self._request_id, self, self._error if self._is_given_up else None))

    def _remember(self) -> None:
        """Have a complete record of this process remembered, where those that come after it are guessed."""
        drafting = parts().drafting
        if self._error is not None or drafting is None or not drafting.remembers:
            return
        if earlier_of(self._session) is None:  # a worker's, which remembers it itself; or nothing is written
            return
        try:
            remember(self.session)
        except Exception as error:  # noqa: BLE001 - one request's session must not end the scheduler
            _logger.warning("a record is not remembered: %s", failure_of(error))

    def close(self) -> None:
        """Give back the record's place, where it has one; nobody asks for the record any more."""
        give_back(vars(self).get("_session"))

    def __del__(self) -> None:
        """Close what was never told to be finished: SGLang drops requests that wait, and their grammars."""
        self.close()

    @property
    def prefill_s(self) -> float:
        """Seconds from when the session was opened to its first token."""
        return self._times_s[1] - self._times_s[0] if len(self._times_s) > 1 else 0.0

    @property
    def decode_s(self) -> float:
        """Seconds from the first token to the end of the request."""
        return self._times_s[-1] - self._times_s[1] if len(self._times_s) > 1 else 0.0

    @property
    def is_complete(self) -> bool:
        """The record is complete: the end token comes next, or has come."""
        return self._has_ended or (self._error is None and self.session.state == "complete")

    def plan(
        self, width: int | None = None, guesses: GuessPolicy | None = None, shape: Shape | None = None
    ) -> Plan:
        """``Session.plan``. Raises FactorspecError as sessions do; ask ``fill_vocab_mask`` then."""
        return self.session.plan(width, guesses, shape)

    def accept_token(self, token: int) -> None:
        """Write a token.

        Where the session fails at one of several that a step brings, they may stand behind the request's
        end, and pass.

        Raises:
            ValueError: it is not allowed, or the record is given up; SGLang aborts the request.
        """
        self.current_token = token
        expected, arrived = self._expected, self._num_arrived
        if arrived < len(expected) and expected[arrived] == token:
            self._num_arrived = arrived + 1
            return
        if len(self._times_s) == 1:
            self._times_s.append(perf_counter())
        if self._has_ended:
            return
        problem = None
        if self._error is None:
            try:
                problem = self._write(token)
            except Exception as error:  # noqa: BLE001 - one request's session must not end the scheduler
                self._error = failure_of(error)
        if problem is not None:
            raise ValueError(problem)
        if self._error is not None and (self._refuses or token == self.end_id):
            self._is_given_up = True
            raise ValueError(f"the record was given up: {self._error}")

    def _write(self, token: int) -> str | None:
        """Write a token; what is wrong with it, if anything is."""
        expected = self._expected
        if self._num_arrived == len(expected):
            take = getattr(self._session, "take", None)  # of a service's record
            if take is not None and take(expected, token):
                self._expected, self._num_arrived = (), 0
                return None
        session = self.session
        if session.state == "complete":
            self._has_ended = token == self.end_id
            return None if self._has_ended else f"the record is complete, token {token} does not belong to it"
        if session.commit((token,)) != 1:
            return f"token {token} is not allowed after {session.text!r}"
        self._has_ended = has_ended(session)
        return None

    def rollback(self, k: int) -> None:
        """Take back the last ``k`` tokens, the end token included."""
        if k and self._has_ended:
            self._has_ended = False
            k -= not has_ended(self.session)
        self.session.rollback(k)

    def is_terminated(self) -> bool:
        """The end token has come."""
        return self._has_ended

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: object) -> torch.Tensor:
        """Rows for a batch in which all tokens are allowed: (batch, row_words) int32, CPU."""
        import xgrammar

        rows: torch.Tensor = xgrammar.allocate_token_bitmask(batch_size, vocab_size)
        return rows

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        """Write the tokens that may come next into row ``idx``; never none."""
        row: np.ndarray[tuple[int], np.dtype[np.int32]] = vocab_mask[idx].numpy()
        if self._error is None and not self._has_ended:
            try:
                if self.session.state != "complete" and self.session.fill_row(row).count:
                    return
            except Exception as error:  # noqa: BLE001 - one request's session must not end the scheduler
                self._error = failure_of(error)
        self._refuses = self._error is not None
        row.fill(0)
        row.view(np.uint32)[self.end_id >> 5] = 1 << (self.end_id & 31)

    @staticmethod
    def move_vocab_mask(vocab_mask: torch.Tensor, device: Any) -> torch.Tensor:
        """The rows on a device."""
        return vocab_mask.to(device, non_blocking=True)

    @staticmethod
    def apply_vocab_mask(logits: torch.Tensor, vocab_mask: torch.Tensor) -> None:
        """Rule out what the rows do not allow, in place."""
        mask_logits(logits, vocab_mask)

    def copy(self) -> Self:
        """An independent grammar in the same state. SGLang makes one of each new grammar, and drops it: where
        nothing is written yet, its record is made when somebody asks.
        """
        session, twin = self.session, copy(self)
        own, begun = (session.copy(), None) if session.num_tokens else (None, session)
        vars(twin).update(_session=own, _begun=begun, steps=copy(self.steps), _times_s=[*self._times_s])
        if self.grammar_stats is not None:
            twin.grammar_stats = replace(self.grammar_stats, is_cache_hit=True, tree_traversal_time=[])
        return twin


def session_grammar_of(grammar: object) -> SessionGrammar | None:
    """The grammar that writes a request's record now.

    None for requests without relations, while a model thinks before it answers, and behind the record's end.
    """
    if isinstance(grammar, SessionGrammar):
        return None if grammar.is_terminated() else grammar
    inner = getattr(grammar, "grammar", None)  # of the wrapper for thinking models
    if inner is None:
        return None
    is_writing = getattr(grammar, "tokens_after_end", -1) >= 0
    writes = is_writing and isinstance(inner, SessionGrammar) and not inner.is_terminated()
    return inner if writes else None
