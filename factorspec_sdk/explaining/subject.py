"""What explanations are asked about: a spec or a model, a JSON record or an instance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from pydantic import BaseModel

from factorspec_sdk import records
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.wire.spec import Spec

SpecLike = Spec | type[BaseModel]
#: a JSON object, or an instance
RecordLike = Mapping[str, object] | BaseModel


def spec_of(subject: SpecLike) -> Spec:
    """The spec itself, or that of a model.

    Raises:
        FactorspecError: as ``records.spec``, for models.
    """
    return subject if isinstance(subject, Spec) else records.spec(subject)


def record_of(record: RecordLike) -> dict[str, JsonValue]:
    """The JSON record; an instance, even one made by ``model_construct``, as it would be sent."""
    if isinstance(record, BaseModel):
        found: dict[str, JsonValue] = record.model_dump(mode="json", by_alias=True, warnings=False)
        return found
    return cast("dict[str, JsonValue]", dict(record))  # what is no JSON is told as a value that does not fit
