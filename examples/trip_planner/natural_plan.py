"""Problems of the NATURAL PLAN benchmark (trip planning), read from the text of their prompt.

Two forms of files are understood::

    official   one JSON object: id -> {"prompt_0shot": text, ...}
    lines      one JSON object a line: {"id": id, "problem": {...}, "prompt": text, ...}
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from examples.trip_planner.problem import Problem, Window

HEAD = re.compile(r"visit (?P<cities>\d+) \w+ cities for (?P<days>\d+) days in total")
STAY_FIRST = re.compile(
    r"^You (?:would like to visit|plan to stay in|plan to visit) (?P<city>.+) for (?P<days>\d+) days$"
)
DAYS_FIRST = re.compile(r"^You want to spend (?P<days>\d+) days in (?P<city>.+)$")
DATES = re.compile(r"day (?P<first>\d+) (?:and|to) day (?P<last>\d+)", re.IGNORECASE)
KINDS = ("wedding", "workshop", "relatives", "show", "conference", "tour", "friend")
FLIGHTS_HEADING = re.compile(r"^Here are the cities that have direct flights:\s*", re.MULTILINE)


class NotATripProblem(ValueError):
    """The text or file does not have the form of the benchmark."""


def find_problem(path: Path, identifier: str) -> Problem:
    """The problem with that id. Raises NotATripProblem if the file has none."""
    known = []
    for name, record in _records(path):
        if name == identifier:
            return read_record(name, record)
        known.append(name)
    raise NotATripProblem(
        f"{path.name} has no problem {identifier!r}; it has {len(known)}, {known[:3]} among them"
    )


def read_record(name: str, record: dict[str, Any]) -> Problem:
    """One record of either form."""
    if "problem" in record:
        return Problem.model_validate({**record["problem"], "title": name, "text": record.get("prompt")})
    if "prompt_0shot" not in record:
        raise NotATripProblem(f"{name!r} has neither 'problem' nor 'prompt_0shot'")
    return read_prompt(name, record["prompt_0shot"])


def read_prompt(title: str, text: str) -> Problem:
    """Read the problem that a prompt states. Every sentence must be understood."""
    head = HEAD.search(text)
    parts = FLIGHTS_HEADING.split(text, maxsplit=1)
    if head is None or len(parts) != 2:
        raise NotATripProblem(f"not a trip prompt: {text[:80]!r}")
    stays, dated = _sort_sentences(text[head.end() : len(parts[0])])
    if len(stays) != int(head["cities"]):
        raise NotATripProblem(f"{len(stays)} lengths of stay for {head['cities']} cities")
    return Problem(
        title=title,
        text=text,
        total_days=int(head["days"]),
        stays=stays,
        windows=tuple(_window(sentence, stays) for sentence in dated),
        flights=tuple(sorted(set(_flights(parts[1].strip().split("\n")[0].rstrip("."))))),
    )


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    text = path.read_text(encoding="utf-8")
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        for line in text.splitlines():
            record = json.loads(line)
            yield record["id"], record
        return
    if "id" in whole:
        yield whole["id"], whole
    else:
        yield from whole.items()


def _sort_sentences(text: str) -> tuple[dict[str, int], list[str]]:
    """Lengths of stay, and the sentences that give dates."""
    stays: dict[str, int] = {}
    dated = []
    sentences = (sentence.strip() for sentence in re.split(r"\.(?:\s+|$)", text))
    for sentence in filter(None, sentences):
        stay = STAY_FIRST.match(sentence) or DAYS_FIRST.match(sentence)
        if stay is not None:
            stays[stay["city"]] = int(stay["days"])
        elif DATES.search(sentence):
            dated.append(sentence)
        elif sentence != "You only take direct flights to commute between cities":
            raise NotATripProblem(f"sentence not understood: {sentence!r}")
    return stays, dated


def _window(sentence: str, stays: dict[str, int]) -> Window:
    dates = DATES.search(sentence)
    named = [city for city in stays if re.search(rf"\b(?:in|at) {re.escape(city)}\b", sentence)]
    if dates is None or not named:
        raise NotATripProblem(f"sentence not understood: {sentence!r}")
    kind = next((kind for kind in KINDS if kind in sentence), "appointment")
    return Window(
        city=max(named, key=len), kind=kind, from_day=int(dates["first"]), to_day=int(dates["last"])
    )


def _flights(text: str) -> Iterator[tuple[str, str]]:
    """'A and B' flies both ways, 'from A to B' one way."""
    for item in text.split(", "):
        if one_way := re.fullmatch(r"from (.+?) to (.+)", item):
            yield one_way[1], one_way[2]
        elif both_ways := re.fullmatch(r"(.+?) and (.+)", item):
            yield both_ways[1], both_ways[2]
            yield both_ways[2], both_ways[1]
        else:
            raise NotATripProblem(f"flight not understood: {item!r}")
