"""What relations can see of a Pydantic field: its shape.

::

    ObjectShape   a nested model
    ListShape     a list of one shape
    ScalarShape   a value that relations compare; ``finite`` if its domain is known (or arrives with the call)
    UnionShape    one of several shapes
    FreeShape     anything else: written under a syntax mask only, no relation may touch it
    RefusedShape  a type that this version does not support, with the reason
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import AliasChoices, AliasPath, BaseModel, RootModel
from pydantic.fields import FieldInfo
from typing_extensions import TypeAliasType

from factorspec_sdk.errors import Problem, UnsupportedField
from factorspec_sdk.fields.domains import CodeType, Scalar, zone_of
from factorspec_sdk.records.bounds import Bounds, bounds_of
from factorspec_sdk.records.decimal_fields import (
    EXAMPLE,
    DecimalRange,
    decimal_places,
    decimal_range,
    listed_decimals,
    refusal,
)
from factorspec_sdk.records.domains import Between, In
from factorspec_sdk.records.moments import datetime_text, scalar_of
from factorspec_sdk.records.parameters import Param


@dataclass(frozen=True, slots=True)
class ObjectShape:
    """A nested model."""

    model: type[BaseModel]
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class ListShape:
    """A list; ``most`` None: without an upper end."""

    item: Shape
    least: int
    most: int | None
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class ScalarShape:
    """A scalar.

    code: what its values are, None where they are mixed.
    values: the values in order, where they are listed.
    bounds: of integers, dates and times.
    params: parameters that its domain waits for; not empty: finite once they are bound.
    zone: time zone of datetimes, empty for none.
    decimals: bounds and places of decimals. unwritable: why a decimal has no finite domain.
    """

    code: CodeType | None
    nullable: bool = False
    values: tuple[Scalar, ...] | None = None
    bounds: Bounds | None = None
    params: tuple[Param, ...] = ()
    zone: str = ""
    decimals: DecimalRange | None = None
    unwritable: str | None = None

    @property
    def kind(self) -> str | None:
        """The code type with the places of decimals."""
        return f"{self.code} of {self.decimals.places} places" if self.decimals is not None else self.code

    @property
    def finite(self) -> bool:
        """True if the domain is finite, now or once bound."""
        if self.values is not None or self.params:
            return True
        if self.decimals is not None:
            return self.decimals.low is not None and self.decimals.high is not None
        return self.bounds is not None and self.bounds.low is not None and self.bounds.high is not None

    @property
    def empty(self) -> bool:
        """True if no value at all is in the domain."""
        if self.params or self.nullable:
            return False
        if self.values is not None:
            return not self.values
        if self.decimals is not None:
            return self.finite and self.decimals.empty
        return self.finite and self.bounds is not None and self.bounds.empty


@dataclass(frozen=True, slots=True)
class UnionShape:
    """One of several shapes with their ``annotations``; ``tag``: the field said to tell them apart."""

    branches: tuple[Shape, ...]
    annotations: tuple[object, ...]
    tag: str | None
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class FreeShape:
    """A part that relations do not see."""

    annotation: object
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class RefusedShape:
    """A part that is refused wherever it is reached."""

    reason: str
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class OpenShape:
    """A type variable of a generic model: known once the model is parametrised."""

    nullable: bool = False


Shape = ObjectShape | ListShape | ScalarShape | UnionShape | FreeShape | RefusedShape | OpenShape


@dataclass(frozen=True, slots=True)
class FieldShape:
    """One field: its Python name, its name in the record's JSON, its shape."""

    name: str
    key: str
    shape: Shape
    info: FieldInfo


_REFUSED = {
    "timedelta": "timedelta is not supported yet; use an integer of days, minutes or seconds",
}
_REFUSED_MEMBERS = (
    "Pydantic reads no enum of dates or times from JSON; use Annotated[date, In([...])], or texts as members"
)
_CODES: dict[object, CodeType] = {
    int: "int",
    datetime.date: "date",
    datetime.time: "time",
    datetime.datetime: "datetime",
    str: "text",
}


def fields_of(model: type[BaseModel]) -> dict[str, FieldShape]:
    """The fields of a model by Python name, in declaration order."""
    keys = keys_of(model)
    return {
        name: FieldShape(name, keys[name], shape_of(info.annotation, _metadata(info)), info)
        for name, info in model.model_fields.items()
    }


def keys_of(model: type[BaseModel]) -> dict[str, str]:
    """Python name to JSON key of a model's fields.

    Raises:
        UnsupportedField: if a field has no single key, or shares it with another.
    """
    keys = {name: _key(model, name, info) for name, info in model.model_fields.items()}
    first = {key: name for name, key in reversed(keys.items())}
    problems = [
        Problem(
            f"{model.__name__}.{name}", f"{first[key]} is written under the same key", key, "rename an alias"
        )
        for name, key in keys.items()
        if first[key] != name
    ]
    if problems:
        raise UnsupportedField("fields cannot be told apart", problems)
    return keys


def shape_of(annotation: object, metadata: Sequence[object] = ()) -> Shape:
    """The shape of an annotation with the metadata that stands around it."""
    annotation, metadata = _unwrapped(annotation, tuple(metadata))
    if isinstance(annotation, TypeVar):
        return OpenShape()
    origin = get_origin(annotation)
    if origin is Union or origin is UnionType:
        return _union(annotation, metadata)
    if origin is Literal:
        return _listed(get_args(annotation), metadata)
    if origin in (list, Sequence) or (origin is tuple and get_args(annotation)[1:] == (...,)):
        bounds = bounds_of(metadata)
        item = shape_of(get_args(annotation)[0])
        return ListShape(item, bounds.least or 0, bounds.most)
    if isinstance(annotation, type):
        return _class(annotation, metadata)
    return FreeShape(annotation)


def _class(annotation: type, metadata: Sequence[object]) -> Shape:
    if annotation.__name__ in _REFUSED and annotation.__module__ in ("decimal", "datetime"):
        return RefusedShape(_REFUSED[annotation.__name__])
    if issubclass(annotation, BaseModel):
        return FreeShape(annotation) if issubclass(annotation, RootModel) else ObjectShape(annotation)
    if issubclass(annotation, Enum):
        if any(isinstance(member.value, datetime.date | datetime.time) for member in annotation):
            return RefusedShape(_REFUSED_MEMBERS)
        return _listed(tuple(annotation), metadata)
    if annotation is bool:
        return _listed((False, True), metadata)
    if annotation is Decimal:
        return _decimal(metadata)
    code = _CODES.get(annotation)
    return FreeShape(annotation) if code is None else _scalar(code, metadata)


def _scalar(code: CodeType, metadata: Sequence[object]) -> Shape:
    domain = _domain(metadata)
    bounds = bounds_of(metadata)
    if isinstance(domain, In):
        if domain.parameter is not None:
            return ScalarShape(code, params=(domain.parameter,), bounds=bounds)
        return ScalarShape(
            code, values=tuple(v for v in domain.scalars if v is not None and bounds.allow(v, code))
        )
    if code == "text":
        return ScalarShape(code)
    if isinstance(domain, Between):
        bounds = bounds.within(domain)
        zone = _zone(domain) if code == "datetime" else ""
        if zone is None:
            return RefusedShape("the bounds of Between name different time zones")
        return ScalarShape(code, bounds=bounds, params=domain.parameters, zone=zone)
    if code == "time" and bounds.any:
        bounds = bounds.whole_day()
    return ScalarShape(code, bounds=bounds)


def _zone(domain: Between) -> str | None:
    """The time zone of the bounds; None where they differ."""
    known = (bound for bound in (domain.low, domain.high) if isinstance(bound, datetime.datetime))
    zones = {zone_of(datetime_text(bound)) for bound in known}
    return None if len(zones) > 1 else next(iter(zones), "")


def _decimal(metadata: Sequence[object]) -> Shape:
    domain = _domain(metadata)
    places = decimal_places(metadata, domain)
    reason = refusal(metadata, domain, places)
    if reason is not None or places is None:
        return ScalarShape("decimal", unwritable=reason)
    decimals = decimal_range(metadata, domain, places)
    if isinstance(domain, In) and domain.parameter is None:
        values = listed_decimals(domain.scalars, metadata, places)
        return ScalarShape("decimal", values=values, decimals=decimals)
    if isinstance(domain, In) and domain.parameter is not None:
        return ScalarShape("decimal", params=(domain.parameter,), decimals=decimals)
    params = domain.parameters if isinstance(domain, Between) else ()
    if not params and (decimals.low is None or decimals.high is None):
        return ScalarShape("decimal", unwritable=f"a Decimal field needs bounds: {EXAMPLE}")
    return ScalarShape("decimal", decimals=decimals, params=params)


def _listed(members: Sequence[object], metadata: Sequence[object]) -> Shape:
    scalars = [scalar_of(member) for member in members]
    if any(scalar is None for scalar in scalars):
        return RefusedShape("only texts, integers, booleans, dates and times can be enumerated")
    known = [scalar for scalar in scalars if scalar is not None]
    domain = _domain(metadata)
    if isinstance(domain, In) and domain.parameter is None:
        known = [scalar for scalar in known if scalar[0] in domain.scalars]
    params = (domain.parameter,) if isinstance(domain, In) and domain.parameter is not None else ()
    codes = {code for value, code in known if value is not None}
    nullable = any(value is None for value, _ in known)
    values = tuple(value for value, _ in known if value is not None)
    return ScalarShape(codes.pop() if len(codes) == 1 else None, nullable, values, params=params)


def _union(annotation: object, metadata: Sequence[object]) -> Shape:
    args = get_args(annotation)
    others = [arg for arg in args if arg is not NoneType]
    if len(others) == 1:
        return replace(shape_of(others[0], metadata), nullable=True)
    from factorspec_sdk.records.unions import union_shape

    return union_shape(annotation, others, metadata, shape_of)


def _unwrapped(annotation: object, metadata: tuple[object, ...]) -> tuple[object, tuple[object, ...]]:
    """The annotation without ``Annotated``, type aliases and ``NewType``; all metadata, flat."""
    while True:
        if get_origin(annotation) is Annotated:
            inner, *extra = get_args(annotation)
            annotation, metadata = inner, (*_flat(extra), *metadata)
        elif isinstance(annotation, TypeAliasType):
            annotation = annotation.__value__
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        else:
            return annotation, metadata


def _flat(metadata: Sequence[object]) -> Iterator[object]:
    for part in metadata:
        yield part
        if isinstance(part, FieldInfo):
            yield from part.metadata


def _metadata(info: FieldInfo) -> list[object]:
    return [info, *info.metadata] if info.discriminator is not None else list(info.metadata)


def _domain(metadata: Sequence[object]) -> In | Between | None:
    domains = [part for part in metadata if isinstance(part, In | Between)]
    return domains[-1] if domains else None


def _key(model: type[BaseModel], name: str, info: FieldInfo) -> str:
    alias: Any = info.validation_alias
    if alias is None:
        return name
    if isinstance(alias, AliasChoices | AliasPath):
        raise UnsupportedField(
            "field cannot be written",
            [
                Problem(
                    f"{model.__name__}.{name}",
                    "AliasChoices and AliasPath name no single key",
                    None,
                    "give the field one alias",
                )
            ],
        )
    if model.model_config.get("validate_by_alias") is False:
        return name
    return str(alias)
