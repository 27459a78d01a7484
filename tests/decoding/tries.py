"""The true tokens of records, and their trie."""

from __future__ import annotations

from dataclasses import dataclass, field

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.graph.program import Literal, Program, Value
from factorspec_sdk.tokens import Vocabulary
from tests.decoding.brute import Written


def record_text(program: Program, vocabulary: Vocabulary, record: Written) -> str:
    """The text of a record, each part made safe by itself."""
    parts = []
    for pc, index in record.path:
        node = program.nodes[pc]
        if isinstance(node, Literal):
            parts.append(vocabulary.escape(node.text))
        elif isinstance(node, Value):
            parts.append(vocabulary.escape(program.slots[node.slot].domain.text(index)))
    return "".join(parts)


def record_tokens(decoder: Decoder, records: list[Written]) -> list[tuple[int, ...]]:
    """The tokenizer's own encoding of each record."""
    vocabulary = decoder.vocabulary
    return [vocabulary.encode(record_text(decoder.program, vocabulary, record)) for record in records]


@dataclass
class Trie:
    """A node of a trie of token sequences."""

    children: dict[int, Trie] = field(default_factory=dict)
    shortest: int = 0  # tokens from here to the nearest leaf
    longest: int = 0  # tokens from here to the farthest leaf
    leaves: int = 1

    @classmethod
    def of(cls, sequences: list[tuple[int, ...]]) -> Trie:
        root = cls()
        for sequence in sequences:
            node = root
            for token in sequence:
                node = node.children.setdefault(token, cls())
        root._measure()
        return root

    def _measure(self) -> int:
        if self.children:
            children = list(self.children.values())
            self.shortest = 1 + min(child._measure() for child in children)
            self.longest = 1 + max(child.longest for child in children)
            self.leaves = sum(child.leaves for child in children)
        return self.shortest

    def forced_run(self) -> tuple[list[int], Trie]:
        """The tokens that are forced from here, and the node after them."""
        node, run = self, []
        while len(node.children) == 1:
            ((token, node),) = node.children.items()
            run.append(token)
        return run, node
