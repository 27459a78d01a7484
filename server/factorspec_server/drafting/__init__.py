"""Which tokens run in one verify step: policies and the session's seam as they see it."""

from factorspec_server.drafting.cost import CostModel, StepCost, best_size
from factorspec_server.drafting.policy import (
    DEFAULT_WIDTH,
    PATIENCE_S,
    Certain,
    Chain,
    DraftingPolicy,
    Off,
    PolicyName,
    drafting_policy,
    lowest_allowed,
)
from factorspec_server.drafting.seam import (
    Allowed,
    Choice,
    Guess,
    GuessPolicy,
    Plan,
    Position,
    Session,
    SessionState,
)
from factorspec_server.drafting.spec import DraftingSpec
from factorspec_server.drafting.tree import Tree, TreeOptions

__all__ = [
    "DEFAULT_WIDTH",
    "PATIENCE_S",
    "Allowed",
    "Certain",
    "Chain",
    "Choice",
    "CostModel",
    "DraftingPolicy",
    "DraftingSpec",
    "Guess",
    "GuessPolicy",
    "Off",
    "Plan",
    "PolicyName",
    "Position",
    "Session",
    "SessionState",
    "StepCost",
    "Tree",
    "TreeOptions",
    "best_size",
    "drafting_policy",
    "lowest_allowed",
]
