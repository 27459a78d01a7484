"""A spec: everything that a request says, immutable and hashed."""

from __future__ import annotations

from dataclasses import dataclass

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.relations.objective import Goal
from factorspec_sdk.wire.schema import ObjectNode


@dataclass(frozen=True, slots=True, eq=False)
class Spec:
    """A parsed document.

    document: the document as it was sent, in canonical key order where order has no meaning.
    hash: SHA-256 (hex) of the canonical JSON of ``document``.
    root: the resolved schema.
    objective: what to optimise, level by level; empty where every valid record will do.
    """

    document: dict[str, JsonValue]
    hash: str
    root: ObjectNode
    objective: tuple[Goal, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)
