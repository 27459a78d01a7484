"""Generated specs too large to enumerate: the own tiers against CP-SAT along random records.

``enlarged`` widens the integers and lengthens the lists of a generated document. At every decision of some
records, the values that the own tiers call feasible are compared with CP-SAT's; of an objective, the optima.
One that fails can be shrunk and printed: ``python -m tests.differential.large --seed N``.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

from factorspec_sdk.automata.nodes import NodeStore
from factorspec_sdk.errors import DocumentError, InfeasibleError, Unsatisfiable
from factorspec_sdk.fields.asked import AskedSet
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph import compile as compiling
from factorspec_sdk.graph import objective
from factorspec_sdk.graph.compile import CompiledSpec, compile_spec
from factorspec_sdk.graph.components import Component, OverBudget
from factorspec_sdk.graph.cp.tier import by_cp_sat
from factorspec_sdk.graph.factors import Group
from factorspec_sdk.graph.layers import Layers
from factorspec_sdk.graph.program import Branch, End, Value
from factorspec_sdk.graph.unroll import Unrolled
from factorspec_sdk.wire import parse_document
from tests.differential.generate import Json, document
from tests.differential.shrink import shrunk

#: records that are walked along for each spec
WALKS = 2
#: ranges that are asked of a set that is too wide to list
RANGES = 8


def large_document(seed: int) -> Json:
    """An enlarged document, every third with an objective."""
    made = enlarged(document(seed, None, 5_000, goals=1 if seed % 3 == 0 else 0), random.Random(seed))
    try:
        parse_document(made)
    except DocumentError:
        made["x-factorspec"].pop("objective", None)
    return made


def enlarged(doc: Json, rng: random.Random) -> Json:
    """The document with wider integers and longer lists."""
    made = copy.deepcopy(doc)
    stack: list[Any] = [made]
    while stack:
        schema = stack.pop()
        if not isinstance(schema, dict):
            continue
        if schema.get("type") == "integer" and "maximum" in schema:
            schema["maximum"] += rng.choice([0, 5, 30, 400])
        if schema.get("type") == "array" and isinstance(schema.get("maxItems"), int):
            schema["maxItems"] += rng.choice([1, 3, 6])
        stack += [*schema.get("properties", {}).values(), schema.get("items")]
        for branches in ("anyOf", "oneOf"):
            stack += schema.get(branches, ())
    return made


def by_cp_sat_alone(
    unrolled: Unrolled, store: NodeStore, budget: int, group: Group, wide: int = 0
) -> tuple[Component, bool]:
    """``make_component`` without the tiers before CP-SAT."""
    return by_cp_sat(Layers(group, unrolled, store), unrolled, OverBudget())


@contextmanager
def only_cp_sat() -> Iterator[None]:
    """Compile with CP-SAT alone, optima included."""
    with (
        patch.object(compiling, "make_component", by_cp_sat_alone),
        patch.object(objective, "MAX_ENUMERATED", 0),
        patch.object(objective, "is_wide", lambda layers, wide: False),
    ):
        yield


def compare(doc: Json, seed: int) -> int:
    """Compare the tiers; the number of decisions compared, 0 where the own tiers do not take the spec."""
    own, other = compiled(doc), None
    with only_cp_sat():
        other = compiled(doc)
    if isinstance(own, Unsatisfiable) or isinstance(other, Unsatisfiable):
        assert isinstance(own, Unsatisfiable) and isinstance(other, Unsatisfiable), (own, other)
        return 1
    if isinstance(own, InfeasibleError) or isinstance(other, InfeasibleError):
        return 0
    if any(component.tier == "cp_sat" for component in own.feasibility.components):
        return 0
    for mine, theirs in zip(own.certificates, other.certificates, strict=True):
        assert not (mine.proven and theirs.proven) or mine.best == theirs.best, (mine, theirs)
    rng = random.Random(seed)
    return sum(_walk(own, other, rng) for _ in range(WALKS))


def compiled(doc: Json) -> CompiledSpec | InfeasibleError:
    """The compiled document, or why there is none."""
    try:
        return compile_spec(parse_document(doc), 20_000)
    except InfeasibleError as error:
        return error


def _walk(own: CompiledSpec, other: CompiledSpec, rng: random.Random) -> int:
    """Along one random record; the number of decisions compared."""
    program = own.program
    states = (own.feasibility.start(), other.feasibility.start())
    pc, compared = program.start, 0
    while not isinstance(node := program.nodes[pc], End):
        if not isinstance(node, Value | Branch):
            pc = node.next
            continue
        mine = own.feasibility.values(states[0], node.slot)
        theirs = other.feasibility.values(states[1], node.slot)
        if not (mine.complete and theirs.complete):
            return compared
        _assert_same(mine, theirs, rng, program.slots[node.slot].path)
        compared += 1
        index = rng.choice([rng.randint(*rng.choice(mine.spans)), mine.first, mine.last])
        states = (
            own.feasibility.assign(states[0], node.slot, index),
            other.feasibility.assign(states[1], node.slot, index),
        )
        pc = node.targets[index] if isinstance(node, Branch) else node.next
    return compared


def _assert_same(mine: IndexSet, theirs: IndexSet, rng: random.Random, path: str) -> None:
    if not isinstance(theirs, AskedSet):
        assert set(mine) == set(theirs), (path, mine, theirs)
        return
    assert (mine.first, mine.last) == (theirs.first, theirs.last), (path, mine, theirs)
    for _ in range(RANGES):
        lo = rng.randint(0, mine.last)
        hi = lo + rng.choice([0, 1, 3, 40])
        assert mine.any_in(lo, hi) == theirs.any_in(lo, hi), (path, lo, hi, mine, theirs)


def fails(doc: Json, seed: int) -> bool:
    """True if the tiers differ on a document that can be read."""
    try:
        compare(doc, seed)
    except DocumentError:
        return False
    except AssertionError:
        return True
    return False


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential.large", description=__doc__)
    parser.add_argument("--seed", type=int, default=2_000_000)
    parser.add_argument("--specs", type=int, default=1)
    options = parser.parse_args()
    compared = differ = 0
    for seed in range(options.seed, options.seed + options.specs):
        doc = large_document(seed)
        try:
            compared += compare(doc, seed)
        except AssertionError:
            differ += 1
            small = shrunk(doc, partial(fails, seed=seed))
            told = json.dumps(small, ensure_ascii=False, indent=1)
            sys.stdout.write(f"seed {seed} differs; shrunk:\n{told}\n")
    sys.stdout.write(f"{options.specs} specs, {compared} decisions compared, {differ} differ\n")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
