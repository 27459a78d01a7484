"""Rules for the objects of a term: known names in writing order, then all other keys.

Keys outside the known names may come twice; the last one counts for whoever reads the record. So what
*some* of them must satisfy is satisfied by the last, and where there must be several they are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from factorspec_sdk.fields.text import ITEM_SEPARATOR, KEY_SEPARATOR, json_text
from factorspec_sdk.wire.languages.automaton import ANYTHING, Automaton, of_texts
from factorspec_sdk.wire.languages.objects import ObjectTerm
from factorspec_sdk.wire.languages.resources import NotFree, Resources
from factorspec_sdk.wire.languages.rules import MemberKey, Members, Symbols, Text, ValueKey, Values, values_of
from factorspec_sdk.wire.languages.terms import Atom

#: keys of a language of so few are known names
_LISTED_KEYS = 64
_MOST_CLASSES = 64


def object_start(members: Members) -> MemberKey:
    """The rule of the objects with these members, behind the brace."""
    return MemberKey(members, 0, 0, frozenset(range(len(members.term.some))), True)


def members_of(term: ObjectTerm, order: Iterable[str], place: str, resources: Resources) -> Members:
    """The members of a term's objects; ``order``: names in writing order, some of them of other terms.

    Raises:
        NotFree: too many languages of keys to tell apart.
    """
    known = {name for rule in term.rules for name, _ in rule.names} | term.present | term.absent
    names = [name for name in dict.fromkeys(order) if name in known]
    names += sorted(known.difference(names))
    others: list[tuple[Automaton, Values]] = []
    for keys, atoms in _classes(term, ANYTHING - of_texts(names), place):
        values = values_of(resources, atoms)
        listed = keys.texts(_LISTED_KEYS)
        if listed is not None:
            names += sorted(listed)
        elif values is not None:
            others.append((keys, values))
    pairs = tuple(
        (name, None if name in term.absent else values_of(resources, term.atoms(name))) for name in names
    )
    return Members(place, term, pairs, tuple(others))


def _classes(term: ObjectTerm, rest: Automaton, place: str) -> Iterator[tuple[Automaton, frozenset[Atom]]]:
    """Keys that no name is known for, by what their members must satisfy."""
    found: list[tuple[Automaton, frozenset[Atom]]] = [(rest, frozenset())]
    for rule in term.rules:
        for keys, atom in rule.languages:
            parts = [
                part
                for known, atoms in found
                for part in ((known & keys, atoms | {atom}), (known - keys, atoms))
            ]
            found = [(known, atoms) for known, atoms in parts if not known.is_empty]
            if len(found) > _MOST_CLASSES:
                raise NotFree(place, f"more than {_MOST_CLASSES} kinds of keys to tell apart")
    return iter(found)


def member_alternatives(key: MemberKey, resources: Resources) -> Iterator[Symbols]:
    """Write or leave out the next known name; behind them any other, or the end."""
    members = key.members
    if key.at == len(members.names):
        yield from _others(key, resources)
        return
    name, values = members.names[key.at]
    if name not in members.term.present:
        yield (key._replace(at=key.at + 1),)
    count = _next_count(members.term, key.written)
    if values is None or count is None:
        return
    written = f"{'' if key.first else ITEM_SEPARATOR}{json_text(name)}{KEY_SEPARATOR}"
    rest = key._replace(at=key.at + 1, written=count, first=False)
    yield (written, ValueKey(values), rest)
    for met, atoms in _meeting(key, name):
        more = values_of(resources, values | atoms)
        if more is not None:
            yield (written, ValueKey(more), rest._replace(owed=key.owed - met))


def _meeting(key: MemberKey, name: str) -> Iterator[tuple[frozenset[int], frozenset[Atom]]]:
    """Sets of owed demands that a member of this name can meet, with what it must satisfy then."""
    able = [at for at in sorted(key.owed) if key.members.term.some[at][0].holds(name)]
    for chosen in range(1, 2 ** len(able)):
        met = frozenset(at for bit, at in enumerate(able) if chosen >> bit & 1)
        yield met, frozenset(key.members.term.some[at][1] for at in met)


def _next_count(term: ObjectTerm, count: int) -> int | None:
    """The number of members with one more (capped), or None if that is too many."""
    if term.most is not None:
        return count + 1 if count < term.most else None
    return min(count + 1, term.least)


def _others(key: MemberKey, resources: Resources) -> Iterator[Symbols]:
    term, others = key.members.term, key.members.others
    missing = term.least - key.written
    if missing <= 0 and not key.owed:
        yield ("}",)
    if not others:
        return
    if missing > 1 or len(key.owed) > 1:
        keyword = "minProperties above 1" if missing > 1 else "what several members of any name must hold"
        reason = f"{keyword} is not enforced where the keys are open"
        raise NotFree(
            key.members.place, reason, hint='list the properties and write "additionalProperties": false'
        )
    count = _next_count(term, key.written)
    if count is None:
        return
    separator = () if key.first else (ITEM_SEPARATOR,)
    for keys, values in others:
        member = (*separator, Text(keys, True), KEY_SEPARATOR)
        yield (*member, ValueKey(values), key._replace(written=count, first=False))
        for at in key.owed:
            wanted, atom = term.some[at]
            last, more = keys & wanted, values_of(resources, values | {atom})
            if not last.is_empty and more is not None and count >= term.least:
                yield (*separator, Text(last, True), KEY_SEPARATOR, ValueKey(more), "}")
