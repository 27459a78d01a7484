"""Relations on instances: as Pydantic validation, as verdicts one by one, and as a method's truth."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from factorspec_sdk.errors import BindingError, JsonValue, Problem, RecordError, shown
from factorspec_sdk.records import registry
from factorspec_sdk.records.methods import RelationMethod
from factorspec_sdk.records.objectives import templates_of
from factorspec_sdk.records.parameters import Rows, params_of
from factorspec_sdk.records.shapes import keys_of
from factorspec_sdk.records.supplied import Supplied
from factorspec_sdk.relations import Relation
from factorspec_sdk.relations.checking import Verdict, check_relation
from factorspec_sdk.relations.view import View

COMPILED = "__factorspec_compiled__"
SUPPLIED = "__factorspec_supplied__"


@dataclass(frozen=True, slots=True)
class Ready:
    """A relation with its parameters filled in (None while they are open), and the tables that it names.

    ``local``: checked on instances, not sent.
    """

    name: str
    relation: Relation | None
    tables: Mapping[str, Rows]
    missing: tuple[str, ...]
    local: bool


def supplied_to(model: type[BaseModel]) -> Supplied | None:
    """The parameters that a class is bound to."""
    return getattr(model, SUPPLIED, None)


def ready(model: type[BaseModel]) -> tuple[Ready, ...]:
    """All relations of a class, filled in as far as it is bound. Cached on the class."""
    resolved = registry.resolve(registry.completed(model))
    cached = model.__dict__.get(COMPILED)
    if cached is not None and cached[0] is resolved:
        return cached[1]  # type: ignore[no-any-return]
    supplied = supplied_to(model)
    found = tuple(_ready(relation, supplied) for relation in resolved)
    setattr(model, COMPILED, (resolved, found))
    return found


def _ready(resolved: registry.Resolved, supplied: Supplied | None) -> Ready:
    missing = tuple(param.name for param in params_of(resolved.template))
    if supplied is None and missing:
        return Ready(resolved.name, None, {}, missing, resolved.local)
    values = supplied if supplied is not None else Supplied({})
    relation = _relation(values.fill(resolved.template))
    return Ready(resolved.name, relation, values.tables(resolved.template), (), resolved.local)


def objective_of(model: type[BaseModel]) -> tuple[list[JsonValue], Mapping[str, Rows]]:
    """The levels of a bound class's objective in their wire form, and the tables that they name."""
    supplied = supplied_to(model) or Supplied({})
    templates = templates_of(model)
    tables: dict[str, Rows] = {}
    for template in templates:
        tables |= supplied.tables(template)
    return [supplied.fill(template) for template in templates], tables


def _relation(wire: object) -> Relation:
    return _adapter().validate_json(json.dumps(wire))


@cache
def _adapter() -> TypeAdapter[Relation]:
    return TypeAdapter(Relation)


def record_of(value: object) -> object:
    """A model instance as the record that relations see: objects by their JSON keys, values as they are."""
    if isinstance(value, BaseModel):
        values = value.__dict__  # model_construct may have left fields out
        return {key: record_of(values[name]) for name, key in keys_of(type(value)).items() if name in values}
    if isinstance(value, list | tuple):
        return [record_of(item) for item in value]
    return value


def enforce(instance: BaseModel) -> None:
    """Check the enforced relations of the instance's own class; those of nested models are checked there.

    Raises:
        ValidationError: with one error of type ``factorspec_relation`` per broken relation.
    """
    relations = [r for r in ready(type(instance)) if r.relation is not None and r.relation.enforce]
    if not relations:
        return
    record = record_of(instance)
    broken = []
    for one in relations:
        assert one.relation is not None
        verdict = check_relation(one.relation, View(record, one.tables))
        if verdict.outcome == "broken":
            broken.append(_error(verdict, instance))
    if broken:
        raise ValidationError.from_exception_data(type(instance).__name__, broken)


def _error(verdict: Verdict, instance: BaseModel) -> InitErrorDetails:
    reason = f" ({verdict.why})" if verdict.why else ""
    context = {
        "relation": verdict.name,
        "reason": reason,
        "explanation": verdict.explanation,
        "why": verdict.why or "",
    }
    message = "relation '{relation}'{reason} does not hold: {explanation}"
    return InitErrorDetails(type=PydanticCustomError("factorspec_relation", message, context), input=instance)


def check(instance: BaseModel) -> list[Verdict]:
    """The verdict of every relation, of nested models too, report-only ones included.

    A relation whose parameters are not bound gets the outcome "unknown", with the parameters named.

    Raises:
        RecordError: this is no instance.
    """
    found: object = instance
    if not isinstance(found, BaseModel):
        hint = "validate it first, or ask fs.explain(Model, record)"
        raise RecordError("this is no instance", [Problem("", "must be of a model", shown(found), hint)])
    return list(_verdicts(instance, ""))


def _verdicts(value: object, place: str) -> Iterator[Verdict]:
    if isinstance(value, list | tuple):
        for at, item in enumerate(value):
            yield from _verdicts(item, f"{place}[{at}]")
    if not isinstance(value, BaseModel):
        return
    record = record_of(value)
    for one in ready(type(value)):
        if one.relation is None:
            missing = f"needs the parameters {', '.join(one.missing)}: bind the model"
            yield Verdict(one.name, place, "unknown", missing, None, enforced=False)
        else:
            yield check_relation(one.relation, View(record, one.tables, place))
    for name in type(value).model_fields:
        yield from _verdicts(value.__dict__.get(name), f"{place}.{name}" if place else name)


def holds(instance: BaseModel, method: RelationMethod, supplied: Mapping[str, object]) -> bool:
    """Whether a ``@relation`` method's condition holds (unknown counts as holding).

    Raises:
        BindingError: if parameters are missing.
    """
    known = [r.template for r in registry.resolve(type(instance)) if r.method is method]
    template = known[0] if known else method.template(type(instance), method.relation_name, finite=False)
    bound = supplied_to(type(instance))
    values = Supplied({**(bound.values if bound is not None else {}), **supplied})
    missing = [p.name for p in params_of(template) if p.name.split(".")[0] not in values.values]
    if missing:
        raise BindingError(
            f"relation {method.relation_name!r} needs parameters",
            [Problem(name, "no value is given") for name in missing],
        )
    relation = _relation(values.fill(template))
    return relation.holds(View(record_of(instance), values.tables(template))) is not False
