"""Every problem of a document, as people read it. ``UPDATE_SNAPSHOTS=1`` writes the snapshot anew."""

import os
from pathlib import Path
from typing import Any, get_args

import pytest

from factorspec_sdk.errors import DocumentError, EmptyDomain, FactorspecError, UnsupportedKeyword
from factorspec_sdk.relations import Relation
from factorspec_sdk.wire import parse_document
from factorspec_sdk.wire.check_relations import _CHECKS
from tests.wire.problem_cases_relations import RELATION_CASES
from tests.wire.problem_cases_schema import SCHEMA_CASES
from tests.wire.problem_cases_types import TYPE_CASES
from tests.wire.problem_documents import changed, const, expr, op, ref, related, value

SNAPSHOT = Path(__file__).parent / "snapshots" / "problems.txt"
CASES: dict[str, Any] = {**SCHEMA_CASES, **RELATION_CASES, **TYPE_CASES}


def report(document: Any) -> str:
    try:
        parse_document(document)
    except FactorspecError as error:
        lines = "".join(f"\n    {problem}" for problem in error.problems)
        return f"{type(error).__name__}: {error.message}{lines}"
    return "accepted"


def test_problems_read_as_in_the_snapshot() -> None:
    found = "\n\n".join(f"# {name}\n{report(document)}" for name, document in CASES.items()) + "\n"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        SNAPSHOT.write_text(found, encoding="utf-8")
    assert found == SNAPSHOT.read_text(encoding="utf-8")


def test_no_case_is_accepted() -> None:
    assert [name for name, document in CASES.items() if report(document) == "accepted"] == []


@pytest.mark.parametrize("name", ["empty range", "empty enum", "dates"])
def test_an_empty_domain_is_the_data_not_the_document(name: str) -> None:
    with pytest.raises(EmptyDomain):
        parse_document(CASES[name])


def test_problems_come_before_empty_domains() -> None:
    document = value({"type": "integer", "minimum": 5, "maximum": 4})
    document["properties"]["b"] = {"type": "what"}
    with pytest.raises(DocumentError) as caught:
        parse_document(document)
    assert [problem.place for problem in caught.value.problems] == ["/properties/b/type"]


def test_one_unsupported_keyword_decides_the_class() -> None:
    document = value({"type": "what"})
    document["$anchor"] = "x"
    with pytest.raises(UnsupportedKeyword) as caught:
        parse_document(document)
    assert [problem.place for problem in caught.value.problems] == ["/$anchor", "/properties/a/type"]


def test_long_lists_of_problems_are_cut() -> None:
    document = {"type": "object", "properties": {f"p{i}": {"type": "x"} for i in range(500)}}
    with pytest.raises(DocumentError) as caught:
        parse_document(document)
    assert len(caught.value.problems) == 101
    assert caught.value.problems[-1].message == "and 400 more problems"


def test_every_kind_is_checked() -> None:
    assert set(_CHECKS) == set(get_args(get_args(Relation)[0]))


def test_pointers_lead_to_the_place() -> None:
    document = changed(
        "trip", lambda d: d["$defs"]["Stop"]["x-factorspec"]["relations"][0]["over"].append("x/y")
    )
    with pytest.raises(DocumentError) as caught:
        parse_document(document)
    assert caught.value.place == "/$defs/Stop/x-factorspec/relations/0/over/2"


def test_nulls_and_tables_around_are_accepted() -> None:
    parse_document(
        expr(op("implies", op("ne", ref("shift"), const(None)), op("eq", ref("shift.n"), ref("m"))))
    )
    parse_document(expr(op("eq", op("sub", ref("stops[-1].day"), ref("day")), const(3))))
    inner = {
        "kind": "intension",
        "name": "in a table of the root",
        "expr": {"op": "member", "table": "pairs", "key": [ref("city"), {"op": "add", "args": [const(1)]}]},
    }
    document = related()
    document["properties"]["stops"]["items"]["x-factorspec"] = {"relations": [inner]}
    parse_document(document)
    parse_document(expr({"op": "member", "table": "days", "key": [ref("day")]}))
