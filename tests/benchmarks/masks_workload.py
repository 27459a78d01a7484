"""A workload of the masks benchmark: documents, what the libraries are given instead, and records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import factorspec_sdk as fs
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import parse_document

Schema = dict[str, Any]
Tokens = tuple[int, ...]
#: makes record number ``n`` of a spec
MakeRecord = Callable[[int], Any]


@dataclass(frozen=True)
class Task:
    """One spec to be measured.

    document: with the vendor key, as FactorSpec gets it. record: makes values for its records.
    """

    name: str
    document: dict[str, JsonValue]
    record: MakeRecord

    @property
    def schema(self) -> Schema:
        """What the libraries get: the document without the vendor key, each object closed as records are."""
        made = closed(without_vendor_key(self.document))
        assert isinstance(made, dict)
        return made


@dataclass(frozen=True)
class Prepared:
    """A task with the canonical tokens of its records, each of them verified by every engine."""

    task: Task
    records: Sequence[Tokens]


@dataclass(frozen=True)
class Workload:
    """Tasks of one kind. read: makes them, or gives the reason why it cannot."""

    name: str
    relations: bool
    read: Callable[[Options], Sequence[Task] | str]


@dataclass(frozen=True)
class Options:
    """What the command line says of the workloads."""

    data: Any
    bfcl: Any
    limit: int
    canonical: Canonical


def document(model: Any) -> dict[str, JsonValue]:
    """The document of a model."""
    return fs.document(model)


def without_vendor_key(schema: Any) -> Any:
    """A JSON Schema without what only FactorSpec knows."""
    if isinstance(schema, dict):
        return {key: without_vendor_key(part) for key, part in schema.items() if key != "x-factorspec"}
    return [without_vendor_key(part) for part in schema] if isinstance(schema, list) else schema


def closed(schema: Any) -> Any:
    """The schema with ``additionalProperties: false`` wherever properties are named and nothing is said."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(part) for key, part in schema.items()}
    if isinstance(made.get("properties"), dict) and made.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made


def compiled(task: Task) -> Any:
    """The task's document, compiled."""
    return compile_spec(parse_document(task.document))
