"""Rules of a context-free grammar whose terminals are texts and automata.

A rule is known by its key and has alternatives, each a sequence of symbols::

    str                                        this text
    Text(automaton, quoted)                    a text of the automaton, as it is or inside quotes
    ValueKey, ItemKey, MemberKey, DistinctKey  another rule

Rules are made as they are needed (``values``), so recursion of schemas becomes recursion of rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from factorspec_sdk.wire.keywords import ANNOTATIONS
from factorspec_sdk.wire.languages.automaton import Automaton
from factorspec_sdk.wire.languages.lists import ListTerm
from factorspec_sdk.wire.languages.objects import ObjectTerm
from factorspec_sdk.wire.languages.resources import Resources
from factorspec_sdk.wire.languages.terms import Atom

Values = frozenset[Atom]


class Text(NamedTuple):
    """A text of an automaton; ``quoted``: as a JSON string."""

    automaton: Automaton
    quoted: bool


class ValueKey(NamedTuple):
    """A value that satisfies all atoms."""

    atoms: Values


class ItemKey(NamedTuple):
    """The rest of a list: before item ``at`` (capped), with so many found for each count (capped)."""

    term: ListTerm
    at: int
    found: tuple[int, ...]


class DistinctKey(NamedTuple):
    """A list whose items differ (or, for ``repeats``, do not), behind its bracket."""

    term: ListTerm


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """The members that an object of a term may have.

    names: known ones in writing order, each with its values (None: there are none).
    others: keys of all others, with their values. place: of the schema.
    """

    place: str
    term: ObjectTerm
    names: tuple[tuple[str, Values | None], ...]
    others: tuple[tuple[Automaton, Values], ...]


class MemberKey(NamedTuple):
    """The rest of an object, before the known name ``at``.

    written: members so far (capped; 0 where it does not matter). owed: members of ``term.some`` not met yet.
    first: nothing is written yet.
    """

    members: Members
    at: int
    written: int
    owed: frozenset[int]
    first: bool


RuleKey = ValueKey | ItemKey | MemberKey | DistinctKey
Symbol = str | Text | RuleKey
Symbols = tuple[Symbol, ...]


def values_of(resources: Resources, atoms: Values) -> Values | None:
    """The atoms without those that any value satisfies; None if there surely is no value."""
    kept: set[Atom] = set()
    for atom in atoms:
        schema = resources.entries[atom.number].schema
        if not isinstance(schema, bool) and not schema.keys() - ANNOTATIONS:
            schema = True
        if not isinstance(schema, bool):
            if atom._replace(positive=not atom.positive) in kept:
                return None
            kept.add(atom)
        elif schema is not atom.positive:
            return None
    return frozenset(kept)
