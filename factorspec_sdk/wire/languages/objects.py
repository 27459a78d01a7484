"""Objects that a schema admits, as terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.wire.keywords import Schema
from factorspec_sdk.wire.languages.automaton import ANYTHING, NOTHING, Automaton, TooManyStates, of_texts
from factorspec_sdk.wire.languages.regex import search
from factorspec_sdk.wire.languages.resources import NotFree, Resources
from factorspec_sdk.wire.languages.scalars import Scalars
from factorspec_sdk.wire.languages.terms import Atom, Part, Terms
from factorspec_sdk.wire.patterns import PatternProblem
from factorspec_sdk.wire.problems import pointer


class KeyRule(NamedTuple):
    """Members whose key is a name, or is of a language, satisfy an atom."""

    names: tuple[tuple[str, Atom], ...] = ()
    languages: tuple[tuple[Automaton, Atom], ...] = ()

    def atoms(self, name: str) -> Iterator[Atom]:
        """The atoms for the member ``name``."""
        yield from (atom for known, atom in self.names if known == name)
        yield from (atom for keys, atom in self.languages if keys.holds(name))


class ObjectTerm(NamedTuple):
    """A conjunction of demands on an object.

    some: for each, a member with a key of the language satisfies the atom.
    seen: languages of the keys that are evaluated.
    """

    present: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()
    least: int = 0
    most: int | None = None
    rules: tuple[KeyRule, ...] = ()
    some: tuple[tuple[Automaton, Atom], ...] = ()
    seen: tuple[Automaton, ...] = ()

    def atoms(self, name: str) -> frozenset[Atom]:
        """The atoms for the member ``name``."""
        return frozenset(atom for rule in self.rules for atom in rule.atoms(name))


class Objects(Terms[ObjectTerm]):
    """Reads schemas as terms of objects."""

    kind = "object"
    unevaluated = "unevaluatedProperties"
    top = ObjectTerm()

    def __init__(self, resources: Resources, scalars: Scalars) -> None:
        super().__init__(resources)
        self._scalars = scalars
        never = resources.number(False, "", "~never")
        self._never, self._always = Atom(never, True), Atom(never, False)

    def join(self, left: ObjectTerm, right: ObjectTerm) -> ObjectTerm | None:
        most = min((m for m in (left.most, right.most) if m is not None), default=None)
        found = ObjectTerm(
            left.present | right.present,
            left.absent | right.absent,
            max(left.least, right.least),
            most,
            tuple(dict.fromkeys(left.rules + right.rules)),
            tuple(dict.fromkeys(left.some + right.some)),
            tuple(dict.fromkeys(left.seen + right.seen)),
        )
        if found.present & found.absent or (most is not None and most < max(found.least, len(found.present))):
            return None
        return found

    def is_mine(self, value: JsonValue) -> bool:
        return isinstance(value, dict)

    def own_parts(self, number: int, schema: Schema) -> Iterator[Part[ObjectTerm]]:
        if schema.keys() & {"properties", "patternProperties", "additionalProperties"}:
            yield self._members(number, schema)
        for name in _names(schema, "required"):
            yield self.given([_present(name)], [_absent(name)])
        if "minProperties" in schema:
            least = _count(schema, "minProperties")
            yield self.given([ObjectTerm(least=least)], [ObjectTerm(most=least - 1)] if least else [])
        if "maxProperties" in schema:
            most = _count(schema, "maxProperties")
            yield self.given([ObjectTerm(most=most)], [ObjectTerm(least=most + 1)])
        if "propertyNames" in schema:
            yield self._property_names(number)
        for key in ("dependentRequired", "dependentSchemas", "dependencies"):
            yield from self._dependent(number, schema, key)

    def _members(self, number: int, schema: Schema) -> Part[ObjectTerm]:
        named = {
            name: self.resources.below(number, "properties", name) for name in _names(schema, "properties")
        }
        languages = [
            (self._search(number, pattern), self.resources.below(number, "patternProperties", pattern))
            for pattern in _names(schema, "patternProperties")
        ]
        wrong = [
            ObjectTerm(present=frozenset((name,)), rules=(KeyRule(names=((name, Atom(inner, False)),)),))
            for name, inner in named.items()
        ]
        wrong += [ObjectTerm(some=((keys, Atom(inner, False)),)) for keys, inner in languages]
        listed = [(keys, Atom(inner, True)) for keys, inner in languages]
        seen = [of_texts(named), *(keys for keys, _ in languages)]
        if "additionalProperties" in schema:
            others = ANYTHING
            for keys in seen:
                others = others - keys
            inner = self.resources.below(number, "additionalProperties")
            listed.append((others, Atom(inner, True)))
            wrong.append(ObjectTerm(some=((others, Atom(inner, False)),)))
            seen = [ANYTHING]
        rule = KeyRule(tuple((name, Atom(inner, True)) for name, inner in named.items()), tuple(listed))
        return self.given([ObjectTerm(rules=(rule,), seen=tuple(seen))], wrong)

    def _search(self, number: int, pattern: str) -> Automaton:
        try:
            return search(pattern)
        except (PatternProblem, TooManyStates) as problem:
            place = pointer(self.resources.entries[number].place, "patternProperties", pattern)
            reason = problem.reason if isinstance(problem, PatternProblem) else "it is too large"
            raise NotFree(place, f"the pattern is not enforced: {reason}", pattern) from None

    def _property_names(self, number: int) -> Part[ObjectTerm]:
        others = ANYTHING - self._scalars.of(self.resources.below(number, "propertyNames"), "string")
        rule = KeyRule(languages=((others, self._never),))
        return self.given([ObjectTerm(rules=(rule,))], [ObjectTerm(some=((others, self._always),))])

    def _dependent(self, number: int, schema: Schema, key: str) -> Iterator[Part[ObjectTerm]]:
        members = schema.get(key, {})
        assert isinstance(members, dict)
        for name, value in members.items():
            if isinstance(value, list):
                names = [other for other in value if isinstance(other, str)]
                met = ObjectTerm(present=frozenset((name, *names)))
                wrong = [
                    ObjectTerm(present=frozenset((name,)), absent=frozenset((other,)))
                    for other in names
                    if other != name
                ]
                yield self.given([_absent(name), met], wrong)
            else:
                yield self._dependent_schema(name, self.schema(self.resources.below(number, key, name)))

    def _dependent_schema(self, name: str, inner: Part[ObjectTerm]) -> Part[ObjectTerm]:
        def joined(terms: list[ObjectTerm]) -> list[ObjectTerm]:
            return [found for term in terms if (found := self.join(_present(name), term)) is not None]

        return Part(
            lambda annotate: [_absent(name), *joined(inner.positive(annotate))],
            lambda: joined(inner.negative()),
        )

    def constant(self, number: int, value: JsonValue, place: str) -> Part[ObjectTerm]:
        assert isinstance(value, dict)
        base = self.resources.entries[number].base
        inner = {
            name: self.resources.number({"const": item}, base, pointer(place, name, "const"))
            for name, item in value.items()
        }
        others = ANYTHING - of_texts(value)
        rule = KeyRule(tuple((name, Atom(n, True)) for name, n in inner.items()), ((others, self._never),))
        wrong = [_absent(name) for name in value]
        wrong.append(ObjectTerm(some=((others, self._always),)))
        wrong += [
            ObjectTerm(present=frozenset((name,)), rules=(KeyRule(names=((name, Atom(n, False)),)),))
            for name, n in inner.items()
        ]
        return self.given([ObjectTerm(present=frozenset(value), rules=(rule,))], wrong)

    def close(self, term: ObjectTerm, atom: Atom) -> ObjectTerm | None:
        rule = KeyRule(languages=((self._unseen(term), atom),))
        return term._replace(rules=(*term.rules, rule), seen=(ANYTHING,))

    def leak(self, term: ObjectTerm, atom: Atom) -> ObjectTerm:
        return term._replace(some=(*term.some, (self._unseen(term), atom)))

    def forget(self, term: ObjectTerm) -> ObjectTerm:
        return term._replace(seen=())

    @staticmethod
    def _unseen(term: ObjectTerm) -> Automaton:
        if ANYTHING in term.seen:
            return NOTHING
        found = ANYTHING
        for keys in term.seen:
            found = found - keys
        return found


def _present(name: str) -> ObjectTerm:
    return ObjectTerm(present=frozenset((name,)))


def _absent(name: str) -> ObjectTerm:
    return ObjectTerm(absent=frozenset((name,)))


def _names(schema: Schema, key: str) -> list[str]:
    value = schema.get(key, [])
    assert isinstance(value, list | dict)
    return [name for name in dict.fromkeys(value) if isinstance(name, str)]


def _count(schema: Schema, key: str) -> int:
    value = schema[key]
    assert isinstance(value, int | float)
    return int(value)
