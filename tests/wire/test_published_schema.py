"""The published JSON Schema: fresh, well formed, and of one mind with ``parse_document``."""

import json
from typing import Any

import jsonschema
import pytest

from factorspec_sdk.errors import FactorspecError
from factorspec_sdk.wire import document_json_schema, parse_document
from factorspec_sdk.wire.published_schema import PUBLISHED, published_text
from tests.wire.kept import NAMES, kept
from tests.wire.test_problems import CASES

VALIDATOR = jsonschema.Draft202012Validator(document_json_schema())

#: cases whose problem is one of shape; the others are of references, paths, types, budgets, data
_BY_SHAPE = [
    "a list",
    "unknown type",
    "unknown keyword",
    "unions",
    "format in words",
    "unknown keyword in an open value",
    "bad shapes in an open value",
    "no schema in an open value",
    "format in an open value",
    "a fraction as count",
    "no version",
    "unknown version",
    "objective",
    "order twice",
    "bad domain",
    "tables",
    "no kind",
    "unknown kind",
    "missing and unknown keys",
    "empty over",
    "python names",
    "comparison of a kind",
    "no expression",
    "a bare number",
    "unknown operation",
    "extra key",
    "float constant",
    "list constant",
]


def test_the_published_file_is_fresh() -> None:
    assert PUBLISHED.read_text(encoding="utf-8") == published_text()


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(document_json_schema())


@pytest.mark.parametrize("name", NAMES)
def test_kept_documents_satisfy_it(name: str) -> None:
    VALIDATOR.validate(kept(name))
    VALIDATOR.validate(parse_document(kept(name)).document)


@pytest.mark.parametrize("name", _BY_SHAPE)
def test_bad_shapes_break_it(name: str) -> None:
    assert not VALIDATOR.is_valid(CASES[name])


@pytest.mark.parametrize("name", NAMES)
def test_what_breaks_it_is_refused(name: str) -> None:
    """Any single deletion that the published schema refuses, the parser refuses too."""
    for document in _deletions(kept(name)):
        if not VALIDATOR.is_valid(document):
            with pytest.raises(FactorspecError):
                parse_document(document)


def _deletions(document: Any) -> list[Any]:
    text = json.dumps(document)
    found = []

    def walk(part: Any, path: list[Any]) -> None:
        if path:
            copy = json.loads(text)
            holder = copy
            for step in path[:-1]:
                holder = holder[step]
            del holder[path[-1]]
            found.append(copy)
        for step, below in part.items() if isinstance(part, dict) else []:
            walk(below, [*path, step])

    walk(document, [])
    return found
