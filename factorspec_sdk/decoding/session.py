"""The state of one request in the token layer: all that an engine sees.

Where it stands, and what may come next, is in ``standing.py``; here it is planned, written on, rolled back
and copied. Rollback goes to a mark and writes the rest again. In text a session goes from step to step and
leaves a mark now and then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import takewhile
from math import inf
from operator import eq, index
from typing import SupportsIndex

from factorspec_sdk.decoding.holes import HoleStep
from factorspec_sdk.decoding.limit import TokenLimit
from factorspec_sdk.decoding.plan import GuessPolicy, Plan, Shape
from factorspec_sdk.decoding.planning import PlanSize, guessed_plan
from factorspec_sdk.decoding.runs import Run, run_in_text
from factorspec_sdk.decoding.standing import Standing
from factorspec_sdk.decoding.token_ids import token_id
from factorspec_sdk.tokens import Allowed
from factorspec_sdk.tokens.masks import Row, check_rows


class Session(Standing):
    """One record being written. Not for use by two threads at once; copies may be used apart.

    Attributes:
        decoder: the compiled spec.
        token_limit: most tokens of the record, or None.
        on_budget: ``abort`` raises ``BudgetSpent`` from any method that meets a mask cut by a budget.
        canonical_text: sampled tokens must be asked about (``admits``), since not all allowed ones stand.
        salt: see ``Decoder.session``.
    """

    canonical_text = False
    salt: str | None = None

    def admits(self, token: SupportsIndex, after: Sequence[int] = ()) -> bool:
        """True if a token of ``allowed`` may be committed, behind the tokens ``after``.

        Only with ``canonical_text`` an allowed token may not; engines need not ask otherwise.
        """
        if after:
            twin = self.copy()
            return twin.commit(after) == len(after) and twin.admits(token)
        return token in self.allowed()

    def fill_row(self, out: Row, holds: Allowed | None = None) -> Allowed:
        """Write the tokens that may come next into ``out``. Does not change the session.

        Args:
            out: (row_words,) int32, CPU, of any stride; layout as in ``tokens/masks.py``.
            holds: what ``out`` holds, as the last call on it returned. Where that is still so, as in most of
                a free text, nothing is written; else what differs.

        Returns:
            The tokens that ``out`` holds now.

        Raises:
            ValueError: ``out`` has another shape or type.
        """
        allowed = self.allowed()
        if allowed is not holds:
            check_rows(out, self.decoder.row_shape)
            allowed.write_row(out, holds)
        return allowed

    def plan(
        self,
        width: int | None = None,
        guesses: GuessPolicy | None = None,
        shape: Shape | None = None,
        *,
        until_s: float = inf,
    ) -> Plan:
        """The tokens to run next. Does not change the session.

        Args:
            width: most tokens drafted behind the certain run, at least 1: guesses and what is certain behind
                them. The run itself is planned whole, since its tokens run in any case. None: any number.
            guesses: drafts tokens where the model decides; None: no guesses.
            shape: decides how many of the guessed ones are worth running; None: as many as there is room for.
            until_s: moment of ``time.perf_counter`` after which no branch is worked out any more.

        Raises:
            ValueError: ``width`` is below 1.
        """
        if width is not None and width < 1:
            raise ValueError(f"a plan's width must be None or at least 1, got {width}")
        if guesses is None:
            run = self._run
            known = None if run is None or self._offset or self._step is not None else run.plan
            return self._certain_plan() if known is None else known
        step = self._step
        trunk = (self._current_run(), self._offset) if step is None else (run_in_text(step), 0)
        run_after = partial(Session._run_after, self._aside())
        size = PlanSize(width, shape, until_s)
        return guessed_plan(trunk, self._tokens, run_after, guesses, size)

    def look_behind_text(self, is_over: Callable[[], bool]) -> None:
        """Work out what follows the text that is written next, until ``is_over``; the spec's runs keep it."""
        step = self._step or (None if self._run is None else self._run.text)
        if step is not None:
            self.decoder.runs.look_behind(step, is_over)

    def commit(self, token_ids: Iterable[SupportsIndex]) -> int:
        """Write tokens. Stops at the first that is not allowed; the session is refused then.

        Returns:
            How many tokens were written.

        Raises:
            TypeError: a token is no integer. Nothing is written then.
        """
        given = token_ids if isinstance(token_ids, tuple) else tuple(token_ids)
        if not given or self._commit_known(given):
            return len(given)
        written = 0
        try:
            while written < len(given) and not self._refused:
                num_taken = self._take(given, written)
                if not num_taken:
                    index(given[written])  # raises where it is no token at all
                    self._refused = True
                written += num_taken
        except TypeError:
            Session.rollback(self, written)
            token_id(given[written])
            raise
        return written

    def _commit_known(self, given: tuple[SupportsIndex, ...]) -> bool:
        """Write what nearly every ``commit`` writes; False: it is something else, and nothing is written.

        A whole certain run as planned, a token that was chosen after this run before, both, one of text.
        """
        run, step = self._run, self._step
        if run is None or self._refused:
            return False
        if given is run.tokens and step is None and not self._offset:
            self._tokens += run.tokens
            self._offset = len(given)
            return True
        token = given[-1]
        if type(token) is not int:
            return False
        if step is not None:
            return len(given) == 1 and self._take_text(step, token) == 1
        rest = run.tokens[self._offset :] if self._offset else run.tokens
        child = run.children.get(token) if self._is_plain and given[:-1] == rest else None
        if child is not None:
            self._tokens += rest
            self._tokens.append(token)
            self._begin(child)
        return child is not None

    def rollback(self, num_tokens: int) -> None:
        """Take back the last ``num_tokens`` tokens, and a refusal."""
        if not 0 <= num_tokens <= len(self._tokens):
            raise ValueError(f"cannot take back {num_tokens} of {len(self._tokens)} tokens")
        self._refused = False
        if not num_tokens:
            return
        keep = len(self._tokens) - num_tokens
        position, run, step = self._trail.back_to(keep)
        again = tuple(self._tokens[position:keep])
        del self._tokens[position:]
        self._run, self._step, self._step_allowed = run, step, None
        self._offset = 0 if step is None else len(run.tokens)
        written = self.commit(again)
        assert written == len(again), "what was allowed is allowed again"

    def copy(self) -> Session:
        """An independent session in the same state. O(tokens)."""
        twin: Session = self._twin(None) if self._narrowing is None else self._aside()
        twin._tokens, twin._trail = [*self._tokens], self._trail.copy()
        return twin

    def _aside(self) -> Session:
        """The session, for looking at what may never be written: a token limit keeps notes of what it met."""
        return self if self._narrowing is None else self._twin(self._narrowing.copy())

    def _twin(self, narrowing: TokenLimit | None) -> Session:
        """Another session that stands where this one stands; the way there is the same object."""
        twin: Session = self._opened(narrowing)
        twin._tokens, twin._trail, twin._refused = self._tokens, self._trail, self._refused
        twin._run, twin._offset, twin._text_plan = self._run, self._offset, self._text_plan
        twin._step, twin._step_allowed, twin.salt = self._step, self._step_allowed, self.salt
        return twin

    def _opened(self, narrowing: TokenLimit | None) -> Session:
        return Session(self.decoder, self.token_limit, narrowing, self.on_budget)

    def _take(self, given: tuple[SupportsIndex, ...], at: int) -> int:
        """Write some of the tokens from ``at`` on: a certain run's, or one that is chosen, or none."""
        if self._step is not None:
            return self._take_text(self._step, index(given[at]))
        run = self._current_run()
        if self._offset < len(run.tokens):
            return self._take_certain(run, given[at:] if at else given)
        return self._take_chosen(run, index(given[at]))

    def _take_certain(self, run: Run, given: tuple[SupportsIndex, ...]) -> int:
        rest = run.tokens[self._offset :] if self._offset else run.tokens
        if rest is not given and rest != given[: len(rest)]:
            same = takewhile(lambda pair: bool(eq(pair[0], pair[1])), zip(rest, given, strict=False))
            rest = tuple(token for token, _ in same)
        self._tokens += rest
        self._offset += len(rest)
        return len(rest)

    def _take_chosen(self, run: Run, token: int) -> int:
        if run.text is not None:
            return self._take_text(run.text, token)
        if token not in run.allowed:
            return 0
        self._choose(token)
        return 1

    def _take_text(self, step: HoleStep, token: int) -> int:
        """Write a token of text, or one that closes it."""
        on = step.on(token)
        if on is None:
            return self._leave_text(step, token)
        allowed = self._step_allowed
        if allowed is None or on is not step:
            allowed = on.allowed()
        if allowed.count == 1 or (self._narrowing is not None and not self._has_room(on)):
            return self._leave_text(step, token)
        self._step, self._step_allowed = on, allowed
        self._tokens.append(token)
        self._trail.go_on(len(self._tokens), on)
        return 1

    def _has_room(self, step: HoleStep) -> bool:
        """True if the limit leaves out nothing where the text stands after the next token."""
        limit, run = self._narrowing, self._run
        return limit is None or run is None or limit.leaves_all_text(run, step, len(self._tokens) + 1)

    def _leave_text(self, step: HoleStep, token: int) -> int:
        """Write a token that closes the text, or behind which one token is left or the limit has a say."""
        if token not in step.allowed():
            return 0
        if self._step is not None:
            self._begin(self.decoder.runs.in_text(step))
        self._choose(token)
        return 1

    def _choose(self, token: int) -> None:
        """Write an allowed token behind the run."""
        self._tokens.append(token)
        child = None if self._run is None else self._run.children.get(token)
        if child is None or not self._is_plain:
            self._run = None  # worked out when somebody asks
        else:
            self._begin(child)
