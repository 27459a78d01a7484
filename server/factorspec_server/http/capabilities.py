"""What this server enforces, as ``/v1/models`` tells it."""

from __future__ import annotations

from dataclasses import asdict
from typing import get_args

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.relations import Relation
from factorspec_sdk.wire import Limits
from factorspec_sdk.wire.vendor import VERSION
from factorspec_server.http.kept import SessionService
from factorspec_server.http.served_model import ServedModel
from factorspec_server.http.tool_request import MOST_TOOLS
from factorspec_server.settings import ServerSettings
from factorspec_server.version import distribution_version


def relation_kinds() -> tuple[str, ...]:
    """Names of the relation kinds, sorted."""
    union = get_args(Relation)[0]
    return tuple(sorted(kind.model_fields["kind"].default for kind in get_args(union)))


def enforced() -> dict[str, JsonValue]:
    """What every engine of this version enforces."""
    return {
        "version": distribution_version(),
        "sdk_version": distribution_version(),
        "wire_versions": [VERSION],
        "enforced": {
            "json_schema": True,
            "relation_kinds": [*relation_kinds()],
            "objective": True,
            "response_formats": ["json_schema", "text"],
            "tools": True,
            "tool_choices": ["none", "auto", "required", "function", "allowed_tools"],
            "refusal": True,
        },
    }


def capabilities(
    served: ServedModel, settings: ServerSettings, service: SessionService | None = None
) -> dict[str, JsonValue]:
    """The ``factorspec`` object of a model; ``service``: keeps its records, None: nobody else does."""
    model, budgets = served.engine.model, settings.budgets
    return {
        **enforced(),
        "vocabulary": served.canonical.vocabulary.hash,
        "max_positions": model.max_positions,
        "drafting": _drafting(served, settings),
        "constraint_service": {"workers": 0} if service is None else service.facts(),
        "limits": {
            "body_bytes": budgets.body_bytes,
            "default_tokens": budgets.default_tokens,
            "tools": MOST_TOOLS,
            "parallel_calls": budgets.parallel_calls,
            "choices": min(budgets.choices, served.engine.max_waiting),
            **asdict(Limits()),
        },
    }


def _drafting(served: ServedModel, settings: ServerSettings) -> dict[str, JsonValue]:
    """What is drafted, and what a step was measured to cost, in seconds by tokens."""
    points = () if served.costs is None else served.costs.points
    return {
        "policy": settings.drafting,
        "width": settings.width,
        "earlier": served.earlier,
        "trees": served.engine.model.takes_trees,
        "step_s": {str(num_tokens): round(seconds, 6) for num_tokens, seconds in points},
    }
