"""How many constraint workers the embedded engine gets."""

import pytest

from factorspec_server.commands.constraint_workers import num_workers
from factorspec_server.commands.failures import CommandError


@pytest.mark.parametrize(
    ("wanted", "variable", "cores", "workers"),
    [
        (None, "", 2, 0),
        (None, "", 4, 1),
        (None, "", 8, 2),
        (None, "3", 2, 3),
        (None, "0", 64, 0),
        (0, "3", 64, 0),
        (5, "0", 1, 5),
    ],
)
def test_the_command_line_goes_before_the_environment_and_that_before_the_machine(
    wanted: int | None, variable: str, cores: int, workers: int
) -> None:
    environment = {"FACTORSPEC_WORKERS": variable} if variable else {}
    assert num_workers(wanted, environment, cores) == workers


@pytest.mark.parametrize("variable", ["many", "-1", "1.5", "65", "9" * 5000])
def test_what_is_no_number_of_workers_is_refused(variable: str) -> None:
    with pytest.raises(CommandError, match="FACTORSPEC_WORKERS must be a number from 0 to 64"):
        num_workers(None, {"FACTORSPEC_WORKERS": variable}, 4)


def test_workers_that_the_system_cannot_have_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert num_workers(None, {}, 64) == 0
    with pytest.raises(CommandError, match="--workers 0"):
        num_workers(1, {}, 64)
