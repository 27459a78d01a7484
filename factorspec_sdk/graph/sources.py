"""Pass: free texts that must be pieces of given texts are bound to them.

Before: the unrolled record, holes by their schema alone. After: the holes that a relation binds hold their
sources and are no longer than the longest of them; texts that no source is long enough for do not occur.
"""

from __future__ import annotations

from dataclasses import replace

from factorspec_sdk.automata.logic import negation, occurs
from factorspec_sdk.automata.nodes import NodeStore
from factorspec_sdk.errors import Problem, UnsupportedKeyword, shown
from factorspec_sdk.graph.factors import Factor, enforced_relations
from factorspec_sdk.graph.program import HoleSpec
from factorspec_sdk.graph.unroll import Unrolled


def bind_sources(unrolled: Unrolled, store: NodeStore) -> tuple[Unrolled, list[Factor]]:
    """(the record with bound holes, conditions on the presence of texts that cannot be written).

    Raises:
        UnsupportedKeyword: two relations bind one text, or one reads the length of a bound text.
    """
    holes = list(unrolled.holes)
    factors: list[Factor] = []
    for origin, lowering in enforced_relations(unrolled, store):
        for part, texts in origin.relation.sources(lowering):
            if holes[part.hole].sources is not None:
                hint = "one relation with all texts allows pieces of any of them"
                problem = Problem(
                    origin.pointer, f"{part.path} has a source already", shown(origin.label), hint
                )
                raise UnsupportedKeyword("a text has two sources", [problem])
            if part.length is not None:
                hint = "bound its length by min_length and max_length, or leave its length out of relations"
                what = f"{part.path} is a piece of given texts: relations cannot read its length"
                problem = Problem(origin.pointer, what, shown(origin.label), hint)
                raise UnsupportedKeyword("the length of a piece of given texts is read", [problem])
            holes[part.hole] = _bound(holes[part.hole], texts)
            if not holes[part.hole].sources:
                factors.append(Factor(negation(store, occurs(store, part.presence)), origin))
    return replace(unrolled, holes=holes), factors


def _bound(hole: HoleSpec, texts: tuple[str, ...]) -> HoleSpec:
    """The hole bound to those texts that are long enough for it."""
    sources = tuple(dict.fromkeys(text for text in texts if len(text) >= hole.min_length))
    longest = max(map(len, sources), default=0)
    most = longest if hole.max_length is None else min(longest, hole.max_length)
    return replace(hole, max_length=most, sources=sources)
