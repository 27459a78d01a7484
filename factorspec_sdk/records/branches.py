"""Functions for ``@relation`` methods about unions of models: which one is it, and reading it as one."""

from __future__ import annotations

from typing import TypeVar, cast

from pydantic import BaseModel

from factorspec_sdk.fields.domains import Scalar
from factorspec_sdk.fields.paths import FieldPath
from factorspec_sdk.records.parameters import Template
from factorspec_sdk.records.shape_problems import described
from factorspec_sdk.records.shapes import ObjectShape, UnionShape, fields_of
from factorspec_sdk.records.symbols import SymbolicObject, SymbolicUnion, SymbolicValue
from factorspec_sdk.records.terms import Term
from factorspec_sdk.records.tracing import Trace, trace_of
from factorspec_sdk.records.unions import models_of, tell_apart

M = TypeVar("M", bound=BaseModel)


def is_a(value: object, model: type[BaseModel]) -> bool:
    """The value is an object of this model (in place of ``isinstance``); false where it is null or absent."""
    trace = trace_of(value)
    if trace is None:
        return isinstance(value, model)
    path, shape = _part(trace, value)
    wanted = [branch for branch in models_of(shape) if issubclass(branch.model, model)]
    others = [branch for branch in models_of(shape) if branch not in wanted]
    if not wanted:
        trace.fail(f"{value!r} is never {model.__name__}", f"it is {described(shape)}")
    tests: list[Template] = [_test(trace, path, one, others) for one in wanted]
    template: Template = tests[0] if len(tests) == 1 else {"op": "or", "args": tests}
    binders = frozenset() if path.root == "$" else frozenset({path.root})
    text = f"{value._fs_text} is {model.__name__}"  # type: ignore[attr-defined]  # noqa: SLF001
    return cast(bool, SymbolicValue(trace, Term(template, "bool", text, binders=binders)))


def as_a(value: object, model: type[M]) -> M:
    """The value read as an object of this model, for its fields' sake; they are absent where it is none.

    A field that other models of the union have too is read whichever it is: ask ``is_a`` first.
    """
    trace = trace_of(value)
    if trace is None:
        return cast(M, value)
    path, shape = _part(trace, value)
    found = next((branch for branch in models_of(shape) if issubclass(branch.model, model)), None)
    if found is None:
        trace.fail(f"{value!r} is never {model.__name__}", f"it is {described(shape)}")
    text = f"{value._fs_text}"  # type: ignore[attr-defined]  # noqa: SLF001
    return cast(M, SymbolicObject(trace, path, ObjectShape(model), text))


def _part(trace: Trace, value: object) -> tuple[FieldPath, ObjectShape | UnionShape]:
    if not issubclass(type(value), SymbolicObject | SymbolicUnion):
        trace.fail(f"{value!r} is no object", "fs.is_a and fs.as_a take a union of models")
    part = cast("SymbolicObject | SymbolicUnion", value)
    return part._fs_path, part._fs_shape  # noqa: SLF001


def _test(trace: Trace, path: FieldPath, model: ObjectShape, others: list[ObjectShape]) -> Template:
    """The condition that an object of this model stands there, by its fields."""
    tests: list[Template] = []
    fields = list(fields_of(model.model).values())
    for other in others:
        found = tell_apart(model, other)
        if found is None:
            hint = "give both a Literal field with values of their own"
            names = f"{model.model.__name__} and {other.model.__name__}"
            trace.fail(f"{names} have the same fields, so they cannot be told apart", hint)
        tests.append(_shows(path, *found))
    if not fields:
        trace.fail(f"{model.model.__name__} has no fields, so it cannot be asked for")
    tests.insert(0, _shows(path, fields[0].key, True))
    unique = list({repr(test): test for test in tests}.values())
    return unique[0] if len(unique) == 1 else {"op": "and", "args": unique}


def _shows(path: FieldPath, key: str, what: tuple[Scalar, ...] | bool) -> Template:
    below = str(FieldPath(path.root, (*path.segments, key)))
    if isinstance(what, bool):
        there: dict[str, Template] = {"op": "present", "of": below, "null": True}
        return there if what else {"op": "not", "args": [there]}
    values: list[Template] = [{"const": value} for value in what]
    return {
        "op": "and",
        "args": [{"op": "present", "of": below}, {"op": "in", "arg": {"ref": below}, "values": values}],
    }
