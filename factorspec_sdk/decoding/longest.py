"""The most bytes that a record can have: with so many tokens to go no limit needs looking at.

A token spells at least one byte, so bytes bound tokens. Much cheaper than costs in tokens.
"""

from __future__ import annotations

from factorspec_sdk.decoding.layout import Layout, post_order
from factorspec_sdk.fields.domains import Domain, moment_of
from factorspec_sdk.graph.feasibility import UNBOUNDED
from factorspec_sdk.graph.program import Branch, End, Hole, Length, Literal

#: an escaped character has at most two escapes of six bytes
BYTES_PER_CHARACTER = 12
_FEW = 128


def most_bytes(layout: Layout) -> int:
    """Bytes of the longest record, relations aside; ``UNBOUNDED`` where free text has no limit. O(nodes)."""
    program = layout.program
    most = [0] * len(program.nodes)
    widest: dict[int, int] = {}
    for pc in post_order(program):
        node = program.nodes[pc]
        if isinstance(node, End):
            continue
        if isinstance(node, Branch):
            most[pc] = max(most[target] for target in node.targets)
            continue
        if isinstance(node, Literal):
            own = len(layout.literal(pc).encode())
        elif isinstance(node, Hole):
            spec = program.holes[node.hole]
            bounded = spec.kind == "string" and spec.max_length is not None
            own = BYTES_PER_CHARACTER * (spec.max_length or 0) if bounded else UNBOUNDED
        elif isinstance(node, Length):
            own = 0
        else:
            domain = program.slots[node.slot].domain
            if id(domain) not in widest:
                widest[id(domain)] = _widest(layout, node.slot, domain)
            own = widest[id(domain)]
        most[pc] = min(UNBOUNDED, most[node.next] + own)
    return most[program.start]


def _widest(layout: Layout, slot: int, domain: Domain) -> int:
    size = len(domain)
    if domain.stride is not None or moment_of(domain.code_type) is not None:
        return max(len(domain.text(0)), len(domain.text(size - 1)), len("null"))
    if size <= _FEW:
        return max(len(layout.value_text(slot, index).encode()) for index in range(size))
    return BYTES_PER_CHARACTER * max(len(domain.text(index)) for index in range(size))
