"""The client: a valid, typed record from a server or from an engine in this process.

Over HTTP it sends through the ``openai`` package (extra ``client``); importing this package does not need it.
"""

from factorspec_sdk.client.answer_errors import IncompleteAnswer, InvalidAnswer, UnenforcedAnswer
from factorspec_sdk.client.async_client import AsyncClient
from factorspec_sdk.client.client import Client
from factorspec_sdk.client.many import Failure
from factorspec_sdk.client.option_values import Drafting, Fallback, Strategy
from factorspec_sdk.client.partial import Partial
from factorspec_sdk.client.planning import CallPlan, PlannedStep
from factorspec_sdk.client.prompting import Prompting, rules_of
from factorspec_sdk.client.result import (
    DraftReport,
    GoalReport,
    Origin,
    RelationReport,
    Report,
    Result,
    Route,
    TextFilterReport,
)
from factorspec_sdk.client.streaming import AsyncRecordStream, RecordStream
from factorspec_sdk.client.tool_calls import ToolAnswer, ToolCall
from factorspec_sdk.client.transport import AsyncTransport, Transport
from factorspec_sdk.errors import Attempt, Usage

__all__ = [
    "AsyncClient",
    "AsyncRecordStream",
    "AsyncTransport",
    "Attempt",
    "CallPlan",
    "Client",
    "DraftReport",
    "Drafting",
    "Failure",
    "Fallback",
    "GoalReport",
    "IncompleteAnswer",
    "InvalidAnswer",
    "Origin",
    "Partial",
    "PlannedStep",
    "Prompting",
    "RecordStream",
    "RelationReport",
    "Report",
    "Result",
    "Route",
    "Strategy",
    "TextFilterReport",
    "ToolAnswer",
    "ToolCall",
    "Transport",
    "UnenforcedAnswer",
    "Usage",
    "rules_of",
]
