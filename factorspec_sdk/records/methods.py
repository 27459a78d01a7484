"""``@relation`` methods: conditions written in Python, recorded once per class."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from factorspec_sdk.errors import DeclarationError, Problem
from factorspec_sdk.fields.paths import FieldPath
from factorspec_sdk.records import installing
from factorspec_sdk.records.given import SymbolicGiven, given_value
from factorspec_sdk.records.parameters import Param, Template
from factorspec_sdk.records.recording import record
from factorspec_sdk.records.shapes import ObjectShape
from factorspec_sdk.records.symbols import SymbolicObject
from factorspec_sdk.records.tracing import Trace

F = TypeVar("F", bound=Callable[..., bool])


def relation(
    text: str | None = None, *, name: str | None = None, why: str | None = None, enforce: bool = True
) -> Callable[[F], F]:
    """Declare a relation by a method that returns a condition on the fields of ``self``.

    Args:
        text: what the relation says, its name unless ``name`` is given.
        name: the relation's name; without it and ``text`` the method's name.
        why: one sentence that explains it; without it the first line of the method's docstring.
        enforce: False for a relation that is checked and reported, not enforced.
    """
    if text is not None and not isinstance(text, str):
        raise DeclarationError(
            "a relation needs its text", [Problem("", 'write @relation("...") or @relation()', repr(text))]
        )
    frame = sys._getframe(1)  # noqa: SLF001

    def decorate(function: F) -> F:
        names = named_in_annotations(function, frame)
        return cast(F, RelationMethod(function, text=text, name=name, why=why, enforce=enforce, names=names))

    return decorate


def named_in_annotations(function: Callable[..., object], frame: FrameType | None) -> dict[str, object]:
    """What annotations that are still texts name, as the class body and the functions around it see it."""
    annotations = getattr(function, "__annotations__", {})
    texts = [part for part in annotations.values() if isinstance(part, str)]
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    found: dict[str, object] = {}
    while frame is not None and frame.f_code.co_name != "<module>":
        found = {**{word: frame.f_locals[word] for word in words if word in frame.f_locals}, **found}
        frame = frame.f_back if "__qualname__" in frame.f_locals else None
    return found


class TracedMethod(property):
    """A method that is recorded. A property in Python's eyes, so that Pydantic takes it for no field.

    names: what its annotations name that are still texts.
    """

    def __init__(self, function: Callable[..., Any], names: Mapping[str, object]) -> None:
        super().__init__(function)
        self.function = function
        self.method = function.__name__
        self._names = names
        self._given: tuple[tuple[str, object], ...] | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        self.method = name
        installing.prepare(owner)

    @property
    def place(self) -> str:
        """The method as people name it."""
        return self.function.__qualname__.rsplit("<locals>.", 1)[-1]

    def given(self, trace: Trace) -> tuple[tuple[str, object], ...]:
        """(name, type) of the method's parameters after ``self``."""
        if self._given is None:
            parameters = list(inspect.signature(self.function).parameters.values())[1:]
            found = []
            for parameter in parameters:
                annotation = parameter.annotation
                if annotation is inspect.Parameter.empty:
                    trace.fail(
                        f"the parameter {parameter.name!r} has no type", "annotate it with a Pydantic model"
                    )
                if isinstance(annotation, str):
                    annotation = self._evaluated(trace, parameter.name, annotation)
                found.append((parameter.name, annotation))
            self._given = tuple(found)
        return self._given

    @property
    def given_types(self) -> tuple[tuple[str, object], ...]:
        """(name, type) of the parameters, once the method was recorded."""
        return self._given or ()

    def _evaluated(self, trace: Trace, name: str, annotation: str) -> object:
        def holder() -> None: ...

        holder.__annotations__ = {name: annotation}
        scope = {**self.function.__globals__, **self._names}
        try:
            return inspect.get_annotations(holder, globals=scope, eval_str=True)[name]
        except Exception as error:  # noqa: BLE001
            trace.fail(
                f"the type {annotation!r} of the parameter {name!r} cannot be resolved: {error}",
                "define the model of parameters before the class, outside of TYPE_CHECKING",
            )

    def recording(self, model: type[BaseModel], name: str, *, finite: bool) -> tuple[Trace, list[object]]:
        """A trace for a class, and the symbolic arguments: the record, then the parameters."""
        trace = Trace(model.__name__, name, self.place, finite=finite)
        arguments: list[object] = [SymbolicObject(trace, FieldPath("$", ()), ObjectShape(model), "self")]
        for parameter, annotation in self.given(trace):
            if isinstance(annotation, type) and issubclass(annotation, BaseModel):
                arguments.append(SymbolicGiven(trace, annotation, "", parameter))
            else:
                arguments.append(given_value(trace, Param(parameter), annotation, parameter))
        return trace, arguments


class RelationMethod(TracedMethod):
    """A method that is a relation."""

    def __init__(
        self,
        function: Callable[..., bool],
        *,
        text: str | None,
        name: str | None,
        why: str | None,
        enforce: bool,
        names: Mapping[str, object],
    ) -> None:
        super().__init__(function, names)
        self.relation_name = name or text or function.__name__.replace("_", " ")
        docstring = inspect.getdoc(function)
        self.why = why or (docstring.splitlines()[0] if docstring else None) or (text if name else None)
        self.enforce = enforce

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return (
            self.function.__get__(instance) if not isinstance(instance, BaseModel) else _Call(self, instance)
        )

    def template(self, model: type[BaseModel], name: str, *, finite: bool) -> dict[str, Template]:
        """The relation's wire form, by recording the method for this class.

        ``finite``: every field that it touches must have a finite domain.

        Raises:
            DeclarationError: where the method does what cannot be recorded.
        """
        trace, arguments = self.recording(model, name, finite=finite)
        term = record(trace, self.function, arguments, frozenset())
        head: dict[str, Template] = {"name": name, "kind": "intension"}
        if self.why is not None:
            head["why"] = self.why
        if not self.enforce:
            head["enforce"] = False
        return {**head, "expr": term.template}

    def traced_with(self, instance: object) -> Callable[..., object]:
        """The method inside another one that is being recorded."""
        return self.function.__get__(instance)  # type: ignore[no-any-return]


class _Call:
    """``instance.method``: called with the parameters, says whether the relation holds."""

    def __init__(self, method: RelationMethod, instance: BaseModel) -> None:
        self._method = method
        self._instance = instance

    def __call__(self, *args: object, **kwargs: object) -> bool:
        from factorspec_sdk.records.checking import holds

        supplied: dict[str, object] = {}
        signature = inspect.signature(self._method.function)
        bound = signature.bind_partial(self._instance, *args, **kwargs)
        for name, value in list(bound.arguments.items())[1:]:
            if isinstance(value, BaseModel):
                supplied |= {field: getattr(value, field) for field in type(value).model_fields}
            else:
                supplied[name] = value
        return holds(self._instance, self._method, supplied)
