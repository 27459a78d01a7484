"""Unions whose branches hold relations of their own, in lists and in recursions, against brute force."""

from __future__ import annotations

import random
from typing import Any

import pytest

from factorspec_sdk.errors import Unsatisfiable
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.graph.costs import topological
from factorspec_sdk.graph.layout import lay_out
from factorspec_sdk.graph.program import Branch, End, Value
from factorspec_sdk.graph.reference import all_records
from factorspec_sdk.graph.unroll import unroll
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import Spec, parse_document
from tests.differential.test_feasibility import compare_with_brute_force
from tests.differential.test_tokens import check_limit, check_masks, compiled_with_trie

Json = dict[str, Any]
OPS = ("eq", "ne", "lt", "le", "gt", "ge")


class Shop:
    """A list of items of two or three forms: each has a relation of its own, some lead to further items."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.forms = [f"Form{number}" for number in range(self.rng.choice([2, 2, 3]))]
        self.depth = self.rng.randint(1, 2)

    def document(self) -> Json:
        items = {"type": "array", "items": self.union(), "minItems": 1, "maxItems": self.rng.randint(1, 2)}
        properties = {"top": self.number(), "items": items, "one": self.union()}
        relations = [
            self.compare("$.one.n", "$.top"),
            {"kind": "sum", "over": ["$.items[*].n"], "op": self.rng.choice(OPS), "value": {"const": 4}},
            {"kind": "all_different", "over": ["$.items[*].n", "$.one.n"]},
            {"kind": "implies", "if": self.truth("$.one.n"), "then": self.truth("$.items[-1].m")},
            self.compare("$.items[0].m", "$.one.m"),
        ]  # fmt: skip
        vendor: Json = {"version": 1, "max_depth": self.depth}
        vendor["relations"] = self.named(self.rng.sample(relations, 2))
        definitions = {name: self.form(name) for name in self.forms}
        return {**self.closed(properties), "$defs": definitions, "x-factorspec": vendor}

    def form(self, name: str) -> Json:
        properties: Json = {"kind": {"const": name}, "n": self.number()}
        if name == self.forms[0] or self.rng.random() < 0.6:
            properties["m"] = self.number()
        paths = [f"$.{field}" for field in properties if field != "kind"]
        if self.rng.random() < 0.3:
            properties["next"] = {"anyOf": [self.union(), {"type": "null"}]}
            paths.append("$.next.n")
        relation = self.compare(*self.rng.sample([*paths, "$.n"], 2))
        return {**self.closed(properties), "x-factorspec": {"relations": self.named([relation])}}

    def union(self) -> Json:
        return {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in self.forms]}

    def number(self) -> Json:
        least = self.rng.randint(0, 2)
        return {"type": "integer", "minimum": least, "maximum": least + 1}

    def truth(self, path: str) -> Json:
        return {"op": self.rng.choice(OPS), "args": [{"ref": path}, {"const": self.rng.randint(0, 3)}]}

    def compare(self, one: str, other: str) -> Json:
        return {
            "kind": "intension",
            "expr": {"op": self.rng.choice(OPS), "args": [{"ref": one}, {"ref": other}]},
        }

    @staticmethod
    def named(relations: list[Json]) -> list[Json]:
        return [{"name": f"r{number}", **relation} for number, relation in enumerate(relations)]

    @staticmethod
    def closed(properties: Json) -> Json:
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }


def num_candidates(spec: Spec) -> int:
    """How many records the layout can write, valid or not."""
    program = lay_out(unroll(spec.root))
    counts = [1] * len(program.nodes)
    for pc in topological(program):
        match program.nodes[pc]:
            case End():
                pass
            case Branch(targets=targets):
                counts[pc] = sum(counts[target] for target in targets)
            case Value(slot=slot, next=then):
                counts[pc] = len(program.slots[slot].domain) * counts[then]
            case node:
                counts[pc] = counts[node.next]
    return counts[program.start]


def document(seed: int, most: int) -> Json | None:
    """None where there are too many records to be enumerated, or none at all (which is checked)."""
    made = Shop(seed).document()
    spec = parse_document(made)
    if num_candidates(spec) > most:
        return None
    if not all_records(spec):
        with pytest.raises(Unsatisfiable):
            compile_spec(spec)
        return None
    return made


@pytest.mark.parametrize("block", range(6))
def test_feasible_values_equal_brute_force(block: int) -> None:
    compared = 0
    for seed in range(block * 12, block * 12 + 12):
        made = document(seed, 3_000)
        compared += 0 if made is None else compare_with_brute_force(made)
    assert compared > 100


def test_masks_and_limits_equal_brute_force() -> None:
    canonical, rng, seen = Canonical(vocabulary_like("tricky")), random.Random(0), 0
    for seed in range(1_000, 1_060):
        made = document(seed, 150)
        found = None if made is None else compiled_with_trie(made, canonical)
        if found is not None:
            decoder, trie = found
            seen += check_masks(decoder, trie)
            for limit in range(max(0, trie.shortest - 2), trie.longest + 2, 5):
                check_limit(decoder, trie, limit, rng)
    assert seen > 2_000
