"""How relations live on a Pydantic class: without a base class of ours, as ordinary validation.

Three attributes are set on a class that declares relations::

    __factorspec_declared__       what its own class decorators declared, in reading order
    __get_pydantic_core_schema__  resolves the relations each time Pydantic builds the class or a
                                  subclass, so that errors come when the class is made
    __factorspec_validate__       one "after" model validator that checks all relations

Everything else (inheritance, generics, copies, JSON Schema) is Pydantic's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import BaseModel, GetCoreSchemaHandler, model_validator
from pydantic_core import CoreSchema

from factorspec_sdk.errors import DeclarationError, Problem, shown

if TYPE_CHECKING:
    from factorspec_sdk.records.declarations import Declaration

DECLARED = "__factorspec_declared__"
VALIDATE = "__factorspec_validate__"
CORE_SCHEMA = "__get_pydantic_core_schema__"
INIT_SUBCLASS = "__init_subclass__"

B = TypeVar("B", bound=BaseModel)


def declare(model: type[BaseModel], declaration: Declaration) -> None:
    """Add a declared relation to a class, checked if the class is complete.

    Raises:
        DeclarationError: if the declaration does not fit the class.
    """
    from factorspec_sdk.records import registry

    refuse_others(model)
    before = model.__dict__.get(DECLARED, ())
    registry.add(model, declaration)
    try:
        if install(model):
            registry.resolve(model)
    except DeclarationError:  # the class stays what it was, so that another attempt can be made
        setattr(model, DECLARED, before)
        model.model_rebuild(force=True, raise_errors=False, _types_namespace={})
        raise


def refuse_others(model: type[BaseModel]) -> None:
    """Raise if this is no Pydantic model.

    Raises:
        DeclarationError: always, for anything else.
    """
    if not issubclass(type(model), type) or not issubclass(model, BaseModel):
        raise DeclarationError(
            "relations are declared on Pydantic models",
            [Problem("", "this is no Pydantic model", shown(model), "derive the class from BaseModel")],
        )


def install(model: type[BaseModel]) -> bool:
    """Have instances checked from now on; False if the class is not complete yet: it will be when built."""
    resolve_when_built(model)
    if not model.__pydantic_complete__:
        return False
    if VALIDATE not in model.__pydantic_decorators__.model_validators:
        model.model_rebuild(force=True, raise_errors=False, _types_namespace={})
    return True


def prepare(owner: type) -> None:
    """Called while a class with ``@relation`` methods is made, before Pydantic looks at it.

    A plain class passes its relations on to the models that derive from it.
    """
    if issubclass(owner, BaseModel):
        resolve_when_built(owner)
        return
    own = owner.__dict__.get(INIT_SUBCLASS)

    def init_subclass(cls: Any, /, **options: Any) -> None:
        inherited = own.__get__(None, cls) if own is not None else getattr(super(owner, cls), INIT_SUBCLASS)
        inherited(**options)
        if issubclass(cls, BaseModel):
            resolve_when_built(cls)

    setattr(owner, INIT_SUBCLASS, classmethod(init_subclass))


def resolve_when_built(owner: type[BaseModel]) -> None:
    """Have relations resolved, and the validator installed, whenever Pydantic builds the class."""
    own = owner.__dict__.get(CORE_SCHEMA)
    if _is_ours(own) or (own is None and any(_is_ours(c.__dict__.get(CORE_SCHEMA)) for c in owner.__mro__)):
        return

    def core_schema(cls: type[BaseModel], source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        model = cast(type[BaseModel], source if isinstance(source, type) else cls)
        _install(model)
        inherited = own.__get__(None, cls) if own is not None else getattr(super(owner, cls), CORE_SCHEMA)
        plain: Any = BaseModel.__get_pydantic_core_schema__
        schema: CoreSchema = (
            handler(source) if inherited.__func__ is plain.__func__ else inherited(source, handler)
        )
        from factorspec_sdk.records import objectives, registry

        if model.__pydantic_fields_complete__:  # else another model holds it before its types are defined
            registry.resolve(model)
            objectives.templates_of(model)
        return schema

    core_schema.__factorspec__ = True  # type: ignore[attr-defined]
    setattr(owner, CORE_SCHEMA, classmethod(core_schema))


def _is_ours(attribute: object) -> bool:
    return getattr(getattr(attribute, "__func__", None), "__factorspec__", False)


def _install(model: type[BaseModel]) -> None:
    """Add the validator to what Pydantic knows of the class."""
    known = model.__pydantic_decorators__
    if VALIDATE in known.model_validators:
        return
    setattr(model, VALIDATE, model_validator(mode="after")(_validate))
    collected = type(known).build(
        model
    )  # inherited ones and ours; those of the class itself are no longer marked
    known.model_validators[VALIDATE] = collected.model_validators[VALIDATE]
    model.__pydantic_decorators__ = known  # `build` of Pydantic 2.11 puts its result there


def _validate(self: B) -> B:
    from factorspec_sdk.records.checking import enforce
    from factorspec_sdk.records.depth import enforce_depth

    enforce_depth(self)
    enforce(self)
    return self
