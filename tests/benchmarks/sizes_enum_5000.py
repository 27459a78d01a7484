"""Twenty different articles out of a catalogue of 5,000."""

from typing import Annotated, Any

from pydantic import BaseModel, Field

import factorspec_sdk as fs
from tests.benchmarks.size_case import SizeCase

NUM_ARTICLES = 5_000
NUM_ITEMS = 20


class Catalogue(BaseModel):
    """What arrives with the call."""

    articles: list[str]


class Position(BaseModel):
    """One article."""

    article: Annotated[str, fs.In("articles")]


@fs.all_different("positions[*].article", name="each article once")
class Selection(BaseModel):
    """Twenty positions."""

    positions: Annotated[list[Position], Field(min_length=NUM_ITEMS, max_length=NUM_ITEMS)]


def articles() -> list[str]:
    """Names as shops give them: a noun, a colour, a size, a number; none is a prefix of another's text."""
    nouns = ["bolt", "cable", "filter", "hinge", "lamp", "motor", "pipe", "pump", "screw", "valve"]
    colours = ["black", "blau", "grün", "rot", "白"]
    names = (f"{noun} {colour} {size}" for noun in nouns for colour in colours for size in range(100))
    return list(names)[:NUM_ARTICLES]


def check(record: Any) -> list[str]:
    """What is wrong with a selection."""
    found = [position["article"] for position in record["positions"]]
    problems = [f"unknown article {name!r}" for name in found if name not in set(articles())]
    if len(found) != NUM_ITEMS:
        problems.append(f"{len(found)} positions")
    if len(set(found)) != len(found):
        problems.append("an article stands twice")
    return problems


def case() -> SizeCase:
    """The case; the bar is 1 ms."""
    return SizeCase("enum_5000", fs.bind(Selection, Catalogue(articles=articles())), check, 1_000)
