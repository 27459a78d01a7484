"""From a Pydantic model to a wire document: its JSON Schema with relations, tables, domains and order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from inspect import cleandoc

from pydantic import BaseModel, RootModel

from factorspec_sdk.errors import (
    BindingError,
    DeclarationError,
    EmptyDomain,
    JsonValue,
    Problem,
    UnsupportedField,
    shown,
)
from factorspec_sdk.fields.decimals import decimal_text
from factorspec_sdk.fields.domains import CodeType, code_to_iso, moment_of
from factorspec_sdk.records.binding import parameters_of
from factorspec_sdk.records.checking import objective_of, ready, supplied_to
from factorspec_sdk.records.decimal_fields import DecimalRange
from factorspec_sdk.records.depth import depth_of
from factorspec_sdk.records.free_parts import FreeParts
from factorspec_sdk.records.parameters import Rows
from factorspec_sdk.records.reach import Place, hidden, leaves, models_in
from factorspec_sdk.records.shapes import (
    FieldShape,
    FreeShape,
    ListShape,
    ObjectShape,
    OpenShape,
    RefusedShape,
    ScalarShape,
    Shape,
    UnionShape,
    fields_of,
)
from factorspec_sdk.records.unions import is_free, models_of
from factorspec_sdk.wire import Spec, parse_document, relation_json

VENDOR = "x-factorspec"
VERSION = 1
Schema = dict[str, JsonValue]

_TYPES = {
    "int": "integer",
    "bool": "boolean",
    "text": "string",
    "date": "string",
    "time": "string",
    "datetime": "string",
    "decimal": "string",
}


def document(model: type[BaseModel]) -> Schema:
    """The wire document of a model: JSON Schema plus the key ``x-factorspec``.

    Raises:
        DeclarationError: if this is no model.
        BindingError: if parameters are open: bind the model first.
        UnsupportedField: if a field's type is not supported, for all such fields at once.
        EmptyDomain: if a field has no value.
    """
    _refuse_other(model)
    if issubclass(model, RootModel):
        problem = Problem("root", "a record is an object", None, "put the value into a field of a model")
        raise UnsupportedField(f"{model.__name__} is no record", [problem])
    needed = parameters_of(model)
    if needed and supplied_to(model) is None:
        problems = [Problem(param.name, f"used by {uses[0]}") for param, uses in needed.items()]
        raise BindingError(f"{model.__name__} has parameters, bind it first", problems)
    return _Writer(model).write()


def spec(model: type[BaseModel]) -> Spec:
    """The spec of a model: its document, parsed and hashed.

    Raises:
        FactorspecError: as ``document``, and where the document cannot be enforced.
    """
    return parse_document(document(model))


def _refuse_other(model: object) -> None:
    if isinstance(model, type) and issubclass(model, BaseModel):
        return
    hint = "give the class, not an instance" if isinstance(model, BaseModel) else None
    problem = Problem("model", "is no Pydantic model", shown(model), hint)
    raise DeclarationError("there is no record to write a document of", [problem])


@dataclass(slots=True)
class _Writer:
    """Writes one document. ``names``: names of nested models among the definitions."""

    model: type[BaseModel]
    names: dict[type[BaseModel], str] = field(default_factory=dict)
    definitions: dict[str, JsonValue] = field(default_factory=dict)
    tables: dict[str, Rows] = field(default_factory=dict)

    def write(self) -> Schema:
        places = list(models_in(self.model))
        _refuse(places)
        self._name([place.model for place in places[1:]])
        root = self._object(self.model)
        for place in places[1:]:
            self.definitions[self.names[place.model]] = self._object(place.model)
        if self.model in self.names:
            self.definitions[self.names[self.model]] = self._object(self.model)
        vendor = root[VENDOR]
        assert isinstance(vendor, dict)
        objective, tables_named = objective_of(self.model)
        if objective:
            vendor["objective"] = objective
            self.tables |= tables_named
        tables: dict[str, JsonValue] = {
            name: [list[JsonValue](row) for row in rows] for name, rows in sorted(self.tables.items())
        }
        depth = depth_of(self.model)
        head: Schema = {"version": VERSION} if depth is None else {"version": VERSION, "max_depth": depth}
        root[VENDOR] = {**head, **vendor, **({"tables": tables} if tables else {})}
        if self.definitions:
            root["$defs"] = dict(self.definitions)
        return root

    def _name(self, models: list[type[BaseModel]]) -> None:
        recursive = any(self.model in place.children for place in models_in(self.model))
        for model in ([self.model] if recursive else []) + models:
            name, number = model.__name__, 1
            while name in self.names.values():
                number += 1
                name = f"{model.__name__}_{number}"
            self.names[model] = name

    def _object(self, model: type[BaseModel]) -> Schema:
        free = FreeParts(model, self.definitions, set(self.names.values()))
        properties: dict[str, JsonValue] = {}
        for shape in fields_of(model).values():
            properties[shape.key] = self._property(shape, free)
        schema: Schema = {"type": "object", "title": model.model_config.get("title") or model.__name__}
        if model.__doc__ and model.__doc__ != BaseModel.__doc__:
            schema["description"] = cleandoc(model.__doc__)
        schema["properties"] = properties
        schema["required"] = list[JsonValue](properties)
        schema["additionalProperties"] = False
        vendor: dict[str, JsonValue] = {"order": list[JsonValue](properties)}
        relations: list[JsonValue] = []
        for one in ready(model):
            if one.local:
                continue
            assert one.relation is not None
            relations.append(relation_json(one.relation))
            self.tables |= one.tables
        if relations:
            vendor["relations"] = relations
        schema[VENDOR] = vendor
        return schema

    def _property(self, shape: FieldShape, free: FreeParts) -> Schema:
        schema = self._schema(shape.shape, shape.key, free)
        for key, text in (("title", shape.info.title), ("description", shape.info.description)):
            if text:
                schema[key] = text
        return schema

    def _union(self, shape: UnionShape, key: str, free: FreeParts) -> Schema:
        branches: list[JsonValue] = []
        for branch, annotation in zip(shape.branches, shape.annotations, strict=True):
            branches.append(
                free.branch(annotation, key) if is_free(branch) else self._schema(branch, key, free)
            )
        if shape.tag is None:
            return _nullable({"anyOf": branches}, shape)
        model = models_of(shape)[0].model
        discriminator: Schema = {"propertyName": fields_of(model)[shape.tag].key}
        return _nullable({"oneOf": branches, "discriminator": discriminator}, shape)

    def _schema(self, shape: Shape, key: str, free: FreeParts) -> Schema:
        if is_free(shape):
            return free.property(key)
        match shape:
            case ObjectShape():
                return _nullable({"$ref": f"#/$defs/{self.names[shape.model]}"}, shape)
            case ListShape():
                bounds: Schema = {"minItems": shape.least} if shape.least else {}
                if shape.most is not None:
                    bounds["maxItems"] = shape.most
                items = self._schema(shape.item, key, free)
                return _nullable({"type": "array", "items": items, **bounds}, shape)
            case ScalarShape():
                return _scalar(shape)
            case UnionShape():
                return self._union(shape, key, free)
            case FreeShape() | RefusedShape() | OpenShape():
                raise AssertionError("refused before")


def _scalar(shape: ScalarShape) -> Schema:
    if shape.values is not None:
        return _listed(shape, list[JsonValue](shape.values))
    if shape.decimals is not None:
        return _nullable(_decimal(shape.decimals), shape)
    bounds = shape.bounds
    assert bounds is not None and bounds.first is not None and bounds.last is not None
    first, last, step = bounds.first, bounds.last, bounds.step
    code = shape.code
    kind = moment_of(code)
    if kind is not None:
        kind = "instant" if shape.zone else kind
        ends = [code_to_iso(kind, end, shape.zone) for end in (first, last)]
        domain: Schema = {"min": ends[0], "max": ends[1], "step": step}
        return _nullable({"type": "string", "format": _format(code), VENDOR: {"domain": domain}}, shape)
    if step > 1 and first % step:
        return _listed(shape, list[JsonValue](range(first, last + 1, step)))
    schema: Schema = {"type": "integer", "minimum": first, "maximum": last}
    if step > 1:
        schema["multipleOf"] = step
    return _nullable(schema, shape)


def _listed(shape: ScalarShape, values: list[JsonValue]) -> Schema:
    if shape.code == "bool" and values == [False, True] and not shape.nullable:
        return {"type": "boolean"}
    schema: Schema = {}
    if shape.code is not None:
        name = _TYPES[shape.code]
        schema["type"] = [name, "null"] if shape.nullable else name
    if moment_of(shape.code) is not None:
        schema["format"] = _format(shape.code)
    schema["enum"] = [*values, None] if shape.nullable else values
    if shape.decimals is not None:
        schema[VENDOR] = {"domain": {"places": shape.decimals.places}}
    return schema


def _decimal(decimals: DecimalRange) -> Schema:
    assert decimals.first is not None and decimals.last is not None
    places = decimals.places
    bounds: Schema = {
        "min": decimal_text(decimals.first, places),
        "max": decimal_text(decimals.last, places),
    }
    if decimals.step > 1:
        bounds["step"] = decimal_text(decimals.step, places)
    name = "string" if decimals.quoted else "number"
    return {"type": name, VENDOR: {"domain": {"places": places, **bounds}}}


def _format(code: CodeType | None) -> str:
    return "date-time" if code == "datetime" else str(code)


def _nullable(schema: Schema, shape: Shape) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]} if shape.nullable else schema


def _refuse(places: list[Place]) -> None:
    """Raise for fields that have no exact form, all at once."""
    problems: list[Problem] = []
    for place in places:
        for name, field_shape in place.fields.items():
            path = f"{place.path}.{name}" if place.path else name
            for shape, below in leaves(field_shape.shape, path):
                problems.extend(_refused(shape, below))
    if problems:
        raise UnsupportedField("the model holds fields that are not supported", problems)


def _refused(shape: Shape, path: str) -> Iterator[Problem]:
    """Why one part of a field has no exact form.

    Raises:
        EmptyDomain: it has no value.
    """
    match shape:
        case RefusedShape():
            yield Problem(path, shape.reason)
        case OpenShape():
            yield Problem(path, "the type variable is open", None, "parametrise the generic model")
        case FreeShape():
            yield from hidden(shape.annotation, path)
        case ScalarShape() if shape.unwritable is not None:
            yield Problem(path, shape.unwritable)
        case ScalarShape() if shape.empty:
            raise EmptyDomain("a field has no value", [Problem(path, "no value lies in its domain")])
        case _:
            pass
