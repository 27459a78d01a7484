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
from factorspec_server.drafting.seam import Allowed, Choice, GuessPolicy, Plan, Session, SessionState

__all__ = [
    "DEFAULT_CHAIN_WIDTH",
    "Allowed",
    "Certain",
    "Chain",
    "Choice",
    "DraftingPolicy",
    "GuessPolicy",
    "Off",
    "Plan",
    "PolicyName",
    "Session",
    "SessionState",
    "drafting_policy",
    "lowest_allowed",
]
