"""Open trips, whose gold records have a note at each stop (``serving_notes.py``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import factorspec_sdk as fs
from examples.trip_planner.models import FEWEST_TO_CHOOSE_FROM, LEFT_OUT, itinerary, messages
from examples.trip_planner.natural_plan import read_record
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.tokens import Vocabulary
from tests.benchmarks.drafts_gold import Gold
from tests.benchmarks.serving_notes import SHORT_CHARACTERS, long_notes, short_notes

#: most characters of a long note; 128 tokens of English have about 600
LONG_CHARACTERS = 1200


def long_trips(data: Path, bfcl: Path, vocabulary: Vocabulary, limit: int) -> list[Gold]:
    """Open trips with a note of 128 tokens at each stop."""
    return _trips(data, cycle(long_notes(bfcl, vocabulary)), vocabulary, limit, long=True)


def short_trips(data: Path, bfcl: Path, vocabulary: Vocabulary, limit: int) -> list[Gold]:
    """Open trips as the example has them, a note of up to ``SHORT_CHARACTERS`` characters at each stop."""
    return _trips(data, cycle(short_notes(bfcl)), vocabulary, limit, long=False)


def _trips(
    folder: Path, notes: Iterator[str], vocabulary: Vocabulary, limit: int, *, long: bool
) -> list[Gold]:
    lines = (folder / "trip.jsonl").read_text(encoding="utf-8").splitlines()
    count = min(limit, len(lines))
    found = []
    for at in range(count):
        raw = json.loads(lines[at * len(lines) // count])
        problem = read_record(raw["id"], raw)
        document = fs.document(itinerary(problem, "open"))
        asked = "\n".join(message["content"] for message in messages(problem, "open"))
        if long:
            document = with_long_notes(document)
            asked = asked.replace("a short note: one thing", "a note of about a hundred words: things")
        record = {"stops": [{**stop, "note": next(notes)} for stop in _stops(raw)]}
        tokens = vocabulary.encode(json.dumps(record, ensure_ascii=False))
        found.append(Gold(raw["id"], document, vocabulary.encode(asked), tokens))
    return found


def _stops(raw: Any) -> Iterator[dict[str, Any]]:
    """The first stops of the gold trip: an open trip leaves some cities out, here the last ones."""
    cities, day = len(raw["cities"]), 1
    count = cities - LEFT_OUT if cities >= FEWEST_TO_CHOOSE_FROM else cities
    for city, days in zip(raw["cities"][:count], raw["durations"][:count], strict=True):
        yield {"city": city, "arrive": day, "leave": day + days - 1}
        day += days - 1


def with_long_notes(document: JsonValue) -> Any:
    """The document with room for long notes."""
    if isinstance(document, dict):
        made = {key: with_long_notes(part) for key, part in document.items()}
        if made.get("maxLength") == SHORT_CHARACTERS:
            made["maxLength"] = LONG_CHARACTERS
        return made
    return [with_long_notes(part) for part in document] if isinstance(document, list) else document
