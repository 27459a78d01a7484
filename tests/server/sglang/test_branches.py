"""Steps in which branches run beside chains: what stands, and what counts as drafted."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from factorspec_server.drafting import Allowed, CostModel
from factorspec_server.drafting.seam import Choice, DraftKind, Plan
from factorspec_server.sglang import branching, kv_copies
from factorspec_server.sglang.acceptance import Branches, accept
from factorspec_server.sglang.branching import MOST_BRANCHES, Branching
from factorspec_server.sglang.chains import Branch, Chain, Decision, chain_of
from factorspec_server.sglang.guess_choice import choose
from factorspec_server.sglang.shapes import ManyRows, Shapes
from factorspec_server.sglang.step_branches import StepBranches
from factorspec_server.sglang.step_counts import StepCounts
from factorspec_server.sglang.step_layout import StepLayout
from factorspec_server.sglang.step_tensors import StepTensors
from tests.server.engines.random_trees import RandomTrees
from tests.server.engines.toy_session import ToySession, random_alternatives
from tests.server.sglang.test_plain_step import modules
from tests.server.sglang.test_verify_step import MOST, Model, Served, by_token, run_ahead, run_to_the_end

__all__ = ["modules"]

#: everything that is wanted runs
FLAT = CostModel(((1, 1.0), (1000, 1.0)))


def shapes(*, branches: int = MOST_BRANCHES, entries: int = 500, rows: int = 500) -> Shapes:
    tiers = tuple(range(1, 500))
    many = ManyRows(
        most=rows, uniform=FLAT, requests={}, tiers=tiers, ragged=FLAT, branches=branches, entries=entries
    )
    return Shapes(widths=(1,), uniform=FLAT, tiers=tiers, ragged=FLAT, ragged_width=64, many=many)


def sessions(seed: int) -> list[ToySession | None]:
    return [*(ToySession(random_alternatives(seed * 4 + at)) for at in range(4)), None]


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Of steps with branches: how many there were, and how many paths ended in one."""
    found: Counter[str] = Counter()
    original = kv_copies.keep_paths

    def keep_paths(pool: Any, places: torch.Tensor, branches: Branches, entries: torch.Tensor) -> None:
        found["steps"] += 1
        found["deep"] += branches.depth > 1
        found["in branches"] += int((entries >= len(places)).sum())
        assert places.shape[1] <= MOST  # the last token's, and as many as a request has room for
        original(pool, places, branches, entries)

    def copy_places(pool: Any, to: torch.Tensor, behind: torch.Tensor) -> None:
        """A kernel may write one place before it has read the next."""
        assert not (set(to.tolist()) & set(behind.tolist())) - {0}
        copied(pool, to, behind)

    copied = kv_copies.copy_places
    monkeypatch.setattr(kv_copies, "copy_places", copy_places)
    monkeypatch.setattr(branching, "keep_paths", keep_paths)
    return found


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("ahead", [False, True])
def test_records_are_those_of_decoding_token_by_token(ended: Counter[str], *, ahead: bool) -> None:
    for seed in range(30):
        served = Served(sessions(seed), RandomTrees(seed, width=40), 500)
        served.worker._graphs.shapes = shapes()
        if ahead:
            run_ahead(served, random.Random(seed))
        else:
            run_to_the_end(served)
        found, want = served.output(), [by_token(each, slot) for slot, each in enumerate(sessions(seed))]
        assert found[:4] == want[:4]
        assert found[4][:60] == want[4][:60]
    assert ended["steps"] > 40
    assert ended["deep"] > 4
    assert ended["in branches"] > 20


ANY = Allowed.of((1, 2, 3, 4))


def guessing(tokens: Sequence[int], *offsets: int, chance: float = 0.5) -> Chain:
    """A chain with guesses at these offsets, and a decision behind it."""
    decisions = [Decision(offset, ANY, chance) for offset in offsets]
    return Chain(tuple(tokens), (*decisions, Decision(len(tokens), ANY)))


def tree() -> Chain:
    """::

    l │ 10 11 12       11 is guessed; 21 and 41 in its place
            21 22 23   22 is guessed; 32 in its place, which is the record's end
               32
            41
    """
    behind_21 = guessing((22, 23), 0, chance=0.25)
    branches = (
        Branch(0, 0, 21, behind_21, 0.4, "text"),
        Branch(1, 0, 32, Chain((), (), 99), 0.2),
        Branch(0, 0, 41, Chain(), 0.05),
    )
    return Chain((10, 11, 12), (Decision(1, ANY, 0.5), Decision(3, ANY)), branches=branches)


def test_a_plan_with_several_guesses_becomes_branches() -> None:
    """``tree`` as a session plans it: what nothing is known behind does not run."""
    tokens = (10, 11, 21, 12, 22, 32, 23, 41, 5)
    parents = (-1, 0, 0, 1, 2, 2, 4, 0, 0)
    certain = tuple(token in (10, 12, 23) for token in tokens)
    chances = (1.0, 0.5, 0.4, 0.5, 0.25, 0.2, 0.25, 0.05, 0.01)
    choices = (
        Choice(0, ANY, False, (1, 2, 7, 8)),
        Choice(2, ANY, False, (4, 5)),
        Choice(3, ANY, False, ()),
        Choice(6, ANY, False, ()),
        Choice(7, ANY, False, ()),
    )
    kinds: list[DraftKind] = ["branch"] * 9
    kinds[0], kinds[2], kinds[4], kinds[6] = "certain", "text", "branch", "branch"
    plan = Plan(tokens, parents, certain, choices, False, tuple(kinds), chances, ends=(5,))
    found, want = chain_of(plan, 99), tree()
    assert found.branches[0].chain.decisions[0].kind == "branch"
    assert found.tokens == want.tokens
    assert found.branches == (
        want.branches[0]._replace(chain=found.branches[0].chain),
        *want.branches[1:2],
        want.branches[2]._replace(chain=Chain((), (Decision(0, ANY),))),
    )
    assert [branch.token for branch in found.branches] == [21, 32, 41]
    assert [branch.chance for branch in found.branches] == [0.4, 0.2, 0.05]


def test_what_hangs_from_nothing_is_cut_with_it() -> None:
    whole = tree()
    assert whole.num_drafted == 8
    assert whole.cut(9) == whole  # a place more than tokens: the longest path has four, the chain three
    assert [branch.token for branch in whole.cut(8).branches] == [21, 32]
    cut = whole.cut(5)  # of the first branch two tokens run; what would hang from its guess does still
    assert (cut.num_drafted, [branch.token for branch in cut.branches]) == (5, [21])
    assert cut.branches[0].chain == Chain((22,), whole.branches[0].chain.decisions[:1], 23)
    assert whole.cut(4).branches[0].chain == Chain((), whole.branches[0].chain.decisions[:1])
    assert whole.cut(3).branches == ()
    assert whole.cut(1) == Chain((10,), whole.decisions[:1])  # no guess, nothing beside it
    assert whole.pruned((1, 3, 1, 1)) == Chain((10,), whole.decisions[:1])
    alone = whole.pruned((3, 0, 1, 1))
    assert [(branch.parent, branch.token) for branch in alone.branches] == [(0, 41)]
    moved = replace(
        whole, branches=(whole.branches[2], whole.branches[0], Branch(2, 0, 32, Chain((), (), 9)))
    )
    assert [(each.parent, each.token) for each in moved.pruned((3, 0, 3, 1)).branches] == [(0, 21), (1, 32)]


def test_paths_and_where_their_tokens_run() -> None:
    chains = [Chain((7,), (), 8), tree()]
    found = StepBranches.of(chains)
    assert found is not None
    assert (found.num_requests, found.count, found.depth, found.longest, found.most_nodes) == (2, 3, 2, 4, 10)
    assert found.owners.tolist() == [0, 1, 1, 1, 1]
    assert found.numbers.tolist() == [0, 0, 1, 2, 3]
    assert found.befores.tolist() == [0, 0, 2, 3, 2]
    assert found.parents == [1, 2, 1]
    assert found.decisions == [0, 0, 0]
    assert found.heads == [21, 32, 41]
    assert found.paths == [[10, 21, 22, 23], [10, 21, 32], [10, 41]]
    assert found.nodes == [[1, 5, 6, 7], [1, 5, 8], [1, 9]]  # 4 is left: a path may be as long
    assert StepBranches.of([Chain()]) is None


@pytest.mark.parametrize("draws", [[11, 5], [11, 6], [21, 22, 7], [21, 32], [21, 4], [41, 2], [3]])
def test_what_stands_is_the_path_that_was_drawn(draws: list[int]) -> None:
    """The first draw is behind 10, each other where the one before leads."""
    chains = [tree(), Chain((7,), (), 8), tree()]
    layout = StepLayout.ragged(chains)
    block = np.zeros(layout.size, dtype=np.int64)
    layout.fill(block, chains, np.array([5, 3, 9], dtype=np.int64))
    step = StepTensors.of(torch.from_numpy(block), layout)
    rows = torch.full((layout.num_rows,), 3)
    # rows: of each chain behind 10 and 12, one of the second request; branch by branch 21, 23; 32; 41
    first = dict(zip(["10", "12"], [0, 1], strict=True))
    own = {**first, "21": 5, "23": 6, "32": 7, "41": 8}
    at = "10"
    for draw, then in zip(draws, {"11": "12", "21": "21", "22": "23", "41": "41"}, strict=False):
        rows[own[at]] = draw
        at = {11: "12", 21: "21", 22: "23", 41: "41"}.get(draw, then)
    found = accept(step.ends, rows[step.picks], step.branches)
    want = {
        (11, 5): [10, 11, 12, 5],
        (11, 6): [10, 11, 12, 6],
        (21, 22, 7): [10, 21, 22, 23, 7],
        (21, 32): [10, 21, 32, 99],
        (21, 4): [10, 21, 4],
        (41, 2): [10, 41, 2],
        (3,): [10, 3],
    }[tuple(draws)]
    assert found.tokens[0, : int(found.lengths[0])].tolist() == want
    assert int(found.last[0]) == want[-1]
    assert found.tokens[1, : int(found.lengths[1])].tolist() == [7, 8]
    assert found.tokens[2, : int(found.lengths[2])].tolist() == [10, 3]
    assert found.entries is not None
    assert found.entries.tolist()[1:] == [1, 2]
    assert step.askers.tolist() == [0, 0, 1, 2, 2, 0, 0, 0, 0, 2, 2, 2, 2]
    assert step.ids[step.firsts].tolist() == [0, 0, 0, 21, 32, 41, 21, 32, 41]
    assert step.positions[step.firsts].tolist() == [5, 3, 9, 7, 8, 7, 11, 12, 11]


def test_branches_run_where_there_is_room_for_them() -> None:
    chains = [tree(), tree()]
    every = choose(shapes(), chains)
    assert every.of(chains) == chains
    assert (every.shape.width, every.shape.num_inputs) == (9, 18)
    for without in (shapes(branches=0), shapes(entries=2), shapes(rows=4)):
        assert all(not each.branches for each in choose(without, chains).of(chains))
    few = choose(shapes(branches=4), chains).of(chains)  # the likeliest two of each
    assert [[branch.token for branch in each.branches] for each in few] == [[21, 32]] * 2
    assert few[0].num_drafted == 7


def test_what_is_likelier_than_what_it_runs_behind_takes_no_place_of_others() -> None:
    """Chances of a plan descend; where they do not, a step has no more rows and entries than it may."""
    behind = Chain((22, 23), (Decision(1, ANY, 0.9), Decision(2, ANY)))  # 21 itself is unlikely
    rising = (Decision(1, ANY, 0.01), Decision(2, ANY, 0.8), Decision(3, ANY, 0.9), Decision(4, ANY))
    odd = Chain((10, 11, 12, 13), rising, branches=(Branch(0, 1, 21, behind, 0.04),))
    for entries in range(1, 4):
        for rows in range(1, 9):
            for cost in (FLAT, CostModel(((1, 1.0), (4, 2.5), (9, 5.0)))):
                few = shapes(entries=entries, rows=rows)
                assert few.many is not None
                dear = replace(few, ragged=cost, many=replace(few.many, ragged=cost))
                (chain,) = choose(dear, [odd]).of([odd])
                assert len(chain.entries) <= entries
                assert sum(each.num_rows for each in chain.entries) <= max(1, rows)


def test_branches_do_not_run_where_inputs_cost_more_than_they_bring() -> None:
    dear = CostModel(((1, 1.0), (4, 1.01), (5, 10.0), (9, 20.0)))
    some = shapes()
    assert some.many is not None
    costly = replace(some, ragged=dear, many=replace(some.many, ragged=dear))
    (chain,) = choose(costly, [tree()]).of([tree()])
    assert (chain.tokens, chain.branches) == ((10, 11, 12), ())


def test_uniform_steps_have_none() -> None:
    some = shapes()
    assert some.many is not None
    many = replace(some.many, tiers=(), ragged=None, requests={8: 4})
    wide = replace(some, widths=(1, 8), tiers=(), ragged=None, many=many)
    (chain,) = choose(wide, [tree()]).of([tree()])
    assert (chain.tokens, chain.branches) == ((10, 11, 12), ())


@pytest.mark.parametrize(
    ("stands", "entry", "branch", "text"),
    [(4, 0, (4, 1), (1, 0)), (2, 0, (4, 0), (1, 0)), (5, 1, (4, 1), (1, 1)), (4, 2, (4, 1), (1, 1))],
)
def test_what_was_guessed_and_what_of_it_stands(
    stands: int, entry: int, branch: tuple[int, int], text: tuple[int, int]
) -> None:
    """``stands``: with the token behind: 10 11 12 x, 10 x, 10 21 22 23 x, 10 21 32 end."""
    counts = StepCounts()
    counts.count(tree(), stands, entry)
    assert counts.guesses == {"branch": branch, "text": text}
    assert (counts.tokens_run, counts.widest, counts.in_vain) == (9, 9, 8 - (stands - 1))
    certain_run, certain_stands = 3, {(4, 0): 2, (2, 0): 1, (5, 1): 2, (4, 2): 1}[stands, entry]
    assert counts.certain_in_vain == certain_run - certain_stands


def test_without_a_request_s_place_nothing_is_copied_there() -> None:
    """Behind what it runs a row may name places that are others' by now."""
    chains = [tree(), Chain((7,), (), 8)]
    layout = StepLayout.ragged(chains)
    block = np.zeros(layout.size, dtype=np.int64)
    layout.fill(block, chains, np.array([0, 0], dtype=np.int64))
    step = StepTensors.of(torch.from_numpy(block), layout)
    assert step.branches is not None
    cache = torch.arange(40)
    pool = SimpleNamespace(k_buffer=[cache], v_buffer=[])
    places = torch.stack((torch.arange(1, 11), torch.tensor([20, 21, 5, 6, 7, 8, 9, 3, 4, 11])))
    kv_copies.keep_paths(pool, places, step.branches, torch.tensor([2, 1]))
    want = torch.arange(40)
    want[torch.tensor([3, 4, 5])] = torch.tensor([6, 7, 8])  # 21, 22, 23 behind 10, which stays
    assert cache.tolist() == want.tolist()


def test_whoever_holds_the_table_of_places_sees_its_further_rows() -> None:
    """SGLang 0.5.23 gives it to what attention reads places with, before there are branches."""
    model = Model(2)
    held = model.req_to_token
    before = held.tolist()
    Branching(model.places, SimpleNamespace(k_buffer=[model.cache], v_buffer=[]))
    assert model.req_to_token is held
    assert (held[:2].tolist(), len(held), int(held[2:].abs().sum())) == (before, 2 + MOST_BRANCHES, 0)
    model.req_to_token[1, 3] = 7
    assert int(held[1, 3]) == 7
