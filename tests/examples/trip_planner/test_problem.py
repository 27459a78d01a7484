"""The problems that ship with the example."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from examples.trip_planner.problem import Problem, load, own_problems


@pytest.mark.parametrize("path", own_problems().values(), ids=lambda path: path.stem)
def test_own_problems_use_all_their_days(path: Path) -> None:
    problem = load(path)
    assert sum(problem.stays.values()) - len(problem.stays) + 1 == problem.total_days
    assert all(city in problem.in_words() for city in problem.cities)


def test_a_city_without_a_stay_is_an_error() -> None:
    with pytest.raises(ValidationError, match="Cork"):
        Problem(total_days=3, stays={"Metz": 3}, flights=(("Metz", "Cork"),))
