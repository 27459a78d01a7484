"""A session over a plain list of alternatives: every record is one of them, token by token."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from factorspec_server.drafting.seam import Allowed, Choice, DraftKind, GuessPolicy, Plan, SessionState


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

    def plan(self, width: int | None = None, guesses: GuessPolicy | None = None) -> Plan:
        tokens: list[int] = []
        choices: list[Choice] = []
        while width is None or len(tokens) <= width:
            prefix = (*self.written, *tokens)
            allowed = self._next(prefix)
            if not allowed:
                break
            guess: int | None = allowed[0]
            if len(allowed) > 1:
                guess = guesses(prefix, Allowed.of(allowed), False) if guesses is not None else None
                guess = None if len(tokens) == width else guess
                children = () if guess is None else (len(tokens),)
                choices.append(Choice(len(tokens) - 1, Allowed.of(allowed), False, children))
            if guess is None:
                break
            tokens.append(guess)
        tokens = tokens[:width]
        certain = tuple(len(self._next((*self.written, *tokens[:at]))) == 1 for at in range(len(tokens)))
        parents = tuple(range(-1, len(tokens) - 1))
        trunk = choices[0].node + 1 if choices else len(tokens)
        kinds: list[DraftKind] = ["certain" if at < trunk else "branch" for at in range(len(tokens))]
        return Plan(
            tuple(tokens),
            parents,
            certain,
            tuple(choices),
            complete=not self._next((*self.written, *tokens)) and not choices,
            kinds=tuple(kinds),
        )

    def commit(self, token_ids: Sequence[int]) -> None:
        for token_id in token_ids:
            assert token_id in self._next(self.written), (self.written, token_id)
            self.written = (*self.written, token_id)


def highest_allowed(tokens: Sequence[int], allowed: Allowed, free: bool, /) -> int | None:
    """Guess the highest allowed token."""
    return int(allowed.ids()[-1])


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
