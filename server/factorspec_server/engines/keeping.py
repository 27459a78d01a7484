"""Sessions that are kept elsewhere: their plans are asked for together, and waited for together.

::

    settle (all rows) ──► ask ──► accept, prefixes ──► late ──► advance ──► feed
                           └─ processes plan meanwhile ─┘

A row whose plan is late sits a step out; the others go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from factorspec_server.drafting.seam import Session


class Keeper(Protocol):
    """Keeps sessions in other processes. Called by the engine's thread alone."""

    def ask(self, sessions: Sequence[Session], /) -> None:
        """Ask for the next plans of those that it keeps; returns at once. Others are left alone."""

    def late(self, sessions: Sequence[Session], wait_s: float, /) -> Sequence[Session]:
        """Those whose plan is not there after at most ``wait_s`` seconds; asks what was not asked.

        ``plan`` of the others does not wait; it raises what their plan has failed with. Where processes have
        died or do not answer within the keeper's own deadline, it may wait longer and replaces them.
        """


class NobodyElse:
    """Keeps nothing: every session is this process's own, and plans when it is asked."""

    def ask(self, sessions: Sequence[Session], /) -> None:
        """Nothing to ask."""

    def late(self, sessions: Sequence[Session], wait_s: float, /) -> Sequence[Session]:
        """None is."""
        return ()
