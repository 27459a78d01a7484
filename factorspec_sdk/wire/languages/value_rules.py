"""The rules of a document's free parts, made as they are needed."""

from __future__ import annotations

from collections.abc import Iterator

from factorspec_sdk.wire.keywords import Schema
from factorspec_sdk.wire.languages.list_rules import distinct_alternatives, item_alternatives, list_start
from factorspec_sdk.wire.languages.lists import Lists
from factorspec_sdk.wire.languages.object_rules import member_alternatives, members_of, object_start
from factorspec_sdk.wire.languages.objects import Objects
from factorspec_sdk.wire.languages.resources import Resources
from factorspec_sdk.wire.languages.rules import (
    DistinctKey,
    ItemKey,
    MemberKey,
    RuleKey,
    Symbols,
    Text,
    ValueKey,
    Values,
    values_of,
)
from factorspec_sdk.wire.languages.scalars import SCALAR_TYPES, Scalars, universe
from factorspec_sdk.wire.languages.terms import Atom
from factorspec_sdk.wire.languages.wellformed import check_schema


class Rules:
    """Makes the alternatives of rules. Those of a key are kept.

    resources, scalars, lists, objects: what the schemas of the document admit.
    """

    def __init__(self, document: Schema) -> None:
        self.resources = Resources(document, check_schema)
        self.scalars = Scalars(self.resources)
        self.lists = Lists(self.resources)
        self.objects = Objects(self.resources, self.scalars)
        self._known: dict[RuleKey, list[Symbols]] = {}

    def root(self, place: str) -> ValueKey | None:
        """The rule of the values of the schema at a JSON pointer; None if it admits none.

        Raises:
            NotFree: the schema is not well formed.
        """
        atom = Atom(self.resources.at(place), True)
        values = values_of(self.resources, frozenset((atom,)))
        return None if values is None else ValueKey(values)

    def orders(self) -> list[tuple[Schema, list[str]]]:
        """All schemas with properties that were read, and their names in writing order."""
        return self.resources.orders()

    def alternatives(self, key: RuleKey) -> list[Symbols]:
        """The alternatives of a rule.

        Raises:
            NotFree: a keyword cannot be enforced exactly.
        """
        if key not in self._known:
            self._known[key] = list(self._make(key))
        return self._known[key]

    def _make(self, key: RuleKey) -> Iterator[Symbols]:
        match key:
            case ValueKey():
                return self._of_value(key.atoms)
            case ItemKey():
                return item_alternatives(key, self.resources)
            case MemberKey():
                return member_alternatives(key, self.resources)
            case DistinctKey():
                return distinct_alternatives(key, self.alternatives)

    def _of_value(self, atoms: Values) -> Iterator[Symbols]:
        ordered = sorted(atoms)
        place = self.resources.entries[ordered[0].number].place if ordered else ""
        for kind in SCALAR_TYPES:
            whole = universe(kind)
            for number, positive in ordered:
                values = self.scalars.of(number, kind)
                whole = whole & values if positive else whole - values
            if not whole.is_empty:
                yield (Text(whole, kind == "string"),)
        for term in self.lists.of_all(ordered, place):
            yield ("[", list_start(term))
        order = [name for number, _ in ordered for name in self.resources.names(number)]
        for found in self.objects.of_all(ordered, place):
            yield ("{", object_start(members_of(found, order, place, self.resources)))
