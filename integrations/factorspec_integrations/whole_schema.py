"""Models for frameworks that ask a class for its JSON Schema and know nothing of relations."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from types import new_class
from typing import Any, Literal, TypeVar, cast

from pydantic import BaseModel
from pydantic.json_schema import DEFAULT_REF_TEMPLATE, GenerateJsonSchema

from factorspec_sdk.errors import DeclarationError, JsonValue, Problem, shown
from factorspec_sdk.records import document

T = TypeVar("T", bound=BaseModel)


def with_relations(model: type[T]) -> type[T]:
    """The model, with its relations and domains in ``model_json_schema()`` too.

    It is a subclass of the same name; what it validates are instances of the model itself.

    For every place that takes a class and asks it for its schema::

        create_agent(chat_model, response_format=with_relations(Trip))

    A server that does not know ``x-factorspec`` ignores the relations; each instance is checked all the same.

    Args:
        model: bound if it has parameters.

    Raises:
        BindingError: parameters are open.
        DeclarationError: the model cannot be written as a document.
    """
    whole = document(model)
    namespace = {
        "__module__": model.__module__,
        "__qualname__": model.__qualname__,
        "__doc__": model.__doc__,
        "model_json_schema": _answering(model, whole),
        "__get_pydantic_core_schema__": classmethod(lambda cls, *_: model.__pydantic_core_schema__),
    }
    return cast(
        "type[T]", new_class(model.__name__, (model,), exec_body=lambda names: names.update(namespace))
    )


def _answering(model: type[BaseModel], whole: dict[str, JsonValue]) -> Callable[..., dict[str, Any]]:
    def model_json_schema(
        by_alias: bool = True,
        ref_template: str = DEFAULT_REF_TEMPLATE,
        schema_generator: type[GenerateJsonSchema] = GenerateJsonSchema,
        mode: Literal["validation", "serialization"] = "validation",
        **_: object,
    ) -> dict[str, Any]:
        """The document. ``schema_generator`` and ``mode`` change nothing: a document has one form.

        Raises:
            DeclarationError: names or references are asked for that documents do not have.
        """
        asked = {"by_alias": (by_alias, True), "ref_template": (ref_template, DEFAULT_REF_TEMPLATE)}
        problems = [
            Problem(name, f"a document has {only!r} only", shown(value))
            for name, (value, only) in asked.items()
            if value != only
        ]
        if problems:
            raise DeclarationError(f"the schema of {model.__name__} cannot be written like this", problems)
        return deepcopy(whole)

    return model_json_schema
