"""Lists and objects that a schema admits, as alternatives: what is common to both.

A schema, or its negation, is read as a list of *terms*; a value belongs if it belongs to some term. A term
is a conjunction of simple demands, on the items of a list (``lists``) or the members of an object
(``objects``), whose own values are described by *atoms*: a schema's number, and whether the value is to
satisfy it or not.
Schemas in values are not followed, so recursion ends there.

Terms know what the keywords that made them have evaluated, for ``unevaluatedItems`` and
``unevaluatedProperties``; where that counts (``annotate``), a union is split into terms in which each branch
is known to hold or not to hold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Generic, NamedTuple, TypeVar

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.wire.keywords import Schema
from factorspec_sdk.wire.languages.resources import NotFree, Resources

#: terms of one schema
MAX_TERMS = 512
#: pairs of terms that are joined while a document is read
MAX_JOINS = 300_000


class Atom(NamedTuple):
    """A value that satisfies a schema, or one that does not."""

    number: int
    positive: bool


T = TypeVar("T")


@dataclass(frozen=True)
class Part(Generic[T]):
    """One demand of a schema: terms where it holds (``annotate`` is given), and where it does not."""

    positive: Callable[[bool], list[T]]
    negative: Callable[[], list[T]]


class Terms(ABC, Generic[T]):
    """Reads schemas as terms. Results are kept."""

    #: the type of the values, and the keyword for what is not evaluated
    kind: str
    unevaluated: str
    top: T

    def __init__(self, resources: Resources) -> None:
        self.resources = resources
        self._known: dict[tuple[int, bool, bool], list[T] | None] = {}
        self._joins = 0

    @abstractmethod
    def join(self, left: T, right: T) -> T | None:
        """Both at once; None if that is impossible."""

    @abstractmethod
    def own_parts(self, number: int, schema: Schema) -> Iterator[Part[T]]:
        """The demands of the keywords that speak of this type alone."""

    @abstractmethod
    def constant(self, number: int, value: JsonValue, place: str) -> Part[T]:
        """The demand to be this list or object."""

    @abstractmethod
    def close(self, term: T, atom: Atom) -> T | None:
        """The term with ``atom`` for all that is not evaluated; then all is."""

    @abstractmethod
    def leak(self, term: T, atom: Atom) -> T:
        """The term with something that is not evaluated and satisfies ``atom``."""

    @abstractmethod
    def forget(self, term: T) -> T:
        """The term with nothing evaluated."""

    @abstractmethod
    def is_mine(self, value: JsonValue) -> bool:
        """True for values of this type."""

    def of(self, number: int, positive: bool, annotate: bool = False) -> list[T]:
        """The terms of a schema or of its negation.

        Raises:
            NotFree: a keyword cannot be enforced exactly, or there are too many terms.
        """
        key = (number, positive, annotate)
        entry = self.resources.entries[number]
        if isinstance(entry.schema, bool):
            return [self.top] if entry.schema is positive else []
        if key in self._known:
            found = self._known[key]
            if found is None:
                raise NotFree(entry.place, "the schema refers to itself without end")
            return found
        self._known[key] = None
        try:
            found = self._read(number, entry.schema, positive, annotate)
            self._known[key] = found
        finally:
            if self._known[key] is None:
                del self._known[key]
        return found

    def _read(self, number: int, schema: Schema, positive: bool, annotate: bool) -> list[T]:
        place = self.resources.entries[number].place
        parts = list(self._parts(number, schema))
        closed = self.unevaluated in schema
        if positive:
            found = self._joined([part.positive(annotate or closed) for part in parts], place)
            if closed:
                atom = Atom(self.resources.below(number, self.unevaluated), True)
                found = [end for term in found if (end := self.close(term, atom)) is not None]
        else:
            found = [term for part in parts for term in part.negative()]
            if closed:
                atom = Atom(self.resources.below(number, self.unevaluated), False)
                whole = self._joined([part.positive(True) for part in parts], place)
                found += [self.leak(term, atom) for term in whole]
        if not annotate or not positive:
            found = [self.forget(term) for term in found]
        return _few(list(dict.fromkeys(found)), place)

    def _joined(self, choices: Sequence[Sequence[T]], place: str) -> list[T]:
        found = [self.top]
        for choice in choices:
            self._joins += len(found) * len(choice)
            if self._joins > MAX_JOINS:
                raise NotFree(place, "the cases of open values are too many to tell apart")
            pairs = product(found, choice)
            found = _few([term for a, b in pairs if (term := self.join(a, b)) is not None], place)
        return found

    def _parts(self, number: int, schema: Schema) -> Iterator[Part[T]]:
        for key, value in schema.items():
            match key:
                case "type":
                    names = value if isinstance(value, list) else [value]
                    fits = self.kind in names
                    yield self.given([self.top] if fits else [], [] if fits else [self.top])
                case "enum" | "const":
                    yield self._listed(number, value if key == "enum" else [value], key)
                case "$ref" | "$dynamicRef":
                    yield self.schema(self.resources.target(number, key))
                case "allOf":
                    yield from map(self.schema, self.resources.listed(number, key))
                case "anyOf" | "oneOf":
                    yield self._union(number, key)
                case "not":
                    yield _negated(self.schema(self.resources.below(number, key)))
                case "if":
                    yield self._conditional(number, schema)
                case _:
                    pass
        yield from self.own_parts(number, schema)

    def demands(self, number: int, keywords: Schema) -> list[list[T]]:
        """The terms of each demand of a schema apart, as if it had only these keywords; all of them hold."""
        if self.unevaluated in keywords:
            return [self._read(number, keywords, True, False)]
        return [part.positive(False) for part in self._parts(number, keywords)]

    def choices(self, atom: Atom) -> list[list[T]]:
        """The terms of an atom, as far as they are apart: of each list some term holds."""
        schema = self.resources.entries[atom.number].schema
        if atom.positive and isinstance(schema, dict):
            return self.demands(atom.number, schema)
        return [self.of(*atom)]

    def of_all(self, atoms: Sequence[Atom], place: str) -> list[T]:
        """The terms of values that satisfy all atoms."""
        return list(dict.fromkeys(self._joined([self.of(*atom) for atom in atoms], place)))

    def schema(self, number: int) -> Part[T]:
        """The demand to satisfy a schema."""
        return Part(lambda annotate: self.of(number, True, annotate), lambda: self.of(number, False))

    def given(self, positive: list[T], negative: list[T]) -> Part[T]:
        """A demand whose terms are known; ``positive`` may hold what is evaluated."""
        return Part(lambda _: positive, lambda: negative)

    def _listed(self, number: int, values: JsonValue, key: str) -> Part[T]:
        assert isinstance(values, list)
        place = self.resources.entries[number].place
        mine = [
            self.constant(number, value, f"{place}/{key}" + (f"/{at}" if key == "enum" else ""))
            for at, value in enumerate(values)
            if self.is_mine(value)
        ]
        return Part(
            lambda annotate: [term for part in mine for term in part.positive(annotate)],
            lambda: self._joined([part.negative() for part in mine], place),
        )

    def _union(self, number: int, key: str) -> Part[T]:
        branches = [self.schema(branch) for branch in self.resources.listed(number, key)]
        place = self.resources.entries[number].place

        def joined(signs: Iterable[bool], annotate: bool) -> list[T]:
            chosen = [
                part.positive(annotate) if sign else part.negative()
                for part, sign in zip(branches, signs, strict=True)
            ]
            return self._joined(chosen, place)

        def some(annotate: bool) -> list[T]:
            if not annotate:
                return [term for part in branches for term in part.positive(False)]
            if 2 ** len(branches) > MAX_TERMS:
                raise _too_many(place)
            every = product((True, False), repeat=len(branches))
            return _few([term for signs in every if any(signs) for term in joined(signs, True)], place)

        def one(annotate: bool) -> list[T]:
            size = range(len(branches))
            return _few([t for at in size for t in joined([at == k for k in size], annotate)], place)

        def none() -> list[T]:
            return self._joined([part.negative() for part in branches], place)

        def not_one() -> list[T]:
            found = none()
            for at, part in enumerate(branches):
                for other in branches[:at]:
                    found += self._joined([other.positive(False), part.positive(False)], place)
            return _few(found, place)

        return Part(some, none) if key == "anyOf" else Part(one, not_one)

    def _conditional(self, number: int, schema: Schema) -> Part[T]:
        condition = self.schema(self.resources.below(number, "if"))
        always = self.given([self.top], [])
        then, other = (
            self.schema(self.resources.below(number, key)) if key in schema else always
            for key in ("then", "else")
        )
        place = self.resources.entries[number].place

        def holds(annotate: bool) -> list[T]:
            if then is always and other is always and not annotate:
                return [self.top]
            met = self._joined([condition.positive(annotate), then.positive(annotate)], place)
            return met + self._joined([condition.negative(), other.positive(annotate)], place)

        def fails() -> list[T]:
            met = self._joined([condition.positive(False), then.negative()], place)
            return met + self._joined([condition.negative(), other.negative()], place)

        return Part(holds, fails)


def _negated(part: Part[T]) -> Part[T]:
    return Part(lambda _: part.negative(), lambda: part.positive(False))


def _few(found: list[T], place: str) -> list[T]:
    if len(found) > MAX_TERMS:
        raise _too_many(place)
    return found


def _too_many(place: str) -> NotFree:
    return NotFree(place, f"more than {MAX_TERMS} cases to tell apart", hint="use fewer alternatives")
