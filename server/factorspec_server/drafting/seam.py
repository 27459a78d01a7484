"""What a drafting policy and an engine see of a session.

Plans and choices are those of ``factorspec_sdk.decoding``. The session is a protocol, so that an ordinary
chat, a syntax mask or a test's toy runs through the same loop as a record under a spec.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from factorspec_sdk.decoding import (
    Choice,
    DraftKind,
    Guess,
    GuessPolicy,
    Plan,
    Position,
    SessionState,
    Shape,
)
from factorspec_sdk.tokens import Allowed

IntArray = NDArray[np.int32]
FloatArray = NDArray[np.float32]

__all__ = [
    "Allowed",
    "Choice",
    "DraftKind",
    "FloatArray",
    "Guess",
    "GuessPolicy",
    "IntArray",
    "Plan",
    "Position",
    "Session",
    "SessionState",
    "Shape",
    "certain_run",
    "one_choice",
]


class Session(Protocol):
    """The state of one request; engines see nothing else of the constraint."""

    @property
    def state(self) -> SessionState:
        """``open`` while tokens are missing, then ``complete`` or ``refused``."""

    def plan(
        self,
        width: int | None = None,
        guesses: GuessPolicy | None = None,
        shape: Shape | None = None,
        *,
        until_s: float = inf,
    ) -> Plan:
        """The tokens to run next. Does not change what is written.

        Args:
            width: most tokens drafted behind the certain run, guesses and what is certain behind them; None
                leaves it to the session.
            guesses: proposes tokens at choice points; None plans certain tokens only.
            shape: decides how many of the guessed ones are worth running; None keeps all.
            until_s: moment of ``time.perf_counter`` after which no branch is worked out any more.
        """

    def commit(self, token_ids: Sequence[int], /) -> object:
        """Append tokens, each of them certain or allowed at its position; else the session is refused."""


def one_choice(allowed: Allowed, *, free: bool = False) -> Plan:
    """The plan of a session that knows only what may come next."""
    choices = (Choice(-1, allowed, free),)
    return Plan(tokens=(), parents=(), certain=(), choices=choices, complete=False, kinds=())


def certain_run(token_ids: Sequence[int]) -> Plan:
    """The plan of a session that knows some certain tokens and not yet what comes behind them."""
    size = len(token_ids)
    kind: DraftKind = "certain"
    parents, certain, kinds = tuple(range(-1, size - 1)), (True,) * size, (kind,) * size
    return Plan(tuple(token_ids), parents, certain, choices=(), complete=False, kinds=kinds)
