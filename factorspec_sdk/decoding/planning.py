"""Making a plan: the certain run, and behind each choice what a policy guesses, likeliest first.

The chance that a node stands is the product of the weights of the guesses on its way. What a plan is expected
to bring is the sum of its nodes' chances. Chances never grow along a path, so taking nodes by descending
chance gives, for every size, the tree that brings most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from math import inf
from time import perf_counter
from typing import Generic, NamedTuple, Protocol, TypeVar

from factorspec_sdk.decoding.plan import Choice, DraftKind, Guess, GuessPolicy, Plan, Shape
from factorspec_sdk.errors import BudgetSpent, TooLarge
from factorspec_sdk.tokens import Allowed


class Stretch(Protocol):
    """What a plan needs of a run: its certain tokens, and what may come after them (``runs.Run``)."""

    @property
    def tokens(self) -> Sequence[int]: ...

    @property
    def allowed(self) -> Allowed: ...

    @property
    def free(self) -> bool: ...

    @property
    def complete(self) -> bool: ...


RunT = TypeVar("RunT", bound=Stretch)

RunAfter = Callable[[RunT, Sequence[int], int], RunT]
"""The run behind a token chosen after a run; the tokens are all of the record up to that choice."""

#: most tokens drafted behind the certain run of a plan without a width
MAX_DRAFTED = 512
#: most places of one plan for which a policy is asked
MAX_ASKED = 128


class _Place(Generic[RunT]):
    """Where the model decides, behind ``node``; see ``plan.Position``."""

    __slots__ = (
        "_before",
        "_run",
        "_run_after",
        "_runs",
        "_tokens",
        "_until_s",
        "chance",
        "children",
        "note",
    )

    def __init__(
        self,
        run: RunT,
        run_after: RunAfter[RunT],
        before: Callable[[], list[int]],
        *,
        until_s: float,
        note: object,
        chance: float,
    ) -> None:
        self._run = run
        self._run_after = run_after
        self._before = before
        self._tokens: list[int] | None = None
        self._runs: dict[int, RunT | None] = {}
        self._until_s = until_s
        self.note = note
        self.chance = chance
        self.children: list[int] = []

    @property
    def allowed(self) -> Allowed:
        return self._run.allowed

    @property
    def free(self) -> bool:
        return self._run.free

    def tokens(self) -> Sequence[int]:
        if self._tokens is None:
            self._tokens = self._before()
        return self._tokens

    def run(self, token: int) -> Sequence[int] | None:
        found = self.run_behind(token)
        return None if found is None else found.tokens

    def run_behind(self, token: int) -> RunT | None:
        """The run behind an allowed token; None if a budget ends there, or no time is left to find out."""
        if token in self._runs:
            return self._runs[token]
        if perf_counter() > self._until_s:
            return None
        try:
            run = self._run_after(self._run, self.tokens(), token)
        except (BudgetSpent, TooLarge):  # if the model goes there all the same, the session says so
            run = None
        self._runs[token] = run
        return run


class _Branch(NamedTuple, Generic[RunT]):
    """A guess that may be drafted next. Compared by chance, then by the order in which they were found."""

    less_chance: float
    order: int
    place: _Place[RunT]
    parent: int
    guess: Guess


class _Planner(Generic[RunT]):
    """A plan in the making: nodes in the order in which they are worth running."""

    def __init__(
        self, written: Sequence[int], run_after: RunAfter[RunT], guesses: GuessPolicy, until_s: float
    ) -> None:
        self._written = written
        self._run_after = run_after
        self._guesses = guesses
        self._until_s = until_s
        self._found: list[_Branch[RunT]] = []
        self._order = 0
        self._asked = 0
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self.certain: list[bool] = []
        self.kinds: list[DraftKind] = []
        self.chances: list[float] = []
        self.places: list[tuple[int, _Place[RunT]]] = []
        self.ends: list[int] = []

    def grow(self, size: int) -> None:
        """Add the likeliest branches until there are ``size`` nodes, or nothing is left to guess."""
        while self._found and len(self.tokens) < size:
            less_chance, _, place, parent, guess = heappop(self._found)
            run = place.run_behind(guess.token)
            if run is not None:
                place.children.append(len(self.tokens))
                certain = [False] + [True] * len(run.tokens)
                self.add(parent, (guess.token, *run.tokens), certain, guess, -less_chance)
                self.end(run, guess.note, -less_chance, may_guess=len(self.tokens) < size)

    def add(
        self, parent: int, tokens: Sequence[int], certain: list[bool], guess: Guess | None, chance: float
    ) -> None:
        """Append a chain of nodes behind ``parent``; ``guess``: what brings it in, None for the trunk."""
        start, size = len(self.tokens), len(tokens)
        self.tokens += tokens
        if size:
            self.parents += (parent, *range(start, start + size - 1))
        self.certain += certain
        kind: DraftKind = "certain" if guess is None else guess.kind
        self.kinds += [kind] * size
        self.chances += [chance] * size

    def end(self, run: RunT, note: object, chance: float, *, may_guess: bool) -> None:
        """Note the place behind the last chain, which ends with ``run``; let the policy guess there."""
        node = len(self.tokens) - 1
        if run.complete:
            self.ends.append(node)
            return
        place = _Place(
            run,
            self._run_after,
            lambda: self._before(node),
            until_s=self._until_s,
            note=note,
            chance=chance,
        )
        self.places.append((node, place))
        if may_guess and self._asked < MAX_ASKED and perf_counter() <= self._until_s:
            self._asked += 1
            self._guess(place, node)

    def _guess(self, place: _Place[RunT], node: int) -> None:
        seen: set[int] = set()
        for guess in self._guesses(place):
            if guess.token in place.allowed and guess.token not in seen:
                seen.add(guess.token)
                weight = min(1.0, max(0.0, guess.weight))
                heappush(self._found, _Branch(-place.chance * weight, self._order, place, node, guess))
                self._order += 1

    def _before(self, node: int) -> list[int]:
        path: list[int] = []
        while node >= 0:
            path.append(self.tokens[node])
            node = self.parents[node]
        return [*self._written, *reversed(path)]

    def plan(self, size: int) -> Plan:
        """The first ``size`` nodes."""
        choices = [
            Choice(node, place.allowed, place.free, tuple(c for c in place.children if c < size))
            for node, place in self.places
            if node < size
        ]
        return Plan(
            tokens=tuple(self.tokens[:size]),
            parents=tuple(self.parents[:size]),
            certain=tuple(self.certain[:size]),
            choices=tuple(sorted(choices, key=lambda choice: choice.node)),
            complete=False,
            kinds=tuple(self.kinds[:size]),
            chances=tuple(self.chances[:size]),
            ends=tuple(node for node in self.ends if node < size),
        )


class PlanSize(NamedTuple):
    """What bounds a plan; see ``Session.plan``."""

    width: int | None = None
    shape: Shape | None = None
    until_s: float = inf


def certain_plan(run: Stretch, offset: int) -> Plan:
    """The certain run from ``offset`` on, and the choice behind it."""
    tokens = tuple(run.tokens[offset:])
    size = len(tokens)
    kind: DraftKind = "certain"
    choices = (Choice(size - 1, run.allowed, run.free),) if not run.complete else ()
    return Plan(
        tokens=tokens,
        parents=tuple(range(-1, size - 1)),
        certain=(True,) * size,
        choices=choices,
        complete=run.complete,
        kinds=(kind,) * size,
    )


def guessed_plan(
    trunk: tuple[RunT, int],
    written: Sequence[int],
    run_after: RunAfter[RunT],
    guesses: GuessPolicy,
    size: PlanSize,
) -> Plan:
    """The certain run and what is guessed behind it.

    Args:
        trunk: the run in which the session stands, and how many of its tokens are written.
        written: all tokens that are written.
        run_after: makes the runs of branches.
        guesses: what to draft where the model decides.
        size: what bounds the plan; at most ``MAX_DRAFTED`` tokens are guessed or behind a guess.
    """
    run, offset = trunk
    width, shape, until_s = size
    tokens = run.tokens[offset:]
    if run.complete:
        return certain_plan(run, offset)
    planner = _Planner(written, run_after, guesses, until_s)
    planner.add(-1, tokens, [True] * len(tokens), None, 1.0)
    planner.end(run, None, 1.0, may_guess=True)
    most = len(tokens) + (MAX_DRAFTED if width is None else min(width, MAX_DRAFTED))
    planner.grow(most)
    kept = len(planner.tokens) if width is None else min(most, len(planner.tokens))
    if shape is not None:
        kept = max(len(tokens), min(kept, shape(planner.chances[:kept])))
    return planner.plan(kept)
