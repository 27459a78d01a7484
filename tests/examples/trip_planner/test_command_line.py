"""The example as a person runs it."""

import json
from pathlib import Path

import pytest

from examples.trip_planner.__main__ import main

PROBLEM = {"total_days": 4, "stays": {"Metz": 2, "Ghent": 3}, "flights": [["Metz", "Ghent"]]}


def test_list_shows_the_own_problems(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert "harbours" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["nowhere"],
        ["--natural-plan", "nowhere.json", "--id", "x"],
        ["--natural-plan", "nowhere.json"],
        ["--id", "x"],
    ],
)
def test_a_problem_that_cannot_be_read_exits_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert "Cannot read the problem" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.timeout(300)
def test_a_problem_becomes_a_timeline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(PROBLEM), encoding="utf-8")
    assert main([str(path), "--variant", "strict", "--origins"]) == 0
    output = capsys.readouterr().out
    assert output.index("Metz") < output.index("Ghent")
    assert "1–2" in output
    assert "2–4" in output
    assert " certain: determined by the spec" in output


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.timeout(300)
def test_an_impossible_problem_exits_with_1_and_names_the_conflict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "problem.json"
    path.write_text(json.dumps({**PROBLEM, "flights": []}), encoding="utf-8")
    assert main([str(path), "--variant", "strict"]) == 1
    assert "direct flight" in capsys.readouterr().err
