"""The example as a person runs it."""

import json
from pathlib import Path

import pytest

from examples.meeting_planner.__main__ import main
from examples.meeting_planner.problem import own_problems


def test_list_shows_the_own_problems(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert "lisbon" in capsys.readouterr().out


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


def test_a_travel_time_that_is_missing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem = json.loads(own_problems()["lisbon"].read_text(encoding="utf-8"))
    del problem["travel"]["Chiado"]["Oriente"]
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(problem), encoding="utf-8")
    assert main([str(path)]) == 2
    assert "no travel time from 'Chiado' to 'Oriente'" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.timeout(300)
def test_a_day_becomes_a_chart_with_its_optimum(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lisbon"]) == 0
    output = capsys.readouterr().out
    assert "proven to be the optimum" in output
    assert all(name in output for name in ("Rui", "Marta", "Zé"))


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.timeout(300)
def test_calendars_that_clash_exit_with_1_and_name_the_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clash"]) == 1
    errors = capsys.readouterr().err
    assert "Ada is busy" in errors and "Björn is busy" in errors
    assert "Chidi" not in errors
