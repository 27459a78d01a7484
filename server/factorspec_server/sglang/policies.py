"""The drafting policies of the sessions that are planned in this process: one for each, gone with it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence

from factorspec_server.drafting import Certain, DraftingPolicy, DraftingSpec, Off, Session
from factorspec_server.engines.remembering import earlier_of

MakePolicy = Callable[[Session, Sequence[int]], DraftingPolicy]
"""The policy for a session and its request's prompt."""


class Policies:
    """Makes policies where they are first asked for.

    Args:
        make: makes them.
        resting: what plans where nothing is guessed; shared by all.
    """

    def __init__(self, make: MakePolicy, resting: DraftingPolicy | None = None) -> None:
        self._make = make
        self.resting: DraftingPolicy = resting or Certain()
        self._known: dict[int, tuple[weakref.ref[Session], DraftingPolicy]] = {}

    @classmethod
    def of_spec(cls, spec: DraftingSpec) -> Policies:
        """Policies as the spec says, for sessions that tell their vocabulary; for others, what rests."""
        resting = Off() if spec.name == "off" else Certain()

        def make(session: Session, prompt: Sequence[int]) -> DraftingPolicy:
            vocabulary = getattr(getattr(session, "decoder", session), "vocabulary", None)
            if vocabulary is None:
                return resting
            return spec.policy(vocabulary, tuple(prompt), earlier_of(session))

        return cls(make, resting)

    def __len__(self) -> int:
        return len(self._known)

    def of(self, session: Session, prompt: Sequence[int]) -> DraftingPolicy:
        """The policy of a session; its prompt matters the first time alone."""
        key = id(session)
        found = self._known.get(key)
        if found is None or found[0]() is not session:
            gone = weakref.ref(session, lambda ref: self._forget(key, ref))
            found = self._known[key] = gone, self._make(session, prompt)
        return found[1]

    def _forget(self, key: int, ref: weakref.ref[Session]) -> None:
        if key in self._known and self._known[key][0] is ref:
            del self._known[key]
