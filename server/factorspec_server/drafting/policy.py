"""Drafting policies: how many tokens of a plan run in one verify step.

A policy changes how often the model runs, never what is written (P3): every token that is not certain is
sampled under the full mask with noise that depends on its position alone, and a guess stands only if it
equals the token sampled in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, assert_never

from factorspec_sdk.decoding import Earlier
from factorspec_sdk.tokens import Vocabulary
from factorspec_server.drafting.cost import StepCost
from factorspec_server.drafting.seam import Allowed, Guess, GuessPolicy, Plan, Position, Session, one_choice
from factorspec_server.drafting.tree import Tree, TreeOptions

PolicyName = Literal["off", "certain", "chain", "branches", "text", "tree"]

DEFAULT_WIDTH = 32
PATIENCE_S = 0.002
"""Seconds after which no more is guessed in a plan; a step of a small model takes several times as long."""


def lowest_allowed(position: Position, /) -> Sequence[Guess]:
    """Guess the lowest allowed token; none in free text, where that is hardly ever right."""
    return () if position.free else (Guess(int(position.allowed.ids()[0]), 1.0),)


@dataclass(frozen=True, slots=True)
class Off:
    """One token for each model step, certain ones included: the reference path that the others must equal."""

    def plan(self, session: Session) -> Plan:
        """The next token only, put as a choice among one where it is certain."""
        plan = session.plan()
        if plan.tokens:
            return one_choice(Allowed.of(plan.tokens[:1]))
        return plan


@dataclass(frozen=True, slots=True)
class Certain:
    """Certain runs cost no step of their own; the model runs at choice points only."""

    def plan(self, session: Session) -> Plan:
        """The whole certain run and the choice that follows it."""
        return session.plan()


@dataclass(frozen=True, slots=True)
class Chain:
    """Certain runs, and behind each choice a guess with the run that it makes certain, verified in one step.

    Attributes:
        width: most tokens drafted behind the certain run: guesses and what they make certain.
        guesses: proposes tokens at choice points.
    """

    width: int = DEFAULT_WIDTH
    guesses: GuessPolicy = lowest_allowed

    def __post_init__(self) -> None:
        if self.width < 1:
            raise ValueError(f"width must be at least 1, got {self.width!r}")

    def plan(self, session: Session) -> Plan:
        """The certain run, and a chain of at most ``width`` tokens behind it."""
        return session.plan(width=self.width, guesses=self.guesses)


class DraftingPolicy(Protocol):
    """Makes the plans of one request. Those that keep notes of it (``Tree``) are for that request alone."""

    def plan(self, session: Session) -> Plan:
        """What to run next."""


def drafting_policy(
    name: PolicyName,
    vocabulary: Vocabulary,
    prompt_ids: Sequence[int],
    *,
    width: int = DEFAULT_WIDTH,
    cost: StepCost | None = None,
    patience_s: float | None = PATIENCE_S,
    breadth: int | None = None,
    places: int | None = None,
    earlier: Earlier | None = None,
) -> DraftingPolicy:
    """The policy of that name for a request.

    Args:
        name: ``branches`` drafts choices between values, ``text`` free text, ``tree`` both.
        vocabulary: the model's tokens.
        prompt_ids: of the request.
        width: most tokens drafted behind a certain run; ``off`` and ``certain`` draft none.
        cost: seconds of a step by its tokens, for ``branches``, ``text`` and ``tree``; None: all that the
            width has room for is worth running.
        patience_s: seconds after which they guess no more in a plan; None: however long it takes.
        breadth: most guesses at one position, for these; 1 makes chains.
        places: most positions of one plan that are guessed, for these.
        earlier: what records of the spec wrote before, for these to guess from.
    """
    match name:
        case "off":
            return Off()
        case "certain":
            return Certain()
        case "chain":
            return Chain(width=width)
        case "branches" | "text" | "tree":
            options = TreeOptions(
                branches=name != "text",
                text=name != "branches",
                breadth=breadth,
                places=places,
                width=width,
                cost=cost,
                patience_s=patience_s,
            )
            return Tree(options, vocabulary, prompt_ids, earlier)
        case _:
            assert_never(name)
