"""Records that are still being written: the committed fields of a JSON text that has not ended.

::

    {"city": "Oslo", "nights": 1        city is committed; nights may become 12
    {"city": "Oslo", "nights": 1, "n    city and nights are
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Generic, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import from_json

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.records.shapes import keys_of
from factorspec_sdk.wire import Spec
from factorspec_sdk.wire.schema import FiniteNode, ObjectNode

T = TypeVar("T", bound=BaseModel)

# What numbers, true, false and null are written with: at the end of a text they may go on.
_OPEN = "0123456789+-.eEtrufalsn"


@dataclass(frozen=True, slots=True)
class Partial(Generic[T]):
    """A record that is being written.

    Attributes:
        value: an instance that holds the committed fields alone; the others raise ``AttributeError``. Its
            relations and validators have not run: the result's have.
        text: what is written so far.
        certain: paths of fields that ``value`` holds although they are not written yet, since their domain
            has one value.
    """

    value: T
    text: str
    certain: tuple[str, ...] = ()


def committed(text: str) -> dict[str, JsonValue]:
    """The parts of a JSON object's text that cannot change any more, whatever is written after it.

    None of a text that begins no object.
    """
    try:
        found = from_json(text.rstrip(_OPEN), allow_partial=True)
    except ValueError:
        return {}
    return cast("dict[str, JsonValue]", found) if isinstance(found, dict) else {}


class PartialReader(Generic[T]):
    """Makes the partial records of one stream."""

    def __init__(self, record: type[T], spec: Spec) -> None:
        self._record = record
        self._certain = dict(_single_values(spec.root, ()))

    def read(self, text: str) -> Partial[T]:
        """The partial record of a text that begins valid records."""
        data = committed(text)
        ahead = [path for path, value in self._certain.items() if _put(data, path, value)]
        value = partial_model(self._record, data)
        return Partial(value, text, tuple(".".join(path) for path in ahead))


def _single_values(node: ObjectNode, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    """Fields that every record has, and that have one value; inside lists and unions there are none."""
    for prop in node.properties:
        here = (*path, prop.name)
        if not prop.required:
            continue
        if isinstance(prop.node, ObjectNode):
            yield from _single_values(prop.node, here)
        elif isinstance(prop.node, FiniteNode) and len(prop.node.domain) == 1:
            yield here, json.loads(prop.node.domain.text(0))


def _put(data: dict[str, JsonValue], path: tuple[str, ...], value: JsonValue) -> bool:
    """Put a value where there is none; says whether it did."""
    for name in path[:-1]:
        inner = data.setdefault(name, {})
        if not isinstance(inner, dict):  # a server that does not enforce the spec
            return False
        data = inner
    if path[-1] in data:
        return False
    data[path[-1]] = value
    return True


def partial_model(model: type[T], data: Mapping[str, JsonValue]) -> T:
    """An instance with the fields that the data hold; those that do not fit are left out."""
    values = dict[str, Any]()
    for name, key in keys_of(model).items():
        if key in data:
            for value in _typed(model.model_fields[name].annotation, data[key]):
                values[name] = value
    instance = model.model_construct(set(values))
    instance.__dict__.clear()  # defaults are not committed
    instance.__dict__.update(values)
    return instance


def _typed(annotation: object, data: JsonValue) -> tuple[Any, ...]:
    """The value of the annotated type, or none. Objects and lists may be incomplete."""
    if isinstance(data, dict) and (model := _model_in(annotation)) is not None:
        return (partial_model(model, data),)
    if isinstance(data, list) and get_origin(_bare(annotation)) is list:
        (item,) = get_args(_bare(annotation))
        return ([value for one in data for value in _typed(item, one)],)
    adapter: TypeAdapter[Any] = TypeAdapter(cast(Any, annotation))
    try:
        return (adapter.validate_json(json.dumps(data)),)
    except ValidationError:
        return ()


def _bare(annotation: object) -> object:
    """The type without what ``Annotated`` and ``Optional`` add."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, UnionType):
        arms = [arm for arm in get_args(annotation) if arm is not type(None)]
        return _bare(arms[0]) if len(arms) == 1 else annotation
    return annotation


def _model_in(annotation: object) -> type[BaseModel] | None:
    bare = _bare(annotation)
    return bare if isinstance(bare, type) and issubclass(bare, BaseModel) else None
