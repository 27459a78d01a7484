"""``factorspec report``, and what any command says of a spec that it cannot read."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path

import pytest

from tests.server.commands.calling import ORDER, lines, run, written


def test_report_says_what_is_enforced_and_how(spec: str) -> None:
    facts = json.loads("\n".join(lines(run("report", spec, "--json"))))
    how = {part["pointer"]: part["enforcement"] for part in facts["parts"]}
    assert how["/x-factorspec/relations/0"] == how["/properties/low"] == how["/properties/note"] == "enforced"
    assert how["/x-factorspec/relations/2"] == "validated only"
    assert how["/properties/weight"] == "delegated"
    assert facts["satisfiable"] is True
    assert ["low", 501] in facts["widest"]
    tiers = {tuple(one["relations"]): (one["tier"], one["exact"]) for one in facts["components"]}
    assert tiers == {("once",): ("search", True), ("rising",): ("sets", True)}
    told = lines(run("report", spec))
    assert "satisfiable: yes" in told
    assert any("by sets of numbers" in line and line.endswith(": rising") for line in told)


def test_report_names_a_conflict(tmp_path: Path) -> None:
    document = copy.deepcopy(ORDER)
    falling = {"name": "falling", "kind": "ordered", "over": ["$.low", "$.high"], "op": "gt"}
    document["x-factorspec"]["relations"].append(falling)
    result = run("report", written(tmp_path, "spec.json", document), "--json")
    assert result.exit_code == 3
    facts = json.loads(result.stdout)
    assert (facts["satisfiable"], sorted(facts["conflict"])) == (False, ["falling", "rising"])
    assert "[unsatisfiable]" in result.stderr


def test_all_problems_of_a_document_are_told(tmp_path: Path) -> None:
    document = copy.deepcopy(ORDER)
    document["properties"]["stops"]["uniqueItems"] = 3
    document["x-factorspec"]["relations"].append({"name": "odd", "kind": "sudoku"})
    result = run("report", written(tmp_path, "spec.json", document))
    assert result.exit_code == 2
    assert "refused  /properties/stops/uniqueItems" in result.stdout
    assert "/properties/stops/uniqueItems" in result.stderr
    assert "/x-factorspec/relations/3" in result.stderr


def test_a_defect_is_told_without_a_traceback(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise KeyError("unexpected")

    monkeypatch.setattr("factorspec_server.commands.app.report_on", fail)
    result = run("report", spec)
    assert result.exit_code == 5
    assert "This is a defect of factorspec" in result.stderr
    assert "Traceback" not in result.output


def test_a_spec_may_be_a_model_in_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = "from typing import Literal\nfrom pydantic import BaseModel\n\n"
    code = f"{head}class Size(BaseModel):\n    size: Literal['S', 'M']\n"
    (tmp_path / "my_sizes_module.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert lines(run("check", "my_sizes_module:Size", "-", stdin='{"size": "S"}'))
    assert run("check", "my_sizes_module:Other", "-", stdin="{}").exit_code == 2


@pytest.mark.parametrize("source", ["missing.json", "no_such_module:Model", "json:dumps"])
def test_specs_that_are_not_there(source: str) -> None:
    result = run("report", source)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")


def test_one_standard_input_cannot_be_two_things() -> None:
    assert run("check", "-", "-", stdin="{}").exit_code == 2


def test_version() -> None:
    assert lines(run("--version"))[0].startswith("factorspec ")
