"""Where a session stands: what is written, the run that it is in, and what may come next. Writes nothing.

A session stands inside or at the end of a certain run, since runs are what it walks in, or in a free text
behind one::

    mark        mark              mark
    |           |                 |
    c c c c  *  c c c c c c c  *  c c c t t t t        c certain, * chosen, t text
                        ^ committed up to here: run of the last mark, offset 4

The runs are those of the decoder's tree, worked out once for all sessions; only near a token limit a session
has some of its own. Runs are immutable, and marks (position, run) are left on the way (``trail.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from factorspec_sdk.decoding.holes import HoleStep
from factorspec_sdk.decoding.hypotheses import NARROWED
from factorspec_sdk.decoding.limit import TokenLimit
from factorspec_sdk.decoding.plan import Plan
from factorspec_sdk.decoding.planning import certain_plan
from factorspec_sdk.decoding.report import Report
from factorspec_sdk.decoding.runs import Run
from factorspec_sdk.decoding.trail import Trail
from factorspec_sdk.errors import BudgetSpent
from factorspec_sdk.graph.feasibility import UNBOUNDED
from factorspec_sdk.tokens import Allowed

if TYPE_CHECKING:
    from factorspec_sdk.decoding.decoder import Decoder

SessionState = Literal["open", "complete", "refused"]
#: what a session does where a budget leaves out values: go on among the proven ones, or raise
OnBudget = Literal["narrow", "abort"]


class Standing:
    """What a session has written and may write next; ``Session`` writes.

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
        #: runs are those of the decoder's tree, whatever is written
        self._is_plain = narrowing is None and on_budget == "narrow"
        self._tokens: list[int] = []
        self._trail = Trail()
        #: the run of the last mark; None where nobody has asked yet what follows the token written last,
        #: which was chosen behind that run
        self._run: Run | None = None
        self._offset = 0
        #: where the text behind the run stands; None: none of it is written
        self._step: HoleStep | None = None
        #: the tokens allowed there, and the plan last made in text
        self._step_allowed: Allowed | None = None
        self._text_plan: Plan | None = None
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
        return "complete" if run.complete and self._offset == len(run.tokens) else "open"

    @property
    def report(self) -> Report:
        """Counts and origins so far. O(tokens)."""
        limit = self._narrowing
        return Report(
            tuple(self._trail.origins(len(self._tokens))),
            exact=self._trail.exact,
            near_limit=limit is not None and limit.near_limit,
            ample=self._ample,
        )

    def allowed(self) -> Allowed:
        """The tokens that may come next; none once the record is complete. Does not change the session."""
        if self._step is not None:
            return self._allowed_in_text(self._step)
        run = self._run or self._current_run()
        if self._offset < len(run.tokens):
            return Allowed.of((run.tokens[self._offset],))
        return run.allowed

    @property
    def _ample(self) -> int | None:
        """See ``Report.ample``."""
        if self.token_limit is None:
            return None
        limit = self._narrowing
        ample = self.decoder.most_bytes if limit is None else limit.ample
        return ample if ample < UNBOUNDED else None

    def _allowed_in_text(self, step: HoleStep) -> Allowed:
        if self._step_allowed is None:
            self._step_allowed = step.allowed()
        return self._step_allowed

    def _certain_plan(self) -> Plan:
        """The plan without guesses. That of a whole run is kept by the run."""
        if self._step is not None:
            return self._plan_in_text(self._allowed_in_text(self._step))
        run = self._current_run()
        if self._offset:
            return certain_plan(run, self._offset)
        if run.plan is None:
            is_choice = not run.tokens and not run.complete
            plans = self.decoder.choice_plans
            run.plan = plans.of(run.allowed, free=run.free) if is_choice else certain_plan(run, 0)
        return run.plan

    def _plan_in_text(self, allowed: Allowed) -> Plan:
        """The plan of a place in text where these tokens are allowed; mostly that of the place before."""
        if self._text_plan is None or self._text_plan.choices[0].allowed is not allowed:
            self._text_plan = self.decoder.choice_plans.of(allowed, free=True)
        return self._text_plan

    def _current_run(self) -> Run:
        run = self._run
        if run is None:
            last, runs = self._trail.last, self.decoder.runs
            run = runs.root() if last is None else runs.after(last[1].shared or last[1], self._tokens[-1])
            run = self._own(run, self._tokens)
            self._begin(run)
        return run

    def _begin(self, run: Run) -> None:
        self._trail.add(len(self._tokens), run)
        self._run, self._offset, self._step, self._step_allowed = run, 0, None, None

    def _run_after(self, run: Run, before: Sequence[int], token: int) -> Run:
        """The run behind a token that is chosen after a run, which ends behind the tokens ``before``."""
        after = self.decoder.runs.after(run.shared or run, token)
        return self._own(after, () if self._narrowing is None else (*before, token))

    def _own(self, run: Run, before: Sequence[int]) -> Run:
        """What this session's limit leaves of a run that begins behind the tokens ``before``."""
        if self._narrowing is not None:
            run = self._narrowing.limited(run, before)
        if self.on_budget == "abort" and NARROWED in run.after:
            message = "the budget ended in mid-record, and the request asks to abort"
            raise BudgetSpent(message, partial=self.text)
        return run
