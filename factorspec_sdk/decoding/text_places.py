"""Where free text stands: one hole under one oracle state, and how its text may end there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from factorspec_sdk.decoding.hypotheses import Opening
from factorspec_sdk.decoding.text_rules import TextRules, TextState
from factorspec_sdk.graph.feasibility import State
from factorspec_sdk.tokens import Allowed

if TYPE_CHECKING:
    from factorspec_sdk.decoding.holes import HoleStep

#: beginnings of what follows a text, each with the places that they lead to
Endings = dict[bytes, list[Opening]]
FindEndings = Callable[[State, int], Endings]


class ClosingCosts(NamedTuple):
    """Tokens to be written when a text ends, up to the end of the record. Computed near the token limit only.

    Attributes:
        sure: by ending, tokens that surely suffice behind it.
        cheapest: tokens that surely suffice behind a finished text, with the one that closes it.
    """

    sure: dict[bytes, int]
    cheapest: int


class TextPlace(ABC):
    """One hole under one oracle state.

    Attributes:
        rules: of the text.
        state: of the oracle.
        behind: the node behind the hole.
        brief: a memo of the token limit's: no completion behind any ending has more tokens, if its texts are
            as short as can be.
        steps: the texts that stand here, by state, where there are few states; else None.
        is_looked_behind: what follows the text is worked out (``RunTree.look_behind``).
    """

    def __init__(self, find_endings: FindEndings, state: State, behind: int, rules: TextRules) -> None:
        self.rules = rules
        self.state = state
        self.behind = behind
        self.brief: int | None = None
        self.is_looked_behind = False
        self.steps: dict[TextState, HoleStep] | None = {} if rules.few_states else None
        self._find_endings = find_endings

    @abstractmethod
    def allowed(self, text: TextState) -> Allowed:
        """Tokens by which a text goes on, and ``closing_ids``. Shared: do not change."""

    @abstractmethod
    def closing_ids(self, text: TextState) -> Sequence[int]:
        """Tokens that hold the rest of a text and an ending."""

    @abstractmethod
    def closed(self, text: TextState, data: bytes) -> Iterator[Opening]:
        """The places that a token with these bytes leads to, if it closes the text."""

    def fixed_endings(self) -> Endings:
        """Those of ``endings_at`` that do not depend on what the text says."""
        return {}

    @abstractmethod
    def endings_at(self, end: TextState) -> Endings:
        """Beginnings of what follows a text that ends here, each with the places that they lead to."""

    @abstractmethod
    def first_ids(self, prefix: bytes) -> frozenset[int]:
        """Tokens that begin with ``prefix`` and go on into the text, or through it into what follows."""


class HolePlace(TextPlace):
    """A text that ends in the same ways whatever it says; ``closing``: a memo of the token limit's."""

    closing: ClosingCosts | None = None
    _endings: Endings | None = None
    _sorted: tuple[bytes, ...] | None = None

    def __init__(self, find_endings: FindEndings, state: State, behind: int, rules: TextRules) -> None:
        super().__init__(find_endings, state, behind, rules)
        self._allowed: dict[TextState, Allowed] = {}

    @property
    def endings(self) -> Endings:
        """Beginnings of what follows, each with the places that they lead to."""
        if self._endings is None:
            self._endings = self._find_endings(self.state, self.behind)
        return self._endings

    def fixed_endings(self) -> Endings:
        """All."""
        return self.endings

    def allowed(self, text: TextState) -> Allowed:
        """Tokens by which a text goes on, and ``closing_ids``."""
        known = self._allowed.get(text) if self.steps is not None else None
        if known is None:
            if self._sorted is None:
                self._sorted = tuple(sorted(self.endings))
            known = self.rules.allowed(text, self._sorted)
            if self.steps is not None:
                self._allowed[text] = known
        return known

    def closing_ids(self, text: TextState) -> Sequence[int]:
        """Tokens that hold the rest of a text and an ending."""
        return [i for ending in self.endings for i in self.rules.closing(text, ending)]

    def closed(self, text: TextState, data: bytes) -> Iterator[Opening]:
        """The places that a token with these bytes leads to, if it closes the text."""
        for ending, openings in self.endings.items():
            if data.endswith(ending):
                end = self.rules.walk(text, data[: len(data) - len(ending)])
                if end is not None and self.rules.complete(end):
                    yield from openings

    def endings_at(self, end: TextState) -> Endings:
        """Beginnings of what follows."""
        return self.endings

    def first_ids(self, prefix: bytes) -> frozenset[int]:
        """Tokens that begin with ``prefix`` and go on into the text, or through it into what follows."""
        return self.rules.first_ids(prefix, tuple(sorted(self.endings)))
