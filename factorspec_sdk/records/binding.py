"""Binding: a model with its parameters filled in is again a Pydantic class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, create_model, model_validator
from pydantic.fields import FieldInfo

from factorspec_sdk.errors import BindingError, DeclarationError, EmptyDomain, Problem, reason_of, shown
from factorspec_sdk.records import registry
from factorspec_sdk.records.checking import SUPPLIED, ready, supplied_to
from factorspec_sdk.records.domains import Between, In
from factorspec_sdk.records.objectives import GOALS, TEMPLATES, Aim, methods_of, templates_of
from factorspec_sdk.records.parameters import Param, params_of
from factorspec_sdk.records.reach import Place, models_in
from factorspec_sdk.records.shapes import ScalarShape, keys_of, shape_of
from factorspec_sdk.records.supplied import Supplied

M = TypeVar("M", bound=BaseModel)
BOUND = "__factorspec_bound__"
ORIGINAL = "__factorspec_original__"
_KEPT = 256


def bind(model: type[M], *given: BaseModel | Aim, **values: object) -> type[M]:
    """The model with its parameters filled in: a subclass that validates all relations and domains.

    Args:
        model: a model that declares parameters, itself or in nested models.
        given: models of parameters, such as the type of a ``@relation`` method's parameter; and levels of an
            objective (``maximize``, ``minimize``), which replace the model's own: a new
            class each time.
        values: parameters by name.

    Raises:
        BindingError: if parameters are missing, unknown or do not fit.
        EmptyDomain: if a parameter leaves a field no value.
    """
    if supplied_to(model) is not None:
        raise BindingError(f"{model.__name__} is bound already", [Problem("", "bind the original class")])
    aims = tuple(one for one in given if isinstance(one, Aim))
    if aims:
        model = cast(type[M], _aimed(model, aims))
    needed = parameters_of(model)
    models = tuple(one for one in given if not isinstance(one, Aim))
    supplied = Supplied(_collect(model, needed, models, values))
    if not needed:
        return model
    cache: dict[object, type[M]] = model.__dict__.get(BOUND) or {}
    setattr(model, BOUND, cache)
    key = _key(supplied, needed)
    if key not in cache:
        if len(cache) >= _KEPT:
            cache.pop(next(iter(cache)))
        cache[key] = cast(type[M], _Binder(supplied).bound(model))
    return cache[key]


def parameters_of(model: type[BaseModel]) -> dict[Param, list[str]]:
    """The parameters that a model and its nested models need, and where: relations and fields."""
    found: dict[Param, list[str]] = {}
    for place in models_in(model):
        for resolved in registry.resolve(place.model):
            for param in params_of(resolved.template):
                found.setdefault(param, []).append(f"relation {resolved.name!r}")
        for path, shape in place.scalars():
            for param in shape.params:
                found.setdefault(param, []).append(path)
    for template in templates_of(model):
        for param in params_of(template):
            found.setdefault(param, []).append(f"the objective ({template['goal']})")
    return found


def _collect(
    model: type[BaseModel],
    needed: Mapping[Param, list[str]],
    given: tuple[BaseModel, ...],
    values: Mapping[str, object],
) -> dict[str, object]:
    collected: dict[str, object] = {}
    for one in given:
        if not issubclass(type(one), BaseModel):
            problem = Problem("", "parameters are a Pydantic model, or given by name", shown(one))
            raise BindingError(f"{model.__name__} cannot be bound", [problem])
        collected |= {name: getattr(one, name) for name in type(one).model_fields}
    names = {param.name.split(".")[0] for param in needed}
    known = names | {name for cls in _given_models(model) for name in cls.model_fields}
    problems = [_unknown(name, known) for name in values if name not in known]
    collected |= values
    for param, uses in needed.items():
        first = param.name.split(".")[0]
        if first not in collected:
            hint = f"it is used by {uses[0]}"
            close = get_close_matches(first, collected, n=1)
            problems.append(
                Problem(
                    param.name,
                    "the parameter is missing",
                    None,
                    f"{hint}; did you mean it by {close[0]!r}?" if close else hint,
                )
            )
    if problems:
        raise BindingError(f"{model.__name__} cannot be bound", problems)
    return _validated(model, collected, set(values))


def _validated(model: type[BaseModel], collected: dict[str, object], loose: set[str]) -> dict[str, object]:
    """Parameters given by name, checked against the models of parameters that name them."""
    problems: list[Problem] = []
    for cls in _given_models(model):
        fields: dict[str, Any] = {n: (i.annotation, i) for n, i in cls.model_fields.items() if n in loose}
        if not fields:
            continue
        part = create_model(cls.__name__, __config__=ConfigDict(arbitrary_types_allowed=True), **fields)
        try:
            checked = part.model_validate({n: collected[n] for n in fields})
        except ValidationError as error:
            problems += [
                Problem(".".join(map(str, line["loc"])), reason_of(line["msg"]), shown(line["input"]))
                for line in error.errors()
            ]
        else:
            collected |= {n: getattr(checked, n) for n in fields}
    if problems:
        raise BindingError(f"{model.__name__} cannot be bound", problems)
    return collected


def _given_models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """The models of parameters that relation methods and methods of the objective are typed with."""
    relations = [r.method for place in models_in(model) for r in registry.resolve(place.model)]
    seen: set[type[BaseModel]] = set()
    for method in (*relations, *methods_of(model)):
        for _, annotation in method.given_types if method is not None else ():
            if isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation not in seen:
                seen.add(annotation)
                yield annotation


def _unknown(name: str, known: set[str]) -> Problem:
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(sorted(known)) or 'none'}"
    return Problem(name, "there is no such parameter", None, hint)


def _key(supplied: Supplied, needed: Mapping[Param, list[str]]) -> str:
    names = sorted({param.name.split(".")[0] for param in needed})
    return "\n".join(f"{name}={_content(supplied.values[name])}" for name in names)


def _content(value: object) -> str:
    if isinstance(value, BaseModel):
        return f"{type(value).__name__}({_content(dict(value))})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_content(k)}: {_content(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple | set | frozenset):
        return f"{type(value).__name__}[{', '.join(map(_content, value))}]"
    return repr(value)


@dataclass(slots=True)
class _Binder:
    """Binds a model and, once each, the models nested in it."""

    supplied: Supplied
    done: dict[type[BaseModel], type[BaseModel]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def bound(self, model: type[BaseModel]) -> type[BaseModel]:
        """The bound subclass of the outermost model."""
        places = list(models_in(model))
        open_models = _with_parameters(places)
        if any(params_of(template) for template in templates_of(model)):
            open_models.add(model)
        for place in places:
            if place.model in open_models:
                self.done[place.model] = _subclass(place.model, self.supplied)
        try:
            for original, made in self.done.items():
                self._fields(original, made)
            for made in self.done.values():
                made.model_rebuild(force=True, _types_namespace={})
            for made in self.done.values():
                ready(made)
        except DeclarationError as error:
            raise BindingError(f"{model.__name__} cannot be bound", error.problems) from error
        return self.done[model]

    def _fields(self, original: type[BaseModel], made: type[BaseModel]) -> None:
        for name, info in made.model_fields.items():
            changed = copy(info)
            changed.annotation = self._type(info.annotation, f"{original.__name__}.{name}")
            changed.metadata = [
                self._domain(part, info.annotation, f"{original.__name__}.{name}") for part in info.metadata
            ]
            made.model_fields[name] = changed

    def _type(self, annotation: Any, place: str) -> Any:
        """A type with bound models and domains in place of open ones."""
        if isinstance(annotation, type) and annotation in self.done:
            return self.done[annotation]
        origin, args = get_origin(annotation), get_args(annotation)
        if origin is None or not args:
            return annotation
        if origin is Annotated:
            inner, *metadata = args
            parts = [self._domain(part, inner, place) for part in metadata]
            return Annotated[(self._type(inner, place), *parts)]
        changed = tuple(self._type(arg, place) for arg in args)
        if all(new is old for new, old in zip(changed, args, strict=True)):
            return annotation
        if origin is Union or origin is UnionType:
            return reduce(or_, changed)
        return origin[changed]

    def _domain(self, part: object, annotation: object, place: str) -> object:
        if isinstance(part, FieldInfo):
            part = copy(part)
            part.metadata = [self._domain(inner, annotation, place) for inner in part.metadata]
        if isinstance(part, In) and part.parameter is not None:
            shape = shape_of(annotation)
            code = shape.code if isinstance(shape, ScalarShape) else None
            scalars = self.supplied.scalars(part.parameter, code)
            if not scalars:
                raise EmptyDomain(
                    "a field has no value left",
                    [Problem(place, f"the parameter {part.parameter.name!r} is empty")],
                )
            return In.of_scalars(scalars)
        if isinstance(part, Between) and part.parameters:
            return Between(self._limit(part.low, annotation), self._limit(part.high, annotation), part.step)
        return part

    def _limit(self, bound: Any, annotation: object) -> Any:
        if not isinstance(bound, Param):
            return bound
        shape = shape_of(annotation)
        return self.supplied.bound(bound, shape.code if isinstance(shape, ScalarShape) else None)


def _with_parameters(places: list[Place]) -> set[type[BaseModel]]:
    """Models that need parameters, themselves or in what they hold."""
    found = {place.model for place in places if place.needs_parameters}
    while True:
        more = {place.model for place in places if found & set(place.children)} - found
        if not more:
            return found
        found |= more


def _unbound(cls: type[BaseModel], value: object) -> object:
    """An instance of the open class as input for the bound one."""
    original = getattr(cls, ORIGINAL)
    if not isinstance(value, original) or isinstance(value, cls):
        return value
    assert isinstance(value, BaseModel)
    keys = keys_of(type(value))
    fields = {key: value.__dict__[name] for name, key in keys.items() if name in value.__dict__}
    return {**fields, **(value.model_extra or {})}


def _subclass(model: type[BaseModel], supplied: Supplied) -> type[BaseModel]:
    """A subclass of the same name that takes instances of the original as well, not built yet.

    Its relations are those of the original: shapes do not change, so nothing is traced anew.
    """
    more = {SUPPLIED: supplied, TEMPLATES: templates_of(model), "model_config": ConfigDict(defer_build=True)}
    return _derived(model, more)


def _aimed(model: type[BaseModel], aims: tuple[Aim, ...]) -> type[BaseModel]:
    """A subclass of the same name with another objective."""
    made = _derived(model, {GOALS: aims})
    templates_of(made)
    return made


def _derived(model: type[BaseModel], more: dict[str, object]) -> type[BaseModel]:
    namespace: dict[str, object] = {
        "__module__": model.__module__,
        "__qualname__": model.__qualname__,
        "__doc__": model.__doc__,
        **more,
        registry.RESOLVED: registry.resolve(model),
        ORIGINAL: model,
        "__factorspec_unbind__": model_validator(mode="before")(_unbound),
    }
    made = cast(type[BaseModel], cast(Any, type(model))(model.__name__, (model,), namespace))
    made.model_config = model.model_config
    return made
