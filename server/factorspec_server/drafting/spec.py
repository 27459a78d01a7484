"""What a server drafts, as plain data: one spec for all requests, from which each gets a policy of its own.

It goes to other processes as JSON::

    {"name": "tree", "width": 64, "breadth": 1, "places": 8, "cost_points": [[1, 0.0055], [128, 0.0063]],
     "patience_s": 0.002, "earlier": true}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from factorspec_sdk.decoding import Earlier
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.tokens import Vocabulary
from factorspec_server.drafting.cost import CostModel, StepCost
from factorspec_server.drafting.policy import (
    DEFAULT_WIDTH,
    PATIENCE_S,
    DraftingPolicy,
    PolicyName,
    drafting_policy,
)

_MOST_POINTS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftingSpec:
    """See above.

    Attributes:
        name: of the policy; see ``drafting_policy``.
        width: most tokens drafted behind a certain run.
        breadth: most guesses at one position, 1 makes chains; None: any number (see ``TreeOptions``).
        places: most positions of one plan that are guessed; None: any number.
        cost_points: seconds of a step by tokens of one request, ascending, as in ``CostModel``; empty: all
            that there is room for is worth running.
        patience_s: seconds after which a plan guesses no more; None: however long it takes.
        earlier: what is guessed may be what earlier records of the same spec wrote, whoever asked for them.
    """

    name: PolicyName
    width: int = DEFAULT_WIDTH
    breadth: int | None = None
    places: int | None = None
    cost_points: tuple[tuple[int, float], ...] = ()
    patience_s: float | None = PATIENCE_S
    earlier: bool = True

    def __post_init__(self) -> None:
        if self.name not in get_args(PolicyName):
            names = ", ".join(get_args(PolicyName))
            raise ValueError(f"name must be one of {names}, got {self.name!r}")
        for name, value in (("width", self.width), ("breadth", self.breadth), ("places", self.places)):
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value!r}")
        if self.cost_points:
            CostModel(self.cost_points)  # checks them

    @property
    def guesses(self) -> bool:
        """True if anything but certain tokens is drafted."""
        return self.name not in ("off", "certain")

    @property
    def is_certain(self) -> bool:
        """True if plans hold what is certain and no more: by name, or since there is no time for guesses."""
        return self.name == "certain" or (self.is_of_prompt and self.patience_s == 0.0)

    @property
    def is_guessing(self) -> bool:
        """True if plans hold guesses, as far as there are any."""
        return self.guesses and not self.is_certain

    @property
    def is_of_prompt(self) -> bool:
        """True if what is drafted depends on the request's prompt."""
        return self.name in ("branches", "text", "tree")

    @property
    def remembers(self) -> bool:
        """True if finished records are remembered, since what is drafted depends on them."""
        return self.earlier and self.is_of_prompt

    @property
    def resting(self) -> DraftingSpec:
        """The same for while nothing is guessed; prompts matter as before."""
        return replace(self, patience_s=0.0) if self.is_of_prompt else DraftingSpec(name="certain")

    def policy(
        self,
        vocabulary: Vocabulary,
        prompt_ids: Sequence[int],
        earlier: Earlier | None = None,
        cost: StepCost | None = None,
    ) -> DraftingPolicy:
        """A policy for one request, which keeps notes of it. O(prompt tokens).

        Args:
            vocabulary: the model's tokens.
            prompt_ids: of the request.
            earlier: what records of its spec wrote before.
            cost: seconds of a step by its tokens; None: as ``cost_points`` say, where there are any.
        """
        if cost is None and self.cost_points:
            cost = CostModel(self.cost_points).step_s
        return drafting_policy(
            self.name,
            vocabulary,
            prompt_ids,
            width=self.width,
            cost=cost,
            patience_s=self.patience_s,
            breadth=self.breadth,
            places=self.places,
            earlier=earlier if self.remembers else None,
        )

    def as_json(self) -> dict[str, JsonValue]:
        """What ``from_json`` reads."""
        return {
            "name": self.name,
            "width": self.width,
            "breadth": self.breadth,
            "places": self.places,
            "cost_points": [[tokens, seconds] for tokens, seconds in self.cost_points],
            "patience_s": self.patience_s,
            "earlier": self.earlier,
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> DraftingSpec:
        """From what ``as_json`` wrote.

        Raises:
            ValueError: it is none.
        """
        try:
            points = tuple((int(tokens), float(seconds)) for tokens, seconds in found["cost_points"])
            sizes = [None if found[name] is None else int(found[name]) for name in ("breadth", "places")]
            if len(points) > _MOST_POINTS:
                raise ValueError(f"cost_points must be at most {_MOST_POINTS}, got {len(points)}")
            return cls(
                name=found["name"],
                width=int(found["width"]),
                breadth=sizes[0],
                places=sizes[1],
                cost_points=points,
                patience_s=None if found["patience_s"] is None else float(found["patience_s"]),
                earlier=bool(found["earlier"]),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"no drafting spec: {dict(found)!r}") from error
