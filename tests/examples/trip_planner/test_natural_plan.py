"""Reading problems of the benchmark from their text, in both forms of files."""

import json
from pathlib import Path

import pytest

from examples.trip_planner.natural_plan import NotATripProblem, find_problem, read_prompt, read_record
from examples.trip_planner.problem import Window

PROMPT = """You plan to visit 3 European cities for 9 days in total. \
You only take direct flights to commute between cities. You want to spend 4 days in Ghent. \
You plan to stay in Saint-Malo for 3 days. You would like to visit Cork for 4 days. \
During day 3 and day 5, you have to attend a conference in Saint-Malo. \
From day 1 to day 2, there is a annual show you want to attend in Ghent.

Here are the cities that have direct flights:
Ghent and Saint-Malo, from Saint-Malo to Cork.

Find a trip plan of visiting the cities for 9 days by taking direct flights to commute between them."""


def test_a_prompt_is_read_whole() -> None:
    problem = read_prompt("x", PROMPT)
    assert problem.total_days == 9
    assert problem.stays == {"Ghent": 4, "Saint-Malo": 3, "Cork": 4}
    assert problem.flights == (("Ghent", "Saint-Malo"), ("Saint-Malo", "Cork"), ("Saint-Malo", "Ghent"))
    assert problem.windows == (
        Window(city="Saint-Malo", kind="conference", from_day=3, to_day=5),
        Window(city="Ghent", kind="show", from_day=1, to_day=2),
    )
    assert problem.in_words() == PROMPT


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("You want to spend 4 days in Ghent", "Ghent is nice"),
        ("visit 3 European", "visit 4 European"),
        ("conference in Saint-Malo", "conference in Lyon"),
        ("Ghent and Saint-Malo,", "Ghent or Saint-Malo,"),
        ("Here are the cities", "These are the cities"),
    ],
)
def test_a_sentence_that_is_not_understood_is_an_error(old: str, new: str) -> None:
    assert old in PROMPT
    with pytest.raises(NotATripProblem):
        read_prompt("x", PROMPT.replace(old, new))


def test_official_and_line_forms_give_the_same_problem(tmp_path: Path) -> None:
    official = tmp_path / "trip.json"
    official.write_text(json.dumps({"a": {"prompt_0shot": PROMPT}, "b": {"prompt_0shot": PROMPT}}))
    problem = read_prompt("b", PROMPT)
    lines = tmp_path / "trip.jsonl"
    fields = problem.model_dump(include={"total_days", "stays", "windows", "flights"})
    records = [{"id": name, "prompt": PROMPT, "problem": {"num_cities": 3, **fields}} for name in ("a", "b")]
    lines.write_text("\n".join(map(json.dumps, records)))
    assert find_problem(official, "b") == problem
    assert find_problem(lines, "b") == problem
    lines.write_text(json.dumps(records[1]))
    assert find_problem(lines, "b") == problem
    with pytest.raises(NotATripProblem, match="'c'"):
        find_problem(official, "c")


def test_every_shared_problem_is_read_from_its_text(shared_dir: Path) -> None:
    path = shared_dir / "natural_plan" / "trip.jsonl"
    if not path.exists():
        path = shared_dir / "data" / "natural_plan" / "trip.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        assert read_prompt(record["id"], record["prompt"]) == read_record(record["id"], record)
