"""``factorspec explain`` in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from factorspec_server.commands.app import app

NUMBER = {"type": "integer", "minimum": 0, "maximum": 500}
ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {"low": NUMBER, "high": NUMBER},
    "required": ["low", "high"],
    "additionalProperties": False,
    "x-factorspec": {
        "version": 1,
        "relations": [{"name": "rising", "kind": "ordered", "over": ["$.low", "$.high"], "op": "lt"}],
    },
}


@pytest.fixture
def spec(tmp_path: Path) -> str:
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(ORDER), encoding="utf-8")
    return str(path)


def run(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, ["explain", *arguments], input=stdin)


def test_an_invalid_record_and_the_nearest_valid_one(spec: str) -> None:
    told = run(spec, "-", stdin='{"low": 7, "high": 7}')
    assert told.exit_code == 1
    assert "relation 'rising'" in told.stdout
    assert "nearest valid record, 1 changed:" in told.stdout
    record = json.loads(told.stdout.splitlines()[-1])
    assert record["low"] < record["high"]


def test_a_valid_record(spec: str) -> None:
    told = run(spec, "-", stdin='{"low": 1, "high": 7}')
    assert (told.exit_code, told.stdout) == (0, "the record is valid\n")


def test_as_json(spec: str) -> None:
    told = run(spec, "-", "--json", stdin='{"low": 7, "high": 501}')
    answer = json.loads(told.stdout)
    assert answer["valid"] is False
    assert answer["problems"][0]["place"] == "high"
    assert answer["nearest"]["record"] == {"low": 7, "high": 500}
    assert answer["nearest"]["proven"] is True


def test_why_a_value_is_not_allowed(spec: str) -> None:
    told = run(spec, "-", "--at", "high", "--value", "7", stdin='{"low": 7}')
    assert told.exit_code == 1
    assert told.stdout == "high = 7 is not allowed: with low = 7, it contradicts 'rising'\n"
    assert run(spec, "--at", "high", "--value", "7").exit_code == 0


def test_without_a_record_the_conflict(spec: str, tmp_path: Path) -> None:
    assert run(spec).stdout == "records exist: no relations contradict each other\n"
    both = json.loads(json.dumps(ORDER))
    falling = {"name": "falling", "kind": "ordered", "over": ["$.low", "$.high"], "op": "gt"}
    both["x-factorspec"]["relations"].append(falling)
    path = tmp_path / "both.json"
    path.write_text(json.dumps(both), encoding="utf-8")
    told = run(str(path))
    assert told.exit_code == 3
    assert "'rising'" in told.stderr
    assert "'falling'" in told.stderr
    assert run(str(path), "-", stdin='{"low": 1, "high": 2}').exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (["--at", "high"], ""),
        (["--at", "high", "--value", "seven"], ""),
        (["--at", "hihg", "--value", "7"], ""),
        (["-"], "[1]"),
        (["-"], "{"),
        (["no_such_file.json"], ""),
    ],
)
def test_odd_questions_are_usage_errors(spec: str, arguments: list[str], stdin: str) -> None:
    told = run(spec, *arguments, stdin=stdin)
    assert told.exit_code == 2
    assert told.stderr.startswith("error: ")
    assert "Traceback" not in told.output


def test_a_decimal_without_quotes_is_told_to_take_some(tmp_path: Path) -> None:
    price = {"type": "string", "enum": ["9.00", "9.50"]}
    path = tmp_path / "price.json"
    document = {"type": "object", "properties": {"price": price}, "required": ["price"]}
    path.write_text(json.dumps({**document, "additionalProperties": False}), encoding="utf-8")
    told = run(str(path), "--at", "price", "--value", "9.00")
    assert told.exit_code == 1
    assert """Decimals are texts in JSON: --value '"9.00"'""" in told.stdout
    assert "Decimals" not in run(str(path), "--at", "price", "--value", "8").stdout
    assert run(str(path), "--at", "price", "--value", '"9.00"').exit_code == 0
