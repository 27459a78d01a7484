"""Rules for the lists of a term: item by item, with counters."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import product

from factorspec_sdk.fields.text import ITEM_SEPARATOR
from factorspec_sdk.wire.languages.lists import CountRule, ListTerm
from factorspec_sdk.wire.languages.resources import NotFree, Resources
from factorspec_sdk.wire.languages.rules import (
    DistinctKey,
    ItemKey,
    RuleKey,
    Symbols,
    Text,
    ValueKey,
    values_of,
)
from factorspec_sdk.wire.languages.terms import Atom

#: lists whose items must differ are written out, up to so many
MAX_DISTINCT = 2_000


def list_start(term: ListTerm) -> RuleKey:
    """The rule of the lists of a term, behind the bracket."""
    if term.unique and term.most is not None and term.most < 2:
        term = term._replace(unique="")
    if term.unique or term.repeats:
        return DistinctKey(term)
    return ItemKey(term, 0, (0,) * len(term.counts))


def item_alternatives(key: ItemKey, resources: Resources) -> Iterator[Symbols]:
    """End the list, or write one more item."""
    term, at, found = key
    enough = all(f >= rule.least for f, rule in zip(found, term.counts, strict=True))
    if at >= term.least and enough:
        yield ("]",)
    if term.most is not None and at >= term.most:
        return
    base = {r.atom for r in term.items if r.start <= at and (r.stop is None or at < r.stop)}
    after = min(at + 1, _cap(term))
    ways = [_ways(rule, at, f) for rule, f in zip(term.counts, found, strict=True)]
    for chosen in product(*ways):
        extra = {atom for atom, _ in chosen if atom is not None}
        values = values_of(resources, frozenset(base | extra))
        if values is None:
            continue
        rest = ItemKey(term, after, tuple(f for _, f in chosen))
        separator = (ITEM_SEPARATOR,) if at else ()
        yield (*separator, ValueKey(values), rest)


def _cap(term: ListTerm) -> int:
    """From this position on, all positions are alike."""
    starts = [rule.start for rule in term.items] + [rule.start for rule in term.counts]
    stops = [rule.stop for rule in term.items if rule.stop is not None]
    return max(1, term.least, term.most or 0, *starts, *stops)


def _ways(rule: CountRule, at: int, found: int) -> list[tuple[Atom | None, int]]:
    """(demand on an item, how many are found then) for one count."""
    if at < rule.start or (rule.most is None and found >= rule.least):
        return [(None, found)]
    no = rule.atom._replace(positive=not rule.atom.positive)
    if rule.most is None:
        return [(rule.atom, found + 1), (None, found)]
    if found >= rule.most:
        return [(no, found)]
    return [(rule.atom, found + 1), (no, found)]


def distinct_alternatives(
    key: DistinctKey, alternatives: Callable[[RuleKey], Iterable[Symbols]]
) -> Iterator[Symbols]:
    """The lists of a term whose items differ (or do not), written out.

    Raises:
        NotFree: they are too many.
    """
    term = key.term
    place = term.unique or term.repeats
    plain = term._replace(unique="", repeats="")
    try:
        texts = set(_texts(list_start(plain), alternatives, ()))
    except _TooMany:
        hint = "give the list maxItems and its items a finite domain, so that it becomes a relation"
        reason = f"uniqueItems is enforced here for up to {MAX_DISTINCT} lists"
        raise NotFree(place, reason, hint=hint) from None
    for text in sorted(texts):
        items = [json.dumps(item, sort_keys=True) for item in json.loads("[" + text)]
        differ = len(set(items)) == len(items)
        if not (term.unique and not differ) and not (term.repeats and differ):
            yield (text,)


class _TooMany(Exception):
    """More than ``MAX_DISTINCT`` texts, or no end of them."""


def _texts(
    key: RuleKey, alternatives: Callable[[RuleKey], Iterable[Symbols]], above: tuple[RuleKey, ...]
) -> list[str]:
    """All texts of a rule."""
    if key in above or len(above) > MAX_DISTINCT:
        raise _TooMany
    found: list[str] = []
    for symbols in alternatives(key):
        texts = [""]
        for symbol in symbols:
            if isinstance(symbol, str):
                ends = [symbol]
            elif isinstance(symbol, Text):
                ends = _listed(symbol)
            else:
                ends = _texts(symbol, alternatives, (*above, key))
            texts = [text + end for text in texts for end in ends]
            if len(texts) > MAX_DISTINCT:
                raise _TooMany
        found += texts
        if len(found) > MAX_DISTINCT:
            raise _TooMany
    return found


def _listed(symbol: Text) -> list[str]:
    texts = symbol.automaton.texts(MAX_DISTINCT)
    if texts is None:
        raise _TooMany
    return [json.dumps(text, ensure_ascii=False) for text in texts] if symbol.quoted else texts
