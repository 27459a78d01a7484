"""What a session says about how a record came to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Origin = Literal["certain", "chosen", "free"]


@dataclass(frozen=True, slots=True)
class TextFilter:
    """What the canonical filter of free text did (``canonical_session.py``).

    Attributes:
        checked: tokens that it was asked about.
        refused: those that it refused, each drawn again.
        dropped: tokens taken where no canonical one fitted into the token limit; 0: the record is canonical.
        time_s: seconds of the session's own work for it.
    """

    checked: int
    refused: int
    dropped: int
    time_s: float


@dataclass(frozen=True, slots=True)
class Report:
    """Counts and origins of the committed tokens.

    Attributes:
        origins: of each token: ``certain`` (the only one allowed), ``chosen`` (among the candidates of a
        decision),
            ``free`` (in free text, what opens and closes it included).
        exact: every mask held all tokens by which a valid record goes on. False only if a budget cut
        something.
        near_limit: some mask was a subset because the token limit was near (fewer tokens left than
        ``ample``).
        ample: with at least so many tokens left the limit leaves nothing out; None: there is no
            limit, or no such number, since records may be of any length.
        text_filter: what the canonical filter did; None: there is none.
    """

    origins: Sequence[Origin]
    exact: bool = True
    near_limit: bool = False
    ample: int | None = None
    text_filter: TextFilter | None = None

    def __repr__(self) -> str:
        counts = (
            f"num_tokens={self.num_tokens}, certain={self.certain}, chosen={self.chosen}, free={self.free}"
        )
        flags = f"exact={self.exact}, near_limit={self.near_limit}, ample={self.ample}"
        return f"Report({counts}, {flags}, text_filter={self.text_filter})"

    @property
    def num_tokens(self) -> int:
        """Committed tokens."""
        return len(self.origins)

    @property
    def certain(self) -> int:
        """Tokens that were the only ones allowed."""
        return sum(origin == "certain" for origin in self.origins)

    @property
    def chosen(self) -> int:
        """Tokens that the model chose among candidates."""
        return sum(origin == "chosen" for origin in self.origins)

    @property
    def free(self) -> int:
        """Tokens of free text."""
        return sum(origin == "free" for origin in self.origins)

    @property
    def choice_points(self) -> int:
        """Positions at which at least two tokens were allowed."""
        return self.num_tokens - self.certain
