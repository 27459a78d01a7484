"""``next``: what can follow the text of a record that was written so far."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from factorspec_sdk.errors import JsonValue, Problem
from factorspec_sdk.fields.domains import Domain
from factorspec_sdk.fields.forms import Form, form_of
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.fields.text import json_text
from factorspec_sdk.graph.compile import CompiledSpec
from factorspec_sdk.graph.program import Branch, End, Hole, Length, Literal, Value
from factorspec_sdk.wire.schema import FreeNode, TextNode
from factorspec_server.commands.check import problems_of

State = Any  # opaque: see graph.feasibility
_SCALAR = re.compile(r'"(?:[^"\\]|\\.)*"?|[^\s,:\[\]{}"]*')
_STRING_INSIDE = re.compile(r'(?:[^"\\\x00-\x1f]|\\.)*')
_NUMBER = re.compile(r"-?[0-9][0-9.eE+-]*|-")
_MOST_DIGITS = 20


@dataclass(frozen=True, slots=True)
class Position:
    """Where a text ends in the layout: before or inside a slot or free text, or at the end.

    Attributes:
        path: of the slot or free text; None at the end of the record.
        certain: text that must come before it.
        written: the part of its own text that stands already.
        domain: of the slot; None for free text and at the end.
        feasible: indices of the values that lead to a valid record.
    """

    path: str | None
    certain: str = ""
    written: str = ""
    domain: Domain | None = None
    feasible: IndexSet | None = None


@dataclass(frozen=True, slots=True)
class Strayed:
    """The text is no beginning of a valid record.

    Attributes:
        offset: characters that still fit.
        expected: what could have come there.
    """

    offset: int
    expected: tuple[str, ...]


class _Way(NamedTuple):
    """One way to spell the text so far: node, state, characters read, certain text after its end."""

    pc: int
    state: State
    at: int
    certain: str


def next_positions(compiled: CompiledSpec, text: str) -> list[Position] | Strayed:
    """Where a text ends in the layout; several positions only where it can be read in several ways."""
    walk = _Walk(compiled, text)
    ways = [_Way(compiled.program.start, compiled.feasibility.start(), 0, "")]
    found: list[Position] = []
    while ways:
        for step in walk.steps(ways.pop()):
            if isinstance(step, _Way):
                ways.append(step)
            elif step not in found:
                found.append(step)
    return found or Strayed(walk.furthest, tuple(dict.fromkeys(walk.expected)))


class _Walk:
    """The steps from one node of the layout to the next, and how far the text could be read."""

    def __init__(self, compiled: CompiledSpec, text: str) -> None:
        self._program = compiled.program
        self._feasibility = compiled.feasibility
        self._text = text
        self.furthest = 0
        self.expected: list[str] = []

    def steps(self, way: _Way) -> Iterator[_Way | Position]:
        """Ways that go on from this one, or positions where the text ends."""
        node = self._program.nodes[way.pc]
        match node:
            case Literal():
                yield from self._literal(node, way)
            case Value():
                yield from self._value(node, way)
            case Branch():
                yield from self._branch(node, way)
            case Hole() if self._program.holes[node.hole].kind == "string":
                yield from self._string(node, way)
            case Hole():
                yield from self._json(node, way)
            case Length():
                raise AssertionError("passed together with the text before it")
            case End():
                if way.at == len(self._text):
                    yield Position(None, way.certain)
                else:
                    self._stray(way.at, "the end of the record")

    def _literal(self, node: Literal, way: _Way) -> Iterator[_Way]:
        rest = self._text[way.at :]
        if rest.startswith(node.text):
            yield way._replace(pc=node.next, at=way.at + len(node.text))
        elif node.text.startswith(rest):
            yield _Way(node.next, way.state, len(self._text), way.certain + node.text[len(rest) :])
        else:
            same = _num_common(rest, node.text)
            self._stray(way.at + same, json_text(node.text[same:]))

    def _value(self, node: Value, way: _Way) -> Iterator[_Way | Position]:
        slot = self._program.slots[node.slot]
        feasible = self._feasibility.values(way.state, node.slot)
        rest = self._text[way.at :]
        token = _scalar_token(rest)
        if len(token) == len(rest) and not (token.endswith('"') and len(token) > 1):
            begun = _beginning_with(slot.domain, feasible.listed(), rest)
            if begun:
                yield Position(slot.path, way.certain, rest, slot.domain, begun)
            else:
                self._stray(way.at, f"a feasible value of {slot.path}")
            return
        index = _index_of_text(slot.domain, token)
        if index is None:
            self._stray(way.at, f"a value of {slot.path}")
        elif index not in feasible:
            self._stray(way.at, f"a feasible value of {slot.path}; {token} leads to no valid record")
        else:
            after = self._feasibility.assign(way.state, node.slot, index)
            yield way._replace(pc=node.next, state=after, at=way.at + len(token))

    def _branch(self, node: Branch, way: _Way) -> Iterator[_Way | Position]:
        slot = self._program.slots[node.slot]
        feasible = self._feasibility.values(way.state, node.slot)
        if way.at == len(self._text) and len(feasible) > 1:
            yield Position(slot.path, way.certain, "", slot.domain, feasible)
            return
        for index in feasible:
            after = self._feasibility.assign(way.state, node.slot, index)
            yield way._replace(pc=node.targets[index], state=after)

    def _string(self, node: Hole, way: _Way) -> Iterator[_Way | Position]:
        hole, rest = self._program.holes[node.hole], self._text[way.at :]
        match = _STRING_INSIDE.match(rest)
        length = 0 if match is None else match.end()
        if rest[length:] in ("", "\\"):
            yield Position(hole.path, way.certain, rest)
        elif rest[length] != '"':
            self._stray(way.at + length, f"a character of {hole.path}")
        else:
            value = _loaded(f'"{rest[:length]}"')
            node_schema = TextNode("", hole.min_length, hole.max_length, hole.schema)
            problems = list(problems_of(node_schema, value, hole.path))
            behind = self._program.nodes[node.next]
            if isinstance(behind, Length) and not problems:
                yield from self._length(behind, way, len(str(value)), length)
            else:
                yield from self._free(node, way, problems, length)

    def _length(self, node: Length, way: _Way, size: int, written: int) -> Iterator[_Way]:
        """The text before has ``size`` characters, written as ``written``."""
        slot = self._program.slots[node.slot]
        index = slot.domain.index(size)
        if index is None or index not in self._feasibility.values(way.state, node.slot):
            self._stray(way.at, f"a feasible {slot.path}; {size} leads to no valid record")
        else:
            after = self._feasibility.assign(way.state, node.slot, index)
            yield way._replace(pc=node.next, state=after, at=way.at + written)

    def _json(self, node: Hole, way: _Way) -> Iterator[_Way | Position]:
        hole, rest = self._program.holes[node.hole], self._text[way.at :]
        number = _NUMBER.match(rest)
        if number is not None and number.end() == len(rest):
            yield Position(hole.path, way.certain, rest)  # a number may go on
            return
        try:
            value, length = json.JSONDecoder().raw_decode(rest)
        except ValueError:
            yield Position(hole.path, way.certain, rest)
            return
        schema = FreeNode("", hole.schema or {})
        yield from self._free(node, way, list(problems_of(schema, value, hole.path)), length)

    def _free(self, node: Hole, way: _Way, problems: list[Problem], length: int) -> Iterator[_Way]:
        if problems:
            self._stray(way.at, str(problems[0]))
        else:
            yield way._replace(pc=node.next, at=way.at + length)

    def _stray(self, at: int, expected: str) -> None:
        if at > self.furthest:
            self.furthest, self.expected = at, []
        if at == self.furthest:
            self.expected.append(expected)


def _num_common(left: str, right: str) -> int:
    """How many first characters two texts share."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(left), len(right)))


def _loaded(text: str) -> JsonValue:
    value: JsonValue = json.loads(text)
    return value


def _scalar_token(rest: str) -> str:
    """The JSON scalar, whole or begun, that a text begins with."""
    match = _SCALAR.match(rest)
    return "" if match is None else match.group()


def _index_of_text(domain: Domain, token: str) -> int | None:
    """The value that is spelled exactly so."""
    try:
        index = domain.index(json.loads(token))
    except ValueError:
        return None
    return index if index is not None and domain.text(index) == token else None


def _beginning_with(domain: Domain, feasible: IndexSet, begun: str) -> IndexSet:
    """Feasible values whose text begins so."""
    if not begun:
        return feasible
    codes, form = domain.stride, form_of(domain)
    if codes is None:
        return IndexSet.of(index for index in feasible if domain.text(index).startswith(begun))
    spans = []
    for lo, hi in _integers_beginning(begun) if form is None else _codes_beginning(form, begun):
        first = -(-(max(lo, codes.lo) - codes.lo) // codes.step)
        last = (min(hi, codes.hi) - codes.lo) // codes.step
        spans.append((first, last))
    return feasible & IndexSet.union_of(spans)


def _codes_beginning(form: Form, begun: str) -> list[tuple[int, int]]:
    """Intervals of the codes whose texts begin so."""
    widest = 10**_MOST_DIGITS
    if form.opening.startswith(begun):
        return [(-widest, widest)]
    inside = begun.removeprefix(form.opening)
    negative = inside.startswith("-")
    body = inside.removeprefix("-") if negative else inside
    if form.closing and body.endswith(form.closing):
        whole = form.magnitude(body.removesuffix(form.closing))
        spans = [] if whole is None else [(whole, whole)]
    else:
        spans = list(form.spans(body))
    return [(-hi, -max(lo, 1)) for lo, hi in spans] if negative else spans


def _integers_beginning(begun: str) -> list[tuple[int, int]]:
    """Intervals of the integers whose digits begin so."""
    digits = begun.removeprefix("-")
    if digits in ("", "0") or digits.startswith("0") or not digits.isdecimal():
        widest = 10**_MOST_DIGITS
        return {"-": [(-widest, -1)], "0": [(0, 0)]}.get(begun, [])
    head, more = int(digits), range(_MOST_DIGITS)
    spans = [(head * 10**n, head * 10**n + 10**n - 1) for n in more]
    return [(-hi, -lo) for lo, hi in spans] if begun.startswith("-") else spans
