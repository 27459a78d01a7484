"""Requests decoded by chains, layouts and acceptance, without an engine; draws are a hash of the text."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from factorspec_server.drafting import DraftingPolicy, Session
from factorspec_server.sglang.acceptance import accept
from factorspec_server.sglang.chains import Chain, Decision
from factorspec_server.sglang.plan_source import Asked, LocalPlans
from factorspec_server.sglang.policies import Policies
from factorspec_server.sglang.step_layout import StepLayout
from factorspec_server.sglang.step_tensors import StepTensors
from tests.server.engines.toy_session import ToySession

END = 999
ROW_WORDS = 32


@dataclass
class Decoded:
    """A request in the making; ``tokens`` is what the engine holds of it, the first comes from the prompt."""

    session: Session
    seed: int
    tokens: list[int] = field(default_factory=lambda: [7])
    steps: int = 0

    @property
    def is_done(self) -> bool:
        return self.tokens[-1] == END


def drawn(seed: int, before: Sequence[int], allowed: Sequence[int]) -> int:
    """What the model draws behind some tokens."""
    return allowed[random.Random(f"{seed} {list(before)}").randrange(len(allowed))]


def step(
    requests: Sequence[Decoded],
    plans: LocalPlans,
    *,
    most: int,
    width: int | None,
    prompt: Sequence[int] = (),
    guesses: bool = True,
) -> list[Chain]:
    """One step of all, and what it ran; ``width``: of a uniform layout, None: ragged, with some padding."""
    asked = [Asked(one.session, prompt, END, most, guesses=guesses) for one in requests]
    chains = [chain for chain in plans.chains(asked) if isinstance(chain, Chain)]
    assert len(chains) == len(requests)
    if width is not None:
        chains = [replace(chain, branches=()) for chain in chains]
        layout = StepLayout.uniform(chains, width)
    else:
        layout = StepLayout.ragged(chains, sum(chain.num_drafted + 1 for chain in chains) + 3)
    block = np.full(layout.size, -7, dtype=np.int64)
    lengths = np.array([len(one.tokens) - 1 for one in requests], dtype=np.int64)
    layout.fill(block, chains, lengths)
    step = StepTensors.of(torch.from_numpy(block), layout)
    entries, askers = entries_of(requests, chains, layout)
    assert step.counts.tolist() == [len(chain.tokens) + 1 for chain in entries]
    assert [int((step.owners == index).sum()) for index in range(len(entries))] == step.counts.tolist()
    assert not step.positions[step.owners < 0].any()
    assert not step.ids[step.owners < 0].any()
    step.start_with(torch.tensor([one.tokens[-1] for one in requests]))
    draws = _draws(askers, entries, step, layout, plans)
    owners = range(len(requests)) if layout.branches is None else layout.branches.owners
    assert step.askers.tolist() == [
        owner for owner, chain in zip(owners, entries, strict=True) for _ in range(chain.num_rows)
    ]
    assert len(set(step.rows.tolist())) == len(step.rows)
    stands = accept(step.ends, torch.from_numpy(draws)[step.picks], step.branches)
    for index, one in enumerate(requests):
        new = stands.tokens[index, : int(stands.lengths[index])].tolist()
        assert new[-1] == int(stands.last[index])
        one.tokens += new
        one.steps += 1
        one.session.commit([token for token in new if token != END])
    return chains


def entries_of(
    requests: Sequence[Decoded], chains: Sequence[Chain], layout: StepLayout
) -> tuple[Sequence[Chain], Sequence[Decoded]]:
    """The chains of a step and of its branches, and of each its request."""
    if layout.branches is None:
        return chains, requests
    return layout.branches.entries, layout.branches.of_entries(requests)


def _draws(
    askers: Sequence[Decoded],
    entries: Sequence[Chain],
    step: StepTensors,
    layout: StepLayout,
    plans: LocalPlans,
) -> np.ndarray:
    """What a model draws at each row, which sees the inputs of its request up to the row, and those of a
    branch's path.
    """
    found, at, branches = [], 0, layout.branches
    for index, (one, chain) in enumerate(zip(askers, entries, strict=True)):
        before: list[int] = []
        if branches is not None and index >= branches.num_requests:
            path = branches.paths[index - branches.num_requests]
            before = [one.tokens[-1], *path[: int(branches.befores[index]) - 1]]
        for decision in chain.decisions or (None,):
            row, at = int(step.rows[at]), at + 1
            seen = [*before, *step.ids[int(step.firsts[index]) : row + 1].tolist()]
            assert int(step.positions[row]) == len(one.tokens) - 2 + len(seen)
            assert decision is None or len(seen) == len(before) + decision.offset + 1
            found.append(_draw(one, seen, decision, plans))
    assert at == len(step.rows)
    return np.array(found)


def _draw(one: Decoded, seen: Sequence[int], decision: Decision | None, plans: LocalPlans) -> int:
    """A token drawn under the mask row of a decision; rubbish where nothing is decided."""
    if decision is None or decision.allowed is None:
        return 12345
    row = np.full(ROW_WORDS + 2, -1, dtype=np.int32)
    plans.fill_rows([(row, decision)])
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")
    return drawn(one.seed, [*one.tokens[:-1], *seen], np.flatnonzero(bits).tolist())


def decode(
    alternatives: Sequence[tuple[int, ...]], seed: int, policy: DraftingPolicy, *, most: int, ragged: bool
) -> list[Decoded]:
    """Three requests over the same records, decoded together to the end."""
    requests = [Decoded(ToySession(tuple(alternatives)), seed * 3 + at) for at in range(3)]
    plans = LocalPlans(ROW_WORDS, Policies(lambda session, prompt: policy))
    while left := [one for one in requests if not one.is_done]:
        step(left, plans, most=most, width=None if ragged else most + 1)
    return requests


def by_token(alternatives: Sequence[tuple[int, ...]], seed: int) -> list[int]:
    """The same request token by token."""
    return by_token_of(ToySession(tuple(alternatives)), seed)


def by_token_of(session: Session, seed: int) -> list[int]:
    """What a session's record comes to token by token."""
    tokens = [7]
    while session.state != "complete":
        plan = session.plan()
        allowed = list(plan.tokens[:1]) or plan.choices[0].allowed.ids().tolist()
        token = allowed[0] if len(allowed) == 1 else drawn(seed, tokens, allowed)
        session.commit([token])
        tokens.append(token)
    return [*tokens, END]


__all__ = ["END", "ROW_WORDS", "Decoded", "by_token", "by_token_of", "decode", "drawn", "step"]
