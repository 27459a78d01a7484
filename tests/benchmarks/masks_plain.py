"""Schemas without relations, in families as people send them; records are sampled from the schema."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from enum import Enum
from functools import partial
from random import Random
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

import factorspec_sdk as fs
from tests.benchmarks.masks_samples import value
from tests.benchmarks.masks_workload import Options, Schema, Task, Workload


class Contact(BaseModel):
    """Free strings only."""

    name: str
    company: str
    city: str
    remark: str


class Review(BaseModel):
    """A text and a verdict."""

    title: Annotated[str, Field(max_length=80)]
    verdict: Literal["positive", "neutral", "negative"]
    text: str


class Summary(BaseModel):
    """What a summariser answers."""

    headline: str
    summary: str
    language: str
    confidence: float


class Address(BaseModel):
    """Where."""

    street: str
    city: str
    country: Literal["DE", "ES", "FR", "JP", "US"]


class Line(BaseModel):
    """One line of an order."""

    article: str
    quantity: Annotated[int, Field(ge=1, le=999)]
    price: float


class Order(BaseModel):
    """Nested objects, a bounded list."""

    customer: str
    address: Address
    lines: Annotated[list[Line], Field(min_length=1, max_length=10)]
    paid: bool


class Article(BaseModel):
    """Lists without bounds."""

    title: str
    tags: list[str]
    sections: list[Address]


class Person(BaseModel):
    """An extraction with lists of objects."""

    name: str
    emails: Annotated[list[str], Field(max_length=5)]
    addresses: Annotated[list[Address], Field(max_length=3)]


class Colour(Enum):
    """A choice."""

    RED = "red"
    GREEN = "green"
    BLUE = "blue"


class Settings(BaseModel):
    """No text at all."""

    colour: Colour
    bold: bool
    size: Annotated[int, Field(ge=6, le=96)]
    weight: Annotated[int, Field(ge=100, le=900, multiple_of=100)]
    visible: bool


class Measurement(BaseModel):
    """Numbers."""

    sensor: Annotated[int, Field(ge=0, le=99_999)]
    count: int
    value: float
    unit: Literal["celsius", "kelvin", "fahrenheit"]
    error: float


class Payment(BaseModel):
    """Large bounded numbers."""

    cents: Annotated[int, Field(ge=0, le=10_000_000)]
    account: Annotated[int, Field(ge=1_000_000, le=9_999_999)]
    method: Literal["card", "transfer", "cash"]
    day: Annotated[int, Field(ge=1, le=31)]
    minute: Annotated[int, Field(ge=0, le=1_439)]


class Profile(BaseModel):
    """Nullable fields with defaults."""

    name: str
    nickname: str | None = None
    age: Annotated[int, Field(ge=0, le=130)] | None = None
    newsletter: bool = False
    about: str | None = None


class Event(BaseModel):
    """Formats."""

    id: UUID
    day: datetime.date
    created: datetime.datetime
    title: str


class Product(BaseModel):
    """Patterns."""

    code: Annotated[str, Field(pattern=r"^[A-Z]{2}-\d{4}$")]
    slug: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    colour: Annotated[str, Field(pattern=r"^#[0-9a-f]{6}$")]
    name: str


class Caller(BaseModel):
    """A pattern and a format."""

    phone: Annotated[str, Field(pattern=r"^\+[1-9]\d{6,14}$")]
    email: Annotated[str, Field(json_schema_extra={"format": "email"})]
    note: str


_LONG: dict[str, Any] = {"type": "string", "maxLength": 100_000, "x-about": 600}
_SHORT: dict[str, Any] = {"type": "string", "maxLength": 2_000, "x-about": 200}
_RAW: dict[str, dict[str, Schema]] = {
    "optional": {
        "ticket": {
            "subject": {"type": "string"},
            "priority": {"enum": ["low", "normal", "high"]},
            "assignee": {"type": "string"},
            "hours": {"type": "integer", "minimum": 0, "maximum": 80},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 4},
        },
        "search": {
            "query": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
            "sort": {"enum": ["date", "price", "relevance"]},
            "in_stock": {"type": "boolean"},
        },
    },
    "long": {
        "letter": {"subject": {"type": "string", "maxLength": 200}, "body": _LONG},
        "essay": {"title": {"type": "string", "maxLength": 100}, "abstract": _SHORT, "text": _LONG},
    },
}
_MODELS: dict[str, tuple[type[BaseModel], ...]] = {
    "flat": (Contact, Review, Summary),
    "nested": (Order, Article, Person),
    "numbers": (Settings, Measurement, Payment),
    "optional": (Profile,),
    "formats": (Event, Product, Caller),
}


def workloads() -> list[Workload]:
    """One for each family."""
    names = dict.fromkeys([*_MODELS, *_RAW])
    return [Workload(f"plain_{name}", False, partial(_read, name)) for name in names]


def _read(family: str, options: Options) -> Sequence[Task]:
    tasks = [_task(model.__name__, fs.document(model)) for model in _MODELS.get(family, ())]
    tasks += [_task(name, _raw(properties)) for name, properties in _RAW.get(family, {}).items()]
    return tasks[: options.limit]


def _raw(properties: dict[str, Schema]) -> Schema:
    """A schema by hand; only the first field is required."""
    required = list(properties)[: 1 if len(properties) > 3 else None]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _task(name: str, schema: Any) -> Task:
    def record(number: int) -> Any:
        return value(schema, Random(f"{name} {number}"), schema)

    return Task(name, _without_about(schema), record)


def _without_about(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _without_about(part) for key, part in schema.items() if key != "x-about"}
    return [_without_about(part) for part in schema] if isinstance(schema, list) else schema
