"""One record that is being written within an answer, with the tokens that stand around it in any case.

A tool call of a model whose tags are added tokens has those around its record, since no text spells them::

    <tool_call>   \\n{"name": "book", "arguments": {"days": 3}}\\n   </tool_call>
    before        record, by its session                              after
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from math import inf

from factorspec_sdk.decoding import Origin, Session
from factorspec_sdk.tokens import Allowed
from factorspec_server.drafting.seam import (
    Guess,
    GuessPolicy,
    Plan,
    Position,
    SessionState,
    Shape,
    certain_run,
)


@dataclass(slots=True)
class Writing:
    """A record on its way.

    Attributes:
        session: of the record.
        start: tokens of the answer in front of it.
        before: tokens in front of it.
        after: tokens behind it.
        num_given: tokens of the session that the text in front has spelled already: its first ones.
    """

    session: Session
    start: int = 0
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    num_given: int = 0
    _num_before: int = 0
    _num_after: int = 0
    _is_refused: bool = False

    @property
    def num_tokens(self) -> int:
        """Tokens written, those that were given left out."""
        return self._num_before + self.session.num_tokens - self.num_given + self._num_after

    def origins(self) -> list[Origin]:
        """Of each token that is written."""
        inside = self.session.report.origins[self.num_given :]
        fixed: Origin = "certain"
        before, after = repeat(fixed, self._num_before), repeat(fixed, self._num_after)
        return [*before, *inside, *after]

    @property
    def state(self) -> SessionState:
        """``complete`` once all is written, what stands behind the record included."""
        if self._is_refused or self.session.state == "refused":
            return "refused"
        is_written = self.session.state == "complete" and self._num_after == len(self.after)
        return "complete" if is_written else "open"

    def allowed(self) -> Allowed:
        """The tokens that may come next."""
        fixed = self.fixed()
        return Allowed.of(fixed[:1]) if fixed else self.session.allowed()

    def plan(
        self,
        width: int | None,
        guesses: GuessPolicy | None,
        shape: Shape | None,
        *,
        until_s: float = inf,
        written: Sequence[int] = (),
    ) -> Plan:
        """The tokens to run next; see ``Session.plan``. ``written``: all that the answer has before it."""
        fixed = self.fixed()
        if fixed:
            return certain_run(fixed)
        told = None if guesses is None else _Behind(written, self.num_given, guesses)
        return self.session.plan(width, told, shape, until_s=until_s)

    def copy(self) -> Writing:
        """An independent record in the same state."""
        return replace(self, session=self.session.copy())

    def commit(self, token_ids: Sequence[int]) -> None:
        """Write tokens; the first that is not allowed refuses the record."""
        given = tuple(token_ids)
        while given and self.state == "open":
            fixed = self.fixed()
            if fixed:
                taken = int(given[0] == fixed[0])
                if self._num_before < len(self.before):
                    self._num_before += taken
                else:
                    self._num_after += taken
            else:
                taken = self.session.commit(given)
            self._is_refused = not taken
            given = given[taken:]

    def fixed(self) -> tuple[int, ...]:
        """The tokens in front or behind that come next; none where the record's own do."""
        if self._num_before < len(self.before):
            return self.before[self._num_before :]
        return self.after[self._num_after :] if self.session.state == "complete" else ()


class _Behind:
    """Tells a policy what the whole answer holds, of which the record is the last part."""

    def __init__(self, written: Sequence[int], num_given: int, guesses: GuessPolicy) -> None:
        self._written = list(written)
        self._num_given = num_given
        self._guesses = guesses

    def __call__(self, position: Position, /) -> Sequence[Guess]:
        """What the policy guesses."""
        return self._guesses(_Position(position, self._written, self._num_given))


class _Position:
    """A position of a record, its tokens those of the answer."""

    def __init__(self, inner: Position, written: list[int], num_given: int) -> None:
        self._inner = inner
        self._written = written
        self._num_given = num_given
        self.allowed = inner.allowed
        self.free = inner.free
        self.note = inner.note
        self.chance = inner.chance

    def tokens(self) -> Sequence[int]:
        """All tokens up to here."""
        return [*self._written, *self._inner.tokens()[self._num_given :]]

    def run(self, token: int) -> Sequence[int] | None:
        """What is certain behind an allowed token."""
        return self._inner.run(token)
