"""Fixed text around the record of a program: the tags around a tool's arguments, for example."""

from __future__ import annotations

from dataclasses import replace

from factorspec_sdk.graph.program import Branch, End, Literal, Node, Program


def enveloped(program: Program, before: str, after: str) -> Program:
    """The program with fixed text around the record; its slots stay, and its nodes keep their places.

    No literal follows a literal in it either: the texts join those that the record begins and ends with.
    """
    nodes, start = list(program.nodes), program.start
    if after:
        behind = len(nodes)
        nodes = [_ending(node, program, after, behind) for node in nodes] + [
            Literal(after, behind + 1),
            End(),
        ]
    if before:
        first = nodes[start]
        joined = Literal(before + first.text, first.next) if isinstance(first, Literal) else None
        nodes.append(joined or Literal(before, start))
        start = len(nodes) - 1
    return Program(tuple(nodes), start, program.slots, program.holes)


def _ending(node: Node, program: Program, after: str, behind: int) -> Node:
    """A node that goes on to the text at ``behind`` where it led to the end of the record."""
    if isinstance(node, End):
        return node
    if isinstance(node, Branch):
        ends = [isinstance(program.nodes[target], End) for target in node.targets]
        pairs = zip(node.targets, ends, strict=True)
        return replace(node, targets=tuple(behind if at_end else target for target, at_end in pairs))
    if not isinstance(program.nodes[node.next], End):
        return node
    if isinstance(node, Literal):
        return Literal(node.text + after, behind + 1)
    return replace(node, next=behind)
