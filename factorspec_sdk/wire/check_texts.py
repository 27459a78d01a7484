"""Checks of the kinds over texts; see ``check_relations.py``."""

from __future__ import annotations

from factorspec_sdk.relations import SubstringOf
from factorspec_sdk.wire.places import Scope
from factorspec_sdk.wire.problems import pointer
from factorspec_sdk.wire.types import table_rows


def check_substring_of(relation: SubstringOf, scope: Scope, place: str) -> None:
    """Texts, and a table of one column of texts."""
    for at, path in enumerate(relation.over):
        scope.texts(path, pointer(place, "over", at))
    rows = table_rows(relation.table, 1, scope, place)
    wrong = next((row[0] for row in rows or () if not isinstance(row[0], str)), None)
    if wrong is not None:
        scope.problems.add(pointer(place, "table"), "a source is a text", wrong)
