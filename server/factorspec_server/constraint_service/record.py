"""A record whose session is kept by a worker process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import SupportsIndex

from factorspec_sdk.decoding import GuessPolicy, Plan, SessionState, Shape
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.tokens import Allowed
from factorspec_sdk.tokens.masks import Row


class RemoteRecord:
    """A record being written. Used by the step thread, but ``finish`` and ``close`` by any thread.

    Attributes:
        spec_hash: of its spec.
        was_cached: the spec had been compiled for an earlier record.
        compile_s: seconds that compiling took.
        certificates: what is proven about each level of the objective (``certificate_json``).
    """

    spec_hash: str
    was_cached: bool
    compile_s: float
    certificates: Sequence[dict[str, JsonValue]]

    @property
    def tokens(self) -> tuple[int, ...]:
        """The committed tokens."""
        raise NotImplementedError

    @property
    def num_tokens(self) -> int:
        """How many tokens are committed."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """The committed text, as ``Session.text``. Asks a worker and waits."""
        raise NotImplementedError

    @property
    def state(self) -> SessionState:
        """As ``Session.state``. Waits for a plan where the last one does not tell."""
        raise NotImplementedError

    def plan(
        self,
        width: int | None = None,
        guesses: GuessPolicy | None = None,
        shape: Shape | None = None,
        *,
        until_s: float = inf,
    ) -> Plan:
        """The service's plan for this state: asks and waits."""
        raise NotImplementedError

    def commit(self, token_ids: Iterable[SupportsIndex]) -> int:
        """As ``Session.commit``."""
        raise NotImplementedError

    def fill_row(self, out: Row, holds: Allowed | None = None) -> Allowed:
        """As ``Session.fill_row``."""
        raise NotImplementedError

    def rollback(self, num_tokens: int) -> None:
        """As ``Session.rollback``."""
        raise NotImplementedError

    def copy(self) -> RemoteRecord:
        """An independent record in the same state, in a slot of its own."""
        raise NotImplementedError

    def set_prompt(self, token_ids: Sequence[int]) -> None:
        """Tell the prompt, once; what is drafted may depend on it."""
        raise NotImplementedError

    def finish(self, *, origins: bool) -> dict[str, JsonValue]:
        """What a report needs of the record: ``session_counts``, and ``origins`` where they are wanted."""
        raise NotImplementedError

    def close(self) -> None:
        """Free the record's slot. The second time nothing happens."""
        raise NotImplementedError
