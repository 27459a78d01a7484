"""Lists that a schema admits, as terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.wire.keywords import Schema
from factorspec_sdk.wire.languages.terms import Atom, Part, Terms
from factorspec_sdk.wire.problems import pointer


class ItemRule(NamedTuple):
    """Items ``start`` to ``stop`` (exclusive; None: to the end) satisfy ``atom``."""

    start: int
    stop: int | None
    atom: Atom


class CountRule(NamedTuple):
    """Of the items from ``start`` on, ``least`` to ``most`` satisfy ``atom``."""

    start: int
    atom: Atom
    least: int
    most: int | None


class ListTerm(NamedTuple):
    """A conjunction of demands on a list.

    unique, repeats: the place of a keyword by which all items differ, or some do not; "" if there is none.
    seen: so many first items are evaluated (None: all), and those that satisfy one of ``seen_if``.
    """

    least: int = 0
    most: int | None = None
    items: tuple[ItemRule, ...] = ()
    counts: tuple[CountRule, ...] = ()
    unique: str = ""
    repeats: str = ""
    seen: int | None = 0
    seen_if: tuple[int, ...] = ()


class Lists(Terms[ListTerm]):
    """Reads schemas as terms of lists."""

    kind = "array"
    unevaluated = "unevaluatedItems"
    top = ListTerm()

    def join(self, left: ListTerm, right: ListTerm) -> ListTerm | None:
        most = min((m for m in (left.most, right.most) if m is not None), default=None)
        least = max(left.least, right.least)
        if most is not None and most < least:
            return None
        seen = None if left.seen is None or right.seen is None else max(left.seen, right.seen)
        return ListTerm(
            least,
            most,
            tuple(dict.fromkeys(left.items + right.items)),
            tuple(dict.fromkeys(left.counts + right.counts)),
            left.unique or right.unique,
            left.repeats or right.repeats,
            seen,
            tuple(dict.fromkeys(left.seen_if + right.seen_if)),
        )

    def is_mine(self, value: JsonValue) -> bool:
        return isinstance(value, list)

    def own_parts(self, number: int, schema: Schema) -> Iterator[Part[ListTerm]]:
        if "prefixItems" in schema or "items" in schema:
            yield self._items(number, schema)
        if "contains" in schema:
            yield self._contains(number, schema)
        if "minItems" in schema:
            least = _count(schema, "minItems")
            fewer = [ListTerm(most=least - 1)] if least else []
            yield self.given([ListTerm(least=least)], fewer)
        if "maxItems" in schema:
            most = _count(schema, "maxItems")
            yield self.given([ListTerm(most=most)], [ListTerm(least=most + 1)])
        if schema.get("uniqueItems") is True:
            place = pointer(self.resources.entries[number].place, "uniqueItems")
            yield self.given([ListTerm(unique=place)], [ListTerm(repeats=place)])

    def _items(self, number: int, schema: Schema) -> Part[ListTerm]:
        first = self.resources.listed(number, "prefixItems") if "prefixItems" in schema else []
        rules = [ItemRule(at, at + 1, Atom(inner, True)) for at, inner in enumerate(first)]
        wrong = [
            ListTerm(least=at + 1, items=(ItemRule(at, at + 1, Atom(inner, False)),))
            for at, inner in enumerate(first)
        ]
        if "items" not in schema:
            return self.given([ListTerm(items=tuple(rules), seen=len(first))], wrong)
        rest = self.resources.below(number, "items")
        rules.append(ItemRule(len(first), None, Atom(rest, True)))
        wrong.append(ListTerm(counts=(CountRule(len(first), Atom(rest, False), 1, None),)))
        return self.given([ListTerm(items=tuple(rules), seen=None)], wrong)

    def _contains(self, number: int, schema: Schema) -> Part[ListTerm]:
        inner = self.resources.below(number, "contains")
        least = _count(schema, "minContains") if "minContains" in schema else 1
        most = _count(schema, "maxContains") if "maxContains" in schema else None
        atom = Atom(inner, True)
        wrong = []
        if least:
            wrong.append(ListTerm(counts=(CountRule(0, atom, 0, least - 1),)))
        if most is not None:
            wrong.append(ListTerm(counts=(CountRule(0, atom, most + 1, None),)))
        if most is not None and most < least:
            return self.given([], [self.top])
        return self.given([ListTerm(counts=(CountRule(0, atom, least, most),), seen_if=(inner,))], wrong)

    def constant(self, number: int, value: JsonValue, place: str) -> Part[ListTerm]:
        assert isinstance(value, list)
        size = len(value)
        numbers = [constant(self, number, item, f"{place}/{at}") for at, item in enumerate(value)]
        rules = tuple(ItemRule(at, at + 1, Atom(n, True)) for at, n in enumerate(numbers))
        wrong = [ListTerm(least=size + 1)]
        if size:
            wrong.append(ListTerm(most=size - 1))
        wrong += [
            ListTerm(least=size, most=size, items=(ItemRule(at, at + 1, Atom(n, False)),))
            for at, n in enumerate(numbers)
        ]
        return self.given([ListTerm(least=size, most=size, items=rules)], wrong)

    def close(self, term: ListTerm, atom: Atom) -> ListTerm | None:
        if term.seen is None:
            return term
        rule = ItemRule(term.seen, None, Atom(self._or_seen(atom.number, term), True))
        return term._replace(items=(*term.items, rule), seen=None, seen_if=())

    def leak(self, term: ListTerm, atom: Atom) -> ListTerm:
        if term.seen is None:
            return term._replace(least=1, most=0)
        rule = CountRule(term.seen, Atom(self._or_seen(atom.number, term), False), 1, None)
        return term._replace(counts=(*term.counts, rule))

    def forget(self, term: ListTerm) -> ListTerm:
        return term._replace(seen=0, seen_if=())

    def _or_seen(self, number: int, term: ListTerm) -> int:
        """The schema of items that satisfy one of these: evaluated ones or those of ``number``."""
        if not term.seen_if:
            return number
        return self.resources.union((number, *term.seen_if))


def constant(terms: Terms[ListTerm], number: int, value: JsonValue, place: str) -> int:
    """The number of the schema that admits one value alone, which stands at ``place``."""
    return terms.resources.number(
        {"const": value}, terms.resources.entries[number].base, pointer(place, "const")
    )


def _count(schema: Schema, key: str) -> int:
    value = schema[key]
    assert isinstance(value, int | float)
    return int(value)
