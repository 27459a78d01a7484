"""How ``next`` shows where a text ends."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from factorspec_sdk.errors import JsonValue, shown
from factorspec_sdk.fields.domains import BranchDomain, Domain
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.fields.text import json_text
from factorspec_server.commands.next_slot import Position, Strayed

#: ranges of more values are told by their ends
_MOST_LISTED = 1_000
_SHOWN_SPANS = 50
_SHOWN_BEFORE = 40


def position_lines(position: Position) -> Iterator[str]:
    """One position for people."""
    if position.certain:
        yield f"certain: {position.certain}"
    if position.path is None:
        yield "the record is complete"
    elif position.domain is None or position.feasible is None:
        yield f"{position.path}: free text"
    else:
        yield f"{position.path}: {len(position.feasible)} of {len(position.domain)} values"
        yield from (f"  {text}" for text in islice(_values(position.domain, position.feasible), _SHOWN_SPANS))
        if len(position.feasible.spans) > _SHOWN_SPANS:
            yield "  …"


def position_json(position: Position) -> dict[str, JsonValue]:
    """One position as JSON; integers as closed intervals ``[lo, hi]`` of feasible values in steps, and so
    other ranges of many values.
    """
    domain, feasible = position.domain, position.feasible
    found: dict[str, JsonValue] = {
        "path": position.path,
        "certain": position.certain,
        "written": position.written,
    }
    if domain is None or feasible is None:
        return found | {"kind": "end" if position.path is None else "free"}
    integers = domain.integers
    if integers is not None:
        spans: list[JsonValue] = [[integers.code(lo), integers.code(hi)] for lo, hi in feasible.spans]
        return found | {"kind": "integer", "count": len(feasible), "step": integers.step, "spans": spans}
    if domain.stride is not None and len(feasible) > _MOST_LISTED:
        ends: list[JsonValue] = [[domain.value(lo), domain.value(hi)] for lo, hi in feasible.spans]
        return found | {"kind": "value", "count": len(feasible), "spans": ends}
    kind = "decision" if isinstance(domain, BranchDomain) else "value"
    return found | {
        "kind": kind,
        "count": len(feasible),
        "values": [domain.value(index) for index in feasible],
    }


def strayed_lines(text: str, strayed: Strayed) -> Iterator[str]:
    """Where a text stops being the beginning of a valid record, for people."""
    before = text[max(0, strayed.offset - _SHOWN_BEFORE) : strayed.offset]
    yield f"error: no valid record begins so: character {strayed.offset}, after {json_text(before)}"
    yield (
        f"  found {shown(text[strayed.offset :])}"
        if strayed.offset < len(text)
        else "  found the end of the text"
    )
    for expected in strayed.expected:
        yield f"  expected {expected}"


def _values(domain: Domain, feasible: IndexSet) -> Iterator[str]:
    """Feasible values; runs of integers as ranges."""
    if isinstance(domain, BranchDomain):
        names = ["no", "yes"] if domain.size == 2 else [f"branch {index}" for index in range(domain.size)]
        yield from (names[index] for index in feasible)
    elif domain.integers is None and (domain.stride is None or len(feasible) <= _MOST_LISTED):
        yield from (domain.text(index) for index in feasible)
    else:
        integers = domain.integers
        step = "" if integers is None or integers.step == 1 else f" in steps of {integers.step}"
        for lo, hi in feasible.spans:
            yield domain.text(lo) if lo == hi else f"{domain.text(lo)} to {domain.text(hi)}{step}"
