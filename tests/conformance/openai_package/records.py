"""Records that the tests ask for, as people declare them who have Pydantic and ``openai`` alone."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Size(Enum):
    """Of a parcel."""

    SMALL = "S"
    LARGE = "L"


class Line(BaseModel):
    """Of an order."""

    article: Literal["pen", "book", "lampe für 東京"]
    count: Annotated[int, Field(ge=1, le=9)]


class Order(BaseModel):
    """What pydantic writes for nested models, enums, unions and lists."""

    lines: Annotated[list[Line], Field(min_length=1, max_length=2)]
    size: Size
    express: bool
    voucher: Annotated[int, Field(ge=10, le=19)] | None
    note: Annotated[str, Field(max_length=8)]


class Stay(BaseModel):
    """Days that agree with each other, by the vendor key."""

    model_config = ConfigDict(
        json_schema_extra={
            "x-factorspec": {
                "version": 1,
                "relations": [
                    {
                        "name": "nights",
                        "kind": "intension",
                        "expr": {
                            "op": "eq",
                            "args": [
                                {"op": "sub", "args": [{"ref": "$.leave"}, {"ref": "$.arrive"}]},
                                {"ref": "$.nights"},
                            ],
                        },
                    },
                    {"name": "two cities", "kind": "all_different", "over": ["$.start", "$.end"]},
                ],
            }
        }
    )

    start: Literal["Oslo", "Rome", "Köln"]
    end: Literal["Oslo", "Rome", "Köln"]
    arrive: Annotated[int, Field(ge=1, le=28)]
    leave: Annotated[int, Field(ge=1, le=28)]
    nights: Annotated[int, Field(ge=1, le=7)]


def asked(schema: dict[str, Any]) -> dict[str, Any]:
    """The ``response_format`` for a JSON Schema."""
    return {"type": "json_schema", "json_schema": {"name": "record", "schema": schema, "strict": True}}


STAY_SCHEMA: dict[str, Any] = Stay.model_json_schema() | {"additionalProperties": False}
