"""Which tokens run in one verify step: policies and the session's seam as they see it."""

from factorspec_server.drafting.policy import (
    DEFAULT_CHAIN_WIDTH,
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

__all__ = [
    "DEFAULT_CHAIN_WIDTH",
    "Allowed",
    "Certain",
    "Chain",
    "Choice",
    "DraftingPolicy",
    "Guess",
    "GuessPolicy",
    "Off",
    "Plan",
    "PolicyName",
    "Position",
    "Session",
    "SessionState",
    "drafting_policy",
    "lowest_allowed",
]
