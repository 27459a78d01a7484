"""A drafting policy for toy sessions that drafts trees at random: many, few or no branches, cut anywhere."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from factorspec_server.drafting.seam import Allowed, Choice, DraftKind, Plan, Session
from tests.server.engines.toy_session import ToySession


@dataclass(frozen=True)
class RandomTrees:
    """Plans of at most ``width`` tokens behind the trunk."""

    seed: int = 0
    width: int = 24
    source: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        self.source.seed(self.seed)

    def plan(self, session: Session) -> Plan:
        assert isinstance(session, ToySession)
        return _Growing(session, self.source, self.source.randint(0, self.width)).plan()


class _Growing:
    def __init__(self, session: ToySession, source: random.Random, width: int) -> None:
        self.session = session
        self.source = source
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self.certain: list[bool] = []
        self.kinds: list[DraftKind] = []
        self.children: dict[int, list[int]] = {}
        self.allowed: dict[int, list[int]] = {}
        self.width = 0
        open_ends = self._run(-1)
        self.width = len(self.tokens) + width
        while open_ends and len(self.tokens) < self.width:
            node, token = open_ends.pop(source.randrange(len(open_ends)))
            self.children.setdefault(node, []).append(len(self.tokens))
            self._add(token, node, certain=False)
            open_ends += self._run(len(self.tokens) - 1)

    def _prefix(self, node: int) -> tuple[int, ...]:
        path: list[int] = []
        while node >= 0:
            path.insert(0, self.tokens[node])
            node = self.parents[node]
        return (*self.session.written, *path)

    def _add(self, token: int, parent: int, *, certain: bool) -> None:
        trunk = certain and not self.children
        self.tokens.append(token)
        self.parents.append(parent)
        self.certain.append(certain)
        self.kinds.append("certain" if trunk else self.source.choice(("branch", "text")))

    def _run(self, node: int) -> list[tuple[int, int]]:
        """Follow what is certain behind a node; the branches that may be drafted at its end."""
        while len(allowed := self.session._next(self._prefix(node))) == 1:
            if self.children and len(self.tokens) == self.width:
                return []
            self._add(allowed[0], node, certain=True)
            node = len(self.tokens) - 1
        if not allowed:
            return []
        self.allowed[node] = allowed
        return [(node, token) for token in allowed if self.source.random() < 0.7]

    def plan(self) -> Plan:
        choices = [
            Choice(node, Allowed.of(allowed), False, tuple(self.children.get(node, ())))
            for node, allowed in sorted(self.allowed.items())
        ]
        complete = not choices and not self.session._next(self._prefix(len(self.tokens) - 1))
        return Plan(
            tuple(self.tokens),
            tuple(self.parents),
            tuple(self.certain),
            tuple(choices),
            complete=complete,
            kinds=tuple(self.kinds),
        )
