"""Where the factor graph, JSON text and the vocabulary meet: decoder, session and plan, the engines' seam."""

from factorspec_sdk.decoding.decoder import Decoder
from factorspec_sdk.decoding.plan import Choice, DraftKind, GuessPolicy, Plan
from factorspec_sdk.decoding.report import Origin, Report
from factorspec_sdk.decoding.session import OnBudget, Session, SessionState

__all__ = [
    "Choice",
    "Decoder",
    "DraftKind",
    "GuessPolicy",
    "OnBudget",
    "Origin",
    "Plan",
    "Report",
    "Session",
    "SessionState",
]
