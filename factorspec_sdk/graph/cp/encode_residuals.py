"""Any node, as the automaton of its residuals.

The residuals after 0, 1, 2, .. of its slots are levels of a diagram; each has a literal, "the slots so far
lead here", and exactly one of a level holds::

    level 0       level 1            level 2
    node (true) --slot = 0--> a  --slot' = 1--> TRUE
                --slot = 1--> b  --any-------> FALSE
"""

from __future__ import annotations

from collections.abc import Iterator

from factorspec_sdk.automata.nodes import ABSENT_INDEX, Code, Condition, Known, Mark, ValueNode
from factorspec_sdk.automata.nodes import Node as AnyNode
from factorspec_sdk.automata.nodes import Truth as Decided
from factorspec_sdk.graph.cp.encoded import Truth, Value, known, select
from factorspec_sdk.graph.cp.encoder import Encoder
from factorspec_sdk.graph.cp.model import FALSE, TRUE, Lit, NotEncodable
from factorspec_sdk.graph.factors import bits

#: residuals × values that one node may take
MAX_RESIDUALS = 60_000

Level = dict[AnyNode, Lit]


def condition_by_residuals(encoder: Encoder, node: Condition) -> Truth:
    """The truth of any condition."""
    store, last = node.store, _last_level(encoder, node)
    return Truth(last.get(store.true, FALSE), last.get(store.false, FALSE))


def value_by_residuals(encoder: Encoder, node: ValueNode) -> Value:
    """The value of any node."""
    options = []
    for end, literal in _last_level(encoder, node).items():
        assert isinstance(end, Known)
        options.append((literal, known(encoder.model, end.code)))
    return select(encoder.model, options)


def _last_level(encoder: Encoder, node: AnyNode) -> Level:
    level: Level = {node: TRUE}
    left = MAX_RESIDUALS
    for slot in bits(node.slots):
        left -= len(level) * len(encoder.slots[slot].domain)
        if left < 0:
            raise NotEncodable(f"its automaton ({type(node).__name__}) has more than {MAX_RESIDUALS} steps")
        level = _next_level(encoder, slot, level)
    return level


def _next_level(encoder: Encoder, slot: int, level: Level) -> Level:
    """The residuals after a slot."""
    model, value = encoder.model, encoder.slots[slot]
    arcs: dict[AnyNode, dict[AnyNode, list[int]]] = {}
    for node in level:
        if isinstance(node, Decided | Known):
            arcs.setdefault(node, {})[node] = list(_indices(encoder, slot))
            continue
        for index in _indices(encoder, slot):
            code: Code = Mark.ABSENT if index == ABSENT_INDEX else value.domain.code(index)
            after = _assigned(node, slot, index, code)
            arcs.setdefault(after, {}).setdefault(node, []).append(index)
    made = {
        after: model.any_of(
            [model.all_of([level[node], value.at(indices)]) for node, indices in into.items()]
        )
        for after, into in arcs.items()
    }
    model.exactly_one(made.values())
    return {node: literal for node, literal in made.items() if literal != FALSE}


def _assigned(node: AnyNode, slot: int, index: int, code: Code) -> AnyNode:
    assert isinstance(node, Condition | ValueNode)
    return node.assign(slot, index, code)


def _indices(encoder: Encoder, slot: int) -> Iterator[int]:
    """Indices of a slot, that of absence included where it can be absent."""
    value = encoder.slots[slot]
    if value.present != TRUE:
        yield ABSENT_INDEX
    yield from range(len(value.domain))
