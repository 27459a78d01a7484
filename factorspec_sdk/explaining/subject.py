"""What explanations are asked about: a spec or a model, a JSON record or an instance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from factorspec_sdk import records
from factorspec_sdk.errors import DeclarationError, JsonValue, Problem, RecordError, shown
from factorspec_sdk.wire.spec import Spec

SpecLike = Spec | type[BaseModel]
#: a JSON object, or an instance
RecordLike = Mapping[str, object] | BaseModel


def spec_of(subject: SpecLike) -> Spec:
    """The spec itself, or that of a model.

    Raises:
        DeclarationError: neither a spec nor a model.
        FactorspecError: as ``records.spec``, for models.
    """
    return subject if isinstance(subject, Spec) else records.spec(model_of(subject))


def model_of(subject: object) -> type[BaseModel]:
    """The subject, which is a model.

    Raises:
        DeclarationError: it is none.
    """
    if isinstance(subject, type) and issubclass(subject, BaseModel):
        return subject
    hint = "give the model class (bound, if it has parameters), or a spec: fs.spec(Model)"
    raise DeclarationError("not a model", [Problem("", "is no Pydantic model", shown(subject), hint)])


def record_of(record: RecordLike) -> dict[str, JsonValue]:
    """The JSON record; an instance, even one made by ``model_construct``, as it would be sent.

    Raises:
        RecordError: this is no record.
    """
    if isinstance(record, BaseModel):
        found: dict[str, JsonValue] = record.model_dump(mode="json", by_alias=True, warnings=False)
        return found
    given: object = record
    if not isinstance(given, Mapping):
        hint = "a dict or an instance is needed; json.loads reads a text"
        raise RecordError("this is no record", [Problem("", "must be an object", shown(given), hint)])
    return cast("dict[str, JsonValue]", json_of(dict(given)))


def json_of(value: object) -> JsonValue:
    """A value as it would be sent: dates, decimals, enum members and models as JSON.

    What has no such form stays as it is: it is told as a value that does not fit.
    """
    try:
        return cast("JsonValue", to_jsonable_python(value, by_alias=True))
    except (PydanticSerializationError, ValueError):
        return cast("JsonValue", value)
