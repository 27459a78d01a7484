"""The state of one request in the token layer: all that an engine sees.

A session is always inside or at the end of a certain run, since runs are what it walks in::

    mark        mark              mark
    |           |                 |
    c c c c  *  c c c c c c c  *  c c c c        c certain, * chosen or free
                        ^ committed up to here: run of the last mark, offset 4

The marks (position, hypotheses) are kept, hypotheses are immutable: rollback goes to the mark before and
walks the rest again; a copy shares them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from factorspec_sdk.decoding.hypotheses import NARROWED
from factorspec_sdk.decoding.limit import TokenLimit
from factorspec_sdk.decoding.plan import GuessPolicy, Plan, Shape
from factorspec_sdk.decoding.planning import certain_plan, guessed_plan
from factorspec_sdk.decoding.report import Origin, Report
from factorspec_sdk.decoding.runs import Hypotheses, Run, run_from
from factorspec_sdk.errors import BudgetSpent
from factorspec_sdk.tokens import Allowed

if TYPE_CHECKING:
    from factorspec_sdk.decoding.decoder import Decoder

SessionState = Literal["open", "complete", "refused"]
#: what a session does where a budget leaves out values: go on among the proven ones, or raise
OnBudget = Literal["narrow", "abort"]


class _Mark(NamedTuple):
    position: int
    hypotheses: Hypotheses


class Session:
    """One record being written. Not for use by two threads at once; copies may be used apart.

    Attributes:
        decoder: the compiled spec.
        token_limit: most tokens of the record, or None.
        on_budget: ``abort`` raises ``BudgetSpent`` from any method that meets a mask cut by a budget.
    """

    def __init__(
        self,
        decoder: Decoder,
        token_limit: int | None,
        narrowing: TokenLimit | None,
        on_budget: OnBudget = "narrow",
    ) -> None:
        """Use ``Decoder.session``."""
        self.decoder = decoder
        self.token_limit = token_limit
        self.on_budget = on_budget
        self._narrowing = narrowing
        self._tokens: list[int] = []
        self._origins: list[Origin] = []
        self._marks = [_Mark(0, decoder.start)]
        self._offset = 0
        self._run: Run | None = None
        self._refused = False

    @property
    def tokens(self) -> tuple[int, ...]:
        """The committed tokens."""
        return tuple(self._tokens)

    @property
    def num_tokens(self) -> int:
        """How many tokens are committed."""
        return len(self._tokens)

    @property
    def text(self) -> str:
        """The committed text; U+FFFD stands for a character whose bytes are not all written."""
        return self.decoder.vocabulary.decode(self._tokens, errors="replace")

    @property
    def state(self) -> SessionState:
        """``refused`` after a token that was not allowed (roll back to go on), else complete or open."""
        if self._refused:
            return "refused"
        run = self._current_run()
        return "complete" if self._offset == len(run.tokens) and run.complete else "open"

    @property
    def _ample(self) -> int | None:
        """Where the limit is above what any record can take, that bound; None without a limit."""
        return None if self.token_limit is None else self.decoder.most_bytes

    @property
    def report(self) -> Report:
        """Counts and origins so far."""
        limit = self._narrowing
        seen = [mark.hypotheses for mark in self._marks] + ([] if self._run is None else [self._run.after])
        return Report(
            tuple(self._origins),
            exact=not any(NARROWED in hypotheses for hypotheses in seen),
            near_limit=limit is not None and limit.near_limit,
            ample=self._ample if limit is None else limit.ample,
        )

    def allowed(self) -> Allowed:
        """The tokens that may come next; none once the record is complete. Does not change the session."""
        run = self._current_run()
        if self._offset < len(run.tokens):
            return Allowed.of((run.tokens[self._offset],))
        return run.allowed

    def plan(
        self, width: int | None = None, guesses: GuessPolicy | None = None, shape: Shape | None = None
    ) -> Plan:
        """The tokens to run next. Does not change the session.

        Args:
            width: most tokens, certain ones included; a certain run that is longer is cut. None: any number.
            guesses: drafts tokens where the model decides; None: no guesses.
            shape: decides how many of the guessed ones are worth running; None: as many as there is room for.
        """
        run = self._current_run()
        if guesses is None:
            return certain_plan(run, self._offset, width)
        run_after = partial(Session._run_after, self._aside())
        return guessed_plan((run, self._offset), self._tokens, run_after, guesses, width=width, shape=shape)

    def commit(self, token_ids: Iterable[int]) -> int:
        """Write tokens. Stops at the first that is not allowed; the session is refused then.

        Returns:
            How many tokens were written.
        """
        written = 0
        for token in token_ids:
            if self._refused or not self._commit_one(int(token)):
                self._refused = True
                break
            written += 1
        return written

    def rollback(self, num_tokens: int) -> None:
        """Take back the last ``num_tokens`` tokens, and a refusal."""
        if not 0 <= num_tokens <= len(self._tokens):
            raise ValueError(f"cannot take back {num_tokens} of {len(self._tokens)} tokens")
        keep = len(self._tokens) - num_tokens
        self._refused = False
        del self._tokens[keep:]
        del self._origins[keep:]
        if self._marks[-1].position > keep:
            while self._marks[-1].position > keep:
                self._marks.pop()
            self._run = None
        self._offset = keep - self._marks[-1].position

    def copy(self) -> Session:
        """An independent session in the same state. O(tokens)."""
        twin = copy(self)
        vars(twin).update(_tokens=[*self._tokens], _origins=[*self._origins], _marks=[*self._marks])
        if self._narrowing is not None:
            vars(twin).update(_narrowing=copy(self._narrowing))
        return twin

    def _aside(self) -> Session:
        """The session, for looking at what may never be written: a token limit keeps notes of what it met."""
        if self._narrowing is None:
            return self
        twin = copy(self)
        vars(twin).update(_narrowing=copy(self._narrowing))
        return twin

    def _current_run(self) -> Run:
        if self._run is None:
            mark = self._marks[-1]
            self._run = self._run_from(mark.hypotheses, self._tokens[: mark.position])
        return self._run

    def _run_after(self, run: Run, tokens: Sequence[int], token: int) -> Run:
        """The run behind the choice of ``token`` after ``run``, whose end follows ``tokens``."""
        return self._run_from(self.decoder.opener.advance(run.after, token), [*tokens, token])

    def _run_from(self, hypotheses: Hypotheses, before: list[int]) -> Run:
        run = run_from(self.decoder.opener, hypotheses, before, self._narrowing)
        if self.on_budget == "abort" and (NARROWED in hypotheses or NARROWED in run.after):
            raise BudgetSpent(
                "the budget ended in mid-record, and the request asks to abort", partial=self.text
            )
        return run

    def _commit_one(self, token: int) -> bool:
        run = self._current_run()
        if self._offset < len(run.tokens):
            if run.tokens[self._offset] != token:
                return False
            self._offset += 1
            self._origins.append("certain")
        else:
            if token not in run.allowed:
                return False
            hypotheses = self.decoder.opener.advance(run.after, token)
            self._marks.append(_Mark(len(self._tokens) + 1, hypotheses))
            self._offset = 0
            self._run = None
            self._origins.append("free" if run.free else "chosen")
        self._tokens.append(token)
        return True
