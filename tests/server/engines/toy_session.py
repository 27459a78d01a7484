"""A session over a plain list of alternatives: every record is one of them, token by token."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from factorspec_sdk.decoding.planning import PlanSize, certain_plan, guessed_plan
from factorspec_server.drafting.seam import Allowed, Guess, GuessPolicy, Plan, Position, SessionState, Shape


@dataclass(frozen=True)
class ToyRun:
    """Tokens that only one token can follow each, and what may come after them."""

    tokens: tuple[int, ...]
    allowed: Allowed
    free: bool = False

    @property
    def complete(self) -> bool:
        return not self.allowed.count


@dataclass
class ToySession:
    """The session seam by enumeration."""

    alternatives: tuple[tuple[int, ...], ...]
    written: tuple[int, ...] = ()

    @property
    def state(self) -> SessionState:
        return "complete" if self.written in self.alternatives else "open"

    def _next(self, prefix: tuple[int, ...]) -> list[int]:
        length = len(prefix)
        found = {
            record[length]
            for record in self.alternatives
            if record[:length] == prefix and len(record) > length
        }
        return sorted(found)

    def _run(self, prefix: tuple[int, ...]) -> ToyRun:
        at = prefix
        while len(allowed := self._next(at)) == 1:
            at = (*at, allowed[0])
        return ToyRun(at[len(prefix) :], Allowed.of(allowed))

    def plan(
        self,
        width: int | None = None,
        guesses: GuessPolicy | None = None,
        shape: Shape | None = None,
        *,
        until_s: float = inf,
    ) -> Plan:
        def run_after(run: ToyRun, tokens: Sequence[int], token: int) -> ToyRun:
            return self._run((*tokens, token))

        run = self._run(self.written)
        if guesses is None:
            return certain_plan(run, 0)
        return guessed_plan((run, 0), self.written, run_after, guesses, PlanSize(width, shape, until_s))

    def commit(self, token_ids: Sequence[int]) -> None:
        for token_id in token_ids:
            assert token_id in self._next(self.written), (self.written, token_id)
            self.written = (*self.written, token_id)


def highest_allowed(position: Position, /) -> Sequence[Guess]:
    """Guess the highest allowed token."""
    return (Guess(int(position.allowed.ids()[-1]), 1.0),)


def random_alternatives(seed: int, *, width: int = 64, count: int = 24) -> tuple[tuple[int, ...], ...]:
    """Prefix-free records with shared beginnings, certain runs of 0 to 5 tokens and 2 to 4 branches."""
    source = random.Random(seed)
    records: list[tuple[int, ...]] = []

    def grow(prefix: tuple[int, ...], depth: int) -> None:
        run = tuple(source.randrange(1, width) for _ in range(source.randrange(6)))
        if depth == 0 or len(records) >= count:
            records.append((*prefix, *run, 0))
            return
        for token in source.sample(range(1, width), source.randrange(2, 5)):
            grow((*prefix, *run, token), depth - 1)

    grow((), source.randrange(1, 5))
    return tuple(records)
