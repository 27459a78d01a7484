"""Texts, numbers, booleans and null that a schema admits, as automata. Sets are combined exactly.

A text stands for itself, without quotes; a number for how it is written (``numbers``); the others as in JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from typing import Literal, get_args

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.wire.keywords import Schema
from factorspec_sdk.wire.languages.automaton import (
    ANYTHING,
    MAX_STATES,
    NOTHING,
    Automaton,
    TooManyStates,
    of_lengths,
    of_texts,
)
from factorspec_sdk.wire.languages.formats import format_texts
from factorspec_sdk.wire.languages.numbers import compared, integers, multiples, number_text, numbers
from factorspec_sdk.wire.languages.regex import search
from factorspec_sdk.wire.languages.resources import NotFree, Resources
from factorspec_sdk.wire.patterns import PatternProblem
from factorspec_sdk.wire.problems import pointer

ScalarType = Literal["null", "boolean", "number", "string"]
SCALAR_TYPES: tuple[ScalarType, ...] = get_args(ScalarType)
#: states of the automata of one document
MAX_STATES_TOGETHER = 30_000
_BOUNDS = {"minimum": "ge", "exclusiveMinimum": "gt", "maximum": "le", "exclusiveMaximum": "lt"}


@cache
def universe(kind: ScalarType) -> Automaton:
    """All values of a type."""
    match kind:
        case "null":
            return of_texts(["null"])
        case "boolean":
            return of_texts(["true", "false"])
        case "number":
            return numbers()
        case "string":
            return ANYTHING


def scalar_text(value: JsonValue) -> tuple[ScalarType, str] | None:
    """Type and text of a scalar; None for objects, lists and numbers that are not written."""
    match value:
        case None:
            return "null", "null"
        case bool():
            return "boolean", "true" if value else "false"
        case str():
            return "string", value
        case int() | float():
            text = number_text(value)
            return None if text is None else ("number", text)
        case _:
            return None


class Scalars:
    """The scalar values of a document's schemas. Sets are kept by schema and type."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._known: dict[tuple[int, ScalarType], Automaton | None] = {}
        self._states = 0

    def of(self, number: int, kind: ScalarType) -> Automaton:
        """The values of a type that a schema admits.

        Raises:
            NotFree: a keyword cannot be enforced exactly, or the schema refers to itself.
        """
        key = (number, kind)
        entry = self._resources.entries[number]
        if key in self._known:
            found = self._known[key]
            if found is None:
                raise NotFree(entry.place, "the schema refers to itself without end")
            return found
        if isinstance(entry.schema, bool):
            return universe(kind) if entry.schema else NOTHING
        if self._states > MAX_STATES_TOGETHER:
            raise NotFree(entry.place, "the texts and numbers of open values are too many to tell apart")
        self._known[key] = None
        try:
            found = universe(kind)
            for part in self._parts(number, entry.schema, kind, entry.place):
                found = found & part
        except NotFree:
            del self._known[key]
            raise
        self._known[key] = found
        self._states += 0 if found is universe(kind) else len(found.edges)
        return found

    def _parts(self, number: int, schema: Schema, kind: ScalarType, place: str) -> Iterator[Automaton]:
        for key, value in schema.items():
            try:
                yield from self._part(number, schema, key, value, kind)
            except TooManyStates:
                self._states += MAX_STATES
                raise NotFree(pointer(place, key), f"{key} is too large to be enforced here", value) from None
            except PatternProblem as problem:
                message = f"the pattern is not enforced: {problem.reason}"
                raise NotFree(pointer(place, key), message, value, hint=problem.hint) from None

    def _part(
        self, number: int, schema: Schema, key: str, value: JsonValue, kind: ScalarType
    ) -> Iterator[Automaton]:
        match key:
            case "type":
                yield _of_type(value, kind)
            case "enum" | "const":
                listed = value if key == "enum" and isinstance(value, list) else [value]
                yield _listed(listed, kind)
            case "$ref" | "$dynamicRef":
                yield self.of(self._resources.target(number, key), kind)
            case "allOf" | "anyOf" | "oneOf":
                branches = self._resources.listed(number, key)
                yield _combined(key, (self.of(branch, kind) for branch in branches), universe(kind))
            case "not":
                yield universe(kind) - self.of(self._resources.below(number, key), kind)
            case "if":
                yield from self._conditional(number, schema, kind)
            case _ if kind == "number":
                yield from _of_number(key, value)
            case _ if kind == "string":
                yield from _of_string(key, value)
            case _:
                pass

    def _conditional(self, number: int, schema: Schema, kind: ScalarType) -> Iterator[Automaton]:
        condition = self.of(self._resources.below(number, "if"), kind)
        if "then" in schema:
            yield (universe(kind) - condition) | self.of(self._resources.below(number, "then"), kind)
        if "else" in schema:
            yield condition | self.of(self._resources.below(number, "else"), kind)


def _combined(key: str, branches: Iterable[Automaton], whole: Automaton) -> Automaton:
    if key == "allOf":
        for branch in branches:
            whole = whole & branch
        return whole
    some = many = NOTHING
    for branch in branches:
        many = many | (some & branch)
        some = some | branch
    return some if key == "anyOf" else some - many


def _of_type(value: JsonValue, kind: ScalarType) -> Automaton:
    names = value if isinstance(value, list) else [value]
    if kind == "number" and "number" not in names:
        return integers() if "integer" in names else NOTHING
    return universe(kind) if kind in names else NOTHING


def _listed(values: list[JsonValue], kind: ScalarType) -> Automaton:
    found = [text for value in values if (text := scalar_text(value)) is not None]
    return of_texts(text for name, text in found if name == kind)


def _of_number(key: str, value: JsonValue) -> Iterator[Automaton]:
    if key in _BOUNDS:
        yield compared(_BOUNDS[key], _fraction(value))
    elif key == "multipleOf":
        yield multiples(_fraction(value))


def _fraction(value: JsonValue) -> Fraction:
    assert isinstance(value, int | float)
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def _of_string(key: str, value: JsonValue) -> Iterator[Automaton]:
    if key in ("minLength", "maxLength"):
        assert isinstance(value, int | float)
        yield of_lengths(int(value), None) if key == "minLength" else of_lengths(0, int(value))
    elif key == "pattern":
        assert isinstance(value, str)
        yield search(value)
    elif key == "format":
        yield format_texts(str(value))
