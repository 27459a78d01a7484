"""What Pydantic v2 writes as JSON Schema goes through, or is refused by name."""

import datetime
import enum
import ipaddress
import uuid
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, RootModel

from factorspec_sdk.errors import UnsupportedKeyword
from factorspec_sdk.wire import parse_document
from factorspec_sdk.wire.schema import (
    ArrayNode,
    FiniteNode,
    FreeNode,
    NullableNode,
    ObjectNode,
    TextNode,
    UnionNode,
)


class Color(enum.Enum):
    """A documented enum."""

    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Address(BaseModel):
    """Where."""

    city: str = Field(description="the city", examples=["Rome"])
    zip: Annotated[str, Field(pattern="^[0-9]{5}$", title="ZIP")]


class Node(BaseModel):
    value: int
    children: list["Node"]


class Linked(BaseModel):
    value: Literal["a", "b"]
    next: "Linked | None" = None


class Alias(BaseModel):
    inner: Annotated[int, Field(alias="in", ge=0, le=3)]


FIELDS: dict[str, tuple[Any, type]] = {
    "literal": (Literal["x", "y"], FiniteNode),
    "one_literal": (Literal["x"], FiniteNode),
    "mixed_literal": (Literal["x", 1, True, None], FiniteNode),
    "enum": (Color, FiniteNode),
    "int_enum": (Level, FiniteNode),
    "optional_enum": (Color | None, FiniteNode),
    "flag": (bool, FiniteNode),
    "optional_flag": (bool | None, FiniteNode),
    "nothing": (None, FiniteNode),
    "bounded": (Annotated[int, Field(ge=1, lt=9, multiple_of=2)], FiniteNode),
    "optional_bounded": (Annotated[int, Field(ge=0, le=3)] | None, FiniteNode),
    "outer_optional_bounded": (Annotated[int | None, Field(ge=0, le=3)], FiniteNode),
    "integer": (int, FreeNode),
    "half_bounded": (Annotated[int, Field(ge=0)], FreeNode),
    "optional_integer": (int | None, NullableNode),
    "number": (float, FreeNode),
    "share": (Annotated[float, Field(ge=0, le=1)], FreeNode),
    "text": (str, TextNode),
    "short_text": (Annotated[str, Field(min_length=1, max_length=20)], TextNode),
    "optional_text": (str | None, NullableNode),
    "pattern": (Annotated[str, Field(pattern=r"^[A-Z]{2}\d{3}$")], TextNode),
    "date": (datetime.date, TextNode),
    "time": (datetime.time, TextNode),
    "moment": (datetime.datetime, TextNode),
    "unique": (uuid.UUID, TextNode),
    "address_v4": (ipaddress.IPv4Address, TextNode),
    "model": (Address, ObjectNode),
    "optional_model": (Address | None, NullableNode),
    "described_model": (Annotated[Address, Field(description="with a sibling", title="T")], ObjectNode),
    "aliased": (Alias, ObjectNode),
    "tree": (Node, ObjectNode),
    "chain": (Linked, ObjectNode),
    "list": (list[str], FreeNode),
    "list_of_models": (list[Address], FreeNode),
    "bounded_list": (Annotated[list[int], Field(min_length=1, max_length=5)], ArrayNode),
    "list_of_bounded_texts": (
        Annotated[list[Annotated[str, Field(max_length=5)]], Field(max_length=300)],
        ArrayNode,
    ),
    "long_list": (Annotated[list[Address], Field(max_length=300)], FreeNode),
    "nested_lists": (
        Annotated[list[Annotated[list[bool], Field(max_length=2)]], Field(max_length=2)],
        ArrayNode,
    ),
    "union": (int | str, UnionNode),
    "union_with_null": (int | str | None, NullableNode),
    "union_of_values": (Literal["a", 1] | Annotated[int, Field(ge=5, le=7)] | None, FiniteNode),
    "union_with_a_wide_range": (Annotated[int, Field(ge=0, le=10**6)] | Literal["all"], UnionNode),
    "wide_optional_integer": (Annotated[int, Field(ge=0, le=10**6)] | None, UnionNode),
    "union_of_models": (Address | list[int], UnionNode),
    "anything": (Any, FreeNode),
    "dictionary": (dict[str, int], FreeNode),
    "tuple": (tuple[int, str], FreeNode),
    "duration": (datetime.timedelta, FreeNode),
    "address_v6": (ipaddress.IPv6Address, FreeNode),
    "texts_in_an_open_list": (list[Annotated[str, Field(max_length=5)]], FreeNode),
    "plain_list": (list[Any], FreeNode),
    "step": (Annotated[float, Field(multiple_of=0.5)], FreeNode),
    "root_model": (RootModel[Literal[1, 2]], FiniteNode),
}
REFUSED: dict[str, tuple[Any, str]] = {
    "set": (set[int], "/uniqueItems"),
    "bytes": (bytes, "/format"),
}


def model(annotation: Any, default: Any = ...) -> dict[str, Any]:
    from pydantic import create_model

    return create_model("Model", field=(annotation, default)).model_json_schema()


@pytest.mark.parametrize("name", FIELDS)
def test_fields_are_read_as(name: str) -> None:
    annotation, expected = FIELDS[name]
    spec = parse_document(model(annotation))
    (known,) = spec.root.properties
    assert isinstance(known.node, expected)
    assert known.required
    assert parse_document(spec.document) == spec


@pytest.mark.parametrize(
    "name", [n for n in FIELDS if "list" not in n and n not in ("nothing", "tree", "chain")]
)
def test_fields_with_defaults_may_be_absent(name: str) -> None:
    schema = model(FIELDS[name][0], None)
    (known,) = parse_document(schema).root.properties
    assert not known.required


@pytest.mark.parametrize("name", REFUSED)
def test_fields_that_are_refused(name: str) -> None:
    annotation, place = REFUSED[name]
    with pytest.raises(UnsupportedKeyword) as caught:
        parse_document(model(annotation))
    assert "/properties/field" + place in [problem.place for problem in caught.value.problems]


def test_a_recursive_model_is_a_record() -> None:
    spec = parse_document(Linked.model_json_schema())
    value, following = (known.node for known in spec.root.properties)
    assert isinstance(value, FiniteNode)
    assert isinstance(following, NullableNode) and isinstance(following.inner, FreeNode)
    assert following.inner.schema["$ref"] == "#/$defs/d0"


def test_aliases_are_the_names() -> None:
    assert [known.name for known in parse_document(Alias.model_json_schema()).root.properties] == ["in"]


def test_serialization_schemas_are_read_too() -> None:
    parse_document(Linked.model_json_schema(mode="serialization"))
