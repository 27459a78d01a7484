"""The client: a valid, typed record from a server or from an engine in this process.

Over HTTP it sends through the ``openai`` package (extra ``client``); importing this package does not need it.
"""

from factorspec_sdk.client.answer_errors import IncompleteAnswer, InvalidAnswer, UnenforcedAnswer
from factorspec_sdk.client.client import AsyncClient, Client
from factorspec_sdk.client.result import (
    DraftReport,
    GoalReport,
    Origin,
    RelationReport,
    Report,
    Result,
    TextFilterReport,
    Usage,
)
from factorspec_sdk.client.transport import Transport

__all__ = [
    "AsyncClient",
    "Client",
    "DraftReport",
    "GoalReport",
    "IncompleteAnswer",
    "InvalidAnswer",
    "Origin",
    "RelationReport",
    "Report",
    "Result",
    "TextFilterReport",
    "Transport",
    "UnenforcedAnswer",
    "Usage",
]
