"""Feasibility of one component by questions to CP-SAT: for what the own search does not finish.

A state is the values taken so far, with some whole solutions that begin so (witnesses, at least one)::

    taken      3 1 0                  values of the slots read so far, -1 for those that do not occur
    witnesses  3 1 0 | 2 4 1 ..       each proves a value of the next slot, and of every later one
               3 1 0 | 5 0 0 ..

So the first values of a slot cost nothing. What they do not prove is asked in one question, "a solution with
the slot among these values"; each answer proves a value and is kept for the state behind it, and the last
one says that there is no more. A wide integer slot is asked between bounds, digit by digit (``AskedSet``).
Work is counted in CP-SAT's deterministic time. Where a limit cuts the questions, the proven values remain,
and the set says that it may not be complete; a state itself always holds its witnesses.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from threading import Lock

from factorspec_sdk.automata.nodes import ABSENT_INDEX
from factorspec_sdk.fields.asked import AskedSet, Spans
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph.components import OverBudget, Tier
from factorspec_sdk.graph.cp.solving import Answer, Solution, Solver
from factorspec_sdk.graph.layers import Layers
from factorspec_sdk.graph.unroll import Unrolled

#: deterministic time (about seconds) of one question, of the questions of one slot, of those of one record
QUESTION_LIMIT = 2.0
SLOT_LIMIT = 4.0
RECORD_LIMIT = 60.0
#: search steps that take as long as one unit of deterministic time
STEPS_PER_TIME = 50_000
#: .. of finding a proven value's solution again
PROOF_LIMIT = 60.0
#: slots whose values are remembered
MAX_REMEMBERED = 2_048
#: slots of integers, or of dates and other texts in a stride, with more values than this are not listed, but
#: asked for between bounds
LISTED = 256
LISTED_TEXTS = 4_096


@dataclass(frozen=True, slots=True)
class CpState:
    """Equal by ``taken``. left: deterministic time that the record may still take."""

    taken: Solution
    witnesses: tuple[Solution, ...] = field(compare=False)
    left: float = field(compare=False)


@dataclass(slots=True)
class _Opened:
    """A slot that was asked for: its values, a solution for each that is proven, and the time that it took.

    fixed: the slots before it. limit: deterministic time that it may take.
    """

    layer: int
    fixed: Mapping[int, Spans]
    hint: Solution
    proofs: dict[int, Solution]
    limit: float
    spent: float = 0.0
    values: IndexSet = field(default_factory=lambda: IndexSet(()))


class CpComponent:
    """Feasibility of one component. Memory is shared by all sessions of a spec.

    exact: False once a limit cut an answer.
    """

    tier: Tier = "cp_sat"

    def __init__(self, layers: Layers, unrolled: Unrolled, steps: int = 0) -> None:
        """Encode the component; ``steps``: what another tier took before.

        Raises:
            NotEncodable: a condition has no form within the limits.
            MissingExtra: OR-Tools is not installed.
        """
        self.layers = layers
        self.slots = layers.slots
        self.sizes = [len(domain) for domain in layers.domains]
        self.exact = True
        self.spent = 0.0
        self._steps = steps
        domains = dict(zip(layers.slots, layers.domains, strict=True))
        conditions = [condition for found in layers.all_entering() for condition in found]
        self._solver = Solver(domains, unrolled.controllers, conditions)
        self._opened: OrderedDict[Solution, _Opened] = OrderedDict()
        self._lock = Lock()
        self._first: Solution | None = None

    @property
    def steps(self) -> int:
        """Work so far, in search steps, other tiers' before included."""
        return self._steps + round(self.spent * STEPS_PER_TIME)

    @property
    def start(self) -> CpState:
        """The state before the first slot; ``is_satisfiable`` must have said so."""
        assert self._first is not None, "is_satisfiable() was not asked, or was denied"
        return CpState((), (self._first,), RECORD_LIMIT)

    def is_satisfiable(self, limit: float = SLOT_LIMIT) -> bool:
        """True if there is a solution. Raises OverBudget."""
        answer = self._ask({}, limit, None)
        if answer.solution is None and not answer.proved:
            raise OverBudget(f"neither the own search nor CP-SAT finished within their budgets ({limit} s)")
        self._first = answer.solution
        return answer.solution is not None

    def values(self, layer: int, state: CpState) -> IndexSet:
        """Feasible values of the layer's slot (see the module for limits)."""
        return self._open(layer, state).values

    def step(self, layer: int, state: CpState, index: int) -> tuple[int, CpState]:
        """Layer and state after a feasible value. Asks nothing where a witness has it."""
        with self._lock:
            opened = self._opened.get(state.taken)
        agreeing = [witness for witness in state.witnesses if witness[layer] == index]
        if not agreeing:
            proof = None if opened is None else opened.proofs.get(index)
            agreeing = [proof or self._proof(layer, state, index)]
        target = self.layers.move(layer, index).target
        skipped = (ABSENT_INDEX,) * (target - layer - 1)
        left = state.left if opened is None else max(0.0, state.left - opened.spent)
        return target, CpState((*state.taken, index, *skipped), tuple(agreeing), left)

    def likely(self, layer: int, state: CpState) -> int:
        """The next value of the state's first witness."""
        return state.witnesses[0][layer]

    def _open(self, layer: int, state: CpState) -> _Opened:
        with self._lock:
            found = self._opened.get(state.taken)
            if found is None:
                found = self._opened[state.taken] = self._new_opened(layer, state)
                if len(self._opened) > MAX_REMEMBERED:
                    self._opened.popitem(last=False)
            else:
                self._opened.move_to_end(state.taken)
            return found

    def _new_opened(self, layer: int, state: CpState) -> _Opened:
        proofs: dict[int, Solution] = {}
        for witness in state.witnesses:
            proofs.setdefault(witness[layer], witness)
        fixed = {slot: ((index, index),) for slot, index in zip(self.slots, state.taken, strict=False)}
        opened = _Opened(layer, fixed, state.witnesses[0], proofs, min(SLOT_LIMIT, state.left))
        domain = self.layers.domains[layer]
        listed = LISTED if domain.integers is not None else LISTED_TEXTS
        if domain.stride is not None and len(domain) > listed:
            opened.values = AskedSet(self.sizes[layer], partial(self._ask_within, opened), proofs)
        else:
            opened.values = self._listed(opened)
        return opened

    def _listed(self, opened: _Opened) -> IndexSet:
        """All feasible values of a slot, one question for each that no witness proves, and one to end."""
        size, proofs = self.sizes[opened.layer], opened.proofs
        others, final = IndexSet.of(proofs).complement(size), True
        while others:
            found, final = self._ask_for(opened, others.spans)
            if found is None:
                break
            others &= IndexSet.of([found]).complement(size)
        return IndexSet(IndexSet.of(proofs).spans, complete=final)

    def _ask_within(self, opened: _Opened, spans: Spans) -> tuple[int | None, bool]:
        with self._lock:
            return self._ask_for(opened, spans)

    def _ask_for(self, opened: _Opened, spans: Spans) -> tuple[int | None, bool]:
        """A feasible value within the spans, and whether the answer is final."""
        limit = min(QUESTION_LIMIT, opened.limit - opened.spent)
        answer = self._ask({**opened.fixed, self.slots[opened.layer]: spans}, limit, opened.hint)
        opened.spent += answer.spent
        if answer.solution is None:
            self.exact = self.exact and answer.proved
            return None, answer.proved
        found = answer.solution[opened.layer]
        opened.proofs[found] = answer.solution
        return found, True

    def _proof(self, layer: int, state: CpState, index: int) -> Solution:
        """A solution with a value that was proven, where its proof is not remembered any more."""
        fixed = {slot: ((at, at),) for slot, at in zip(self.slots, (*state.taken, index), strict=False)}
        with self._lock:
            answer = self._ask(fixed, PROOF_LIMIT, state.witnesses[0])
        assert answer.solution is not None, "step() takes feasible values only"
        return answer.solution

    def _ask(self, allowed: Mapping[int, Spans], limit: float, hint: Solution | None) -> Answer:
        if limit <= 0:
            return Answer(None, False, 0.0)
        answer = self._solver.solve(allowed, limit, hint=hint)
        self.spent += answer.spent
        return answer
