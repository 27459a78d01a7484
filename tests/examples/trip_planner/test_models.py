"""The declared trips mean what the independent checker says, on every route of the own problems."""

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from pydantic import ValidationError

import factorspec_sdk as fs
from examples.trip_planner.models import AnyTrip, Variant, itinerary, messages
from examples.trip_planner.problem import Problem, load, own_problems
from factorspec_sdk.graph.compile import compile_spec
from tests.benchmarks.natural_plan_check import Record, num_stops, violations

VARIANTS: tuple[Variant, ...] = get_args(Variant)
SHORT = [path for path in own_problems().values() if len(load(path).cities) <= 6]


def routes(problem: Problem, length: int, start: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """All orders of ``length`` different cities, flights or not."""
    if len(start) == length:
        yield start
        return
    for city in problem.cities:
        if city not in start:
            yield from routes(problem, length, (*start, city))


def record_of(problem: Problem, route: tuple[str, ...], variant: Variant) -> Record:
    day, stops = 1, []
    for city in route:
        leave = day + problem.stays[city] - 1
        note = {"note": "“x”"} if variant == "open" else {}
        stops.append({"city": city, "arrive": day, "leave": leave, **note})
        day = leave
    return {"stops": stops}


def accepts(model: type[AnyTrip], record: Record) -> bool:
    try:
        model.model_validate(record)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("path", SHORT, ids=lambda path: path.stem)
def test_validation_equals_the_independent_checker_on_all_routes(path: Path, variant: Variant) -> None:
    problem = load(path)
    raw, model = problem.model_dump(mode="json"), itinerary(problem, variant)
    found = 0
    for route in routes(problem, num_stops(raw, variant)):
        record = record_of(problem, route, variant)
        right = not violations(raw, record, variant)
        assert accepts(model, record) == right, route
        found += right
    assert found > 0


@pytest.mark.parametrize("change", [("arrive", 1), ("arrive", -1), ("leave", 1), ("leave", -1)])
def test_shifted_days_are_refused(change: tuple[str, int]) -> None:
    problem = load(own_problems()["long-weekend"])
    record = record_of(problem, ("Ghent", "Metz", "Basel", "Turin"), "strict")
    model = itinerary(problem, "strict")
    assert accepts(model, record)
    for stop in record["stops"]:
        key, days = change
        stop[key] += days
        assert not accepts(model, record)
        stop[key] -= days


def test_a_broken_relation_is_named() -> None:
    problem = load(own_problems()["long-weekend"])
    with pytest.raises(ValidationError, match="direct flight"):
        itinerary(problem, "loose").model_validate(
            record_of(problem, ("Turin", "Metz", "Basel", "Ghent"), "loose")
        )


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("path", own_problems().values(), ids=lambda path: path.stem)
def test_own_problems_can_be_solved_in_every_variant(path: Path, variant: Variant) -> None:
    problem = load(path)
    compile_spec(fs.spec(itinerary(problem, variant)))
    system, user = messages(problem, variant)
    assert ("note" in system["content"]) == (variant == "open")
    assert all(city in user["content"] for city in problem.cities)


def test_an_impossible_problem_names_its_conflict() -> None:
    problem = Problem(total_days=5, stays={"Metz": 3, "Ghent": 3}, flights=())
    with pytest.raises(fs.Unsatisfiable) as caught:
        compile_spec(fs.spec(itinerary(problem, "loose")))
    assert "direct flight" in caught.value.conflict
