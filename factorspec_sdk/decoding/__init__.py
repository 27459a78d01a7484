"""Where the factor graph, JSON text and the vocabulary meet: decoder, session and plan, the engines' seam.

``examples/engine_session.py`` goes the whole way of an engine: from a document to a ``Decoder``, a session,
and its loop of plan, row and commit.
"""

from factorspec_sdk.decoding.canonical_session import CanonicalSession
from factorspec_sdk.decoding.decoder import Decoder
from factorspec_sdk.decoding.earlier import Earlier
from factorspec_sdk.decoding.plan import Choice, DraftKind, Guess, GuessPolicy, Plan, Position, Shape
from factorspec_sdk.decoding.report import Origin, Report
from factorspec_sdk.decoding.row_filling import fill_rows
from factorspec_sdk.decoding.session import Session
from factorspec_sdk.decoding.standing import OnBudget, SessionState

__all__ = [
    "CanonicalSession",
    "Choice",
    "Decoder",
    "DraftKind",
    "Earlier",
    "Guess",
    "GuessPolicy",
    "OnBudget",
    "Origin",
    "Plan",
    "Position",
    "Report",
    "Session",
    "SessionState",
    "Shape",
    "fill_rows",
]
