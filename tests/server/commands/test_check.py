"""``factorspec check``: what is wrong with a record, relation by relation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.commands.calling import RECORD, TEXT, lines, process, run, written

DAY = {"min": "08:00:00", "max": "18:00:00", "step": 1800}
MEETING: dict[str, Any] = {
    "type": "object",
    "properties": {
        name: {"type": "string", "format": "time", "x-factorspec": {"domain": DAY}}
        for name in ("start", "end")
    },
    "required": ["start", "end"],
    "additionalProperties": False,
    "x-factorspec": {
        "version": 1,
        "relations": [{"name": "in order", "kind": "ordered", "over": ["$.start", "$.end"], "op": "lt"}],
    },
}


def test_check_a_valid_record(spec: str) -> None:
    assert lines(run("check", spec, "-", stdin=TEXT)) == ["valid: 3 of 3 relations hold"]


def test_check_explains_everything_that_is_wrong(spec: str, tmp_path: Path) -> None:
    wrong = RECORD | {"low": 9, "high": 3, "city": "Paris", "stops": ["x", "x"], "note": "", "more": 1}
    del wrong["weight"]
    result = run("check", spec, written(tmp_path, "record.json", wrong))
    assert result.exit_code == 1
    for place in (
        "city: not one of the 5 values",
        "more: is not a field",
        "weight: is missing",
        "note: must have",
    ):
        assert place in result.stdout
    for relation in ("'once' (no stop twice)", "'rising'"):
        assert f"relation {relation}" in result.stdout
    assert "stops[0] and stops[1]" in result.stdout


def test_check_tells_report_only_relations_but_does_not_count_them(spec: str) -> None:
    told = lines(run("check", spec, "-", stdin=json.dumps(RECORD | {"high": 200})))
    assert told[0] == "valid: 2 of 3 relations hold"
    assert "'short'" in told[1] and told[1].endswith("[report only]")


@pytest.mark.parametrize("stdin", ["{", "nope", '{"a": 1}}', ""])
def test_check_of_what_is_no_json(spec: str, stdin: str) -> None:
    result = run("check", spec, "-", stdin=stdin)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: '-' is not JSON")


@pytest.mark.parametrize("record", [[], None, 3, {"stops": 3}, {"stops": [[]], "low": "1", "note": 1}])
def test_check_of_records_of_another_shape(spec: str, record: Any) -> None:
    result = run("check", spec, "-", stdin=json.dumps(record))
    assert result.exit_code == 1
    assert "must be" in result.stdout or "is missing" in result.stdout


def test_check_as_a_process(spec: str) -> None:
    with process("check", spec, "-") as check:
        out, err = check.communicate(json.dumps(RECORD | {"high": 0}), timeout=60)
    assert (check.returncode, err) == (1, "")
    assert "rising" in out


def test_check_compares_times_with_times(tmp_path: Path) -> None:
    spec = written(tmp_path, "spec.json", MEETING)
    for start, end, code in (("09:00:00", "10:30:00", 0), ("10:30:00", "09:00:00", 1)):
        result = run("check", spec, written(tmp_path, "record.json", {"start": start, "end": end}))
        assert result.exit_code == code, result.output
        assert ("1 of 1 relations hold" in result.output) == (code == 0)
