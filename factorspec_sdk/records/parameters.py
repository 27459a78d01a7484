"""Parameters: names of values that arrive with the call, and their place in a relation.

A relation is declared as a *template*: its wire JSON in which some leaves are instances of ``Leaf``.
``fill`` replaces them once the parameters are known.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.fields.domains import CodeType, Scalar

Rows = tuple[tuple[Scalar, ...], ...]


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter, by name. Names of fields of nested parameter models are joined by dots."""

    name: str

    def __getattr__(self, name: str) -> Param:
        """A field of a parameter that is itself a model."""
        if name.startswith("_"):
            raise AttributeError(name)
        return Param(f"{self.name}.{name}")

    def __getitem__(self, key: object) -> Any:
        """What a mapping of integers has for fields of the record, in the functions of decorators.

        ``slide("visits", lambda a, b: fs.elapsed(a.end, b.start) >= fs.param("travel")[a.place, b.place])``
        """
        from factorspec_sdk.records.given import looked_up

        return looked_up(self, key)


def param(name: str) -> Param:
    """The parameter with this name, for use in decorators and domains."""
    return Param(name)


@dataclass(frozen=True, slots=True)
class ParamConst:
    """Becomes a constant expression. ``type``: the code type that it is compared with, where known."""

    param: Param
    type: CodeType | None


@dataclass(frozen=True, slots=True)
class ParamConsts:
    """Becomes a list of constants: the items of a list, or the keys of a mapping."""

    param: Param
    type: CodeType | None


@dataclass(frozen=True, slots=True)
class ParamTable:
    """Becomes the name of a table of ``width`` columns (None: however many the rows have).

    A mapping's rows are its keys (a tuple is several columns) and its value; ``attribute`` picks a field of a
    value that is a model. With ``single`` a value that is no list is the only row.
    """

    param: Param
    width: int | None
    attribute: str | None = None
    single: bool = False

    @property
    def table(self) -> str:
        """The table's name in the document."""
        return self.param.name if self.attribute is None else f"{self.param.name}.{self.attribute}"


@dataclass(frozen=True, slots=True)
class InlineTable:
    """Becomes the name of a table that is given in the declaration."""

    rows: Rows

    @property
    def table(self) -> str:
        """A name made of the rows' content, so that equal tables are one."""
        text = json.dumps(self.rows, ensure_ascii=True)
        return f"rows-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class LoopItem:
    """Becomes a constant: the item of a loop over a parameter, or one part of it (a column, a field)."""

    loop: str
    part: int | str | None
    type: CodeType | None


@dataclass(frozen=True, slots=True)
class ParamLoop:
    """Becomes a conjunction (``every``) or disjunction (``some``): ``body`` for each item of a parameter."""

    param: Param
    op: Literal["every", "some"]
    name: str
    body: Template


Leaf = ParamConst | ParamConsts | ParamTable | InlineTable | ParamLoop | LoopItem
Template = None | bool | int | str | Leaf | list["Template"] | dict[str, "Template"]


def leaves(template: Template) -> list[Leaf]:
    """All leaves of a template that wait for values, in order."""
    if isinstance(template, dict):
        return [leaf for part in template.values() for leaf in leaves(part)]
    if isinstance(template, list):
        return [leaf for part in template for leaf in leaves(part)]
    if isinstance(template, ParamLoop):
        return [template, *leaves(template.body)]
    return [template] if isinstance(template, Leaf) else []


def params_of(template: Template) -> list[Param]:
    """The parameters that a template needs, in order, without repeats."""
    found = [leaf.param for leaf in leaves(template) if not isinstance(leaf, InlineTable | LoopItem)]
    return list(dict.fromkeys(found))


def fill(template: Template, value_of: Callable[[Leaf], JsonValue]) -> JsonValue:
    """The template with every leaf replaced by what ``value_of`` says."""
    if isinstance(template, dict):
        return {key: fill(part, value_of) for key, part in template.items()}
    if isinstance(template, list):
        return [fill(part, value_of) for part in template]
    return value_of(template) if isinstance(template, Leaf) else template


def tables_of(template: Template, rows_of: Callable[[ParamTable | InlineTable], Rows]) -> Mapping[str, Rows]:
    """The tables that a template names, by name."""
    return {
        leaf.table: rows_of(leaf) for leaf in leaves(template) if isinstance(leaf, ParamTable | InlineTable)
    }
