"""A component with its dependents set aside: what remains is searched, dependents are computed.

What remains falls into parts that are independent of each other; each has its own feasibility. The conditions
of dependents are read along as residuals, and asked only when their slot is reached::

    state = (states of the parts, residuals of the dependents' conditions)
"""

from __future__ import annotations

from collections.abc import Sequence

from factorspec_sdk.automata.nodes import ABSENT_INDEX, Condition, Mark
from factorspec_sdk.automata.single import values_of
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph.components import Component, ComponentState, Tier
from factorspec_sdk.graph.dependents import Dependent
from factorspec_sdk.graph.layers import Layers

#: (layer and state of each part, residual of each condition that was set aside)
ContractedState = tuple[tuple[tuple[int, ComponentState], ...], tuple[Condition, ...]]

#: tiers by rising work
_WORK: tuple[Tier, ...] = ("computed", "sets", "search", "sums", "cp_sat")


class Contracted:
    """Feasibility of one component. ``layers`` are those of the whole component."""

    def __init__(self, layers: Layers, parts: Sequence[Component], dependents: Sequence[Dependent]) -> None:
        self.layers = layers
        self.slots = layers.slots
        self.sizes = [len(domain) for domain in layers.domains]
        self.parts = tuple(parts)
        self._home = {
            slot: (number, at) for number, part in enumerate(parts) for at, slot in enumerate(part.slots)
        }
        self._conditions: list[Condition] = []
        self._ending: dict[int, list[int]] = {}
        for dependent in dependents:
            for condition in dict.fromkeys(factor.condition for factor in dependent.factors):
                self._ending.setdefault(dependent.slot, []).append(len(self._conditions))
                self._conditions.append(condition)
        self._reading = {
            slot: [at for at, condition in enumerate(self._conditions) if condition.slots >> slot & 1]
            for slot in self.slots
        }
        self.start: ContractedState = (
            tuple((0, part.start) for part in self.parts),
            tuple(self._conditions),
        )

    @property
    def tier(self) -> Tier:
        """That of the part that takes most work."""
        return max((part.tier for part in self.parts), key=_WORK.index, default="computed")

    @property
    def exact(self) -> bool:
        """False once a budget cut an answer in one of the parts."""
        return all(part.exact for part in self.parts)

    @property
    def steps(self) -> int:
        """Work done so far in the parts."""
        return sum(part.steps for part in self.parts)

    def is_satisfiable(self) -> bool:
        """True if there is a solution. Raises OverBudget."""
        return all(part.is_satisfiable() for part in self.parts)

    def values(self, layer: int, state: ContractedState) -> IndexSet:
        """Feasible values of the layer's slot."""
        slot, domain = self.slots[layer], self.layers.domains[layer]
        home = self._home.get(slot)
        if home is not None:
            at, inner = state[0][home[0]]
            assert at == home[1], "slots are asked in writing order"
            return self.parts[home[0]].values(at, inner)
        found = IndexSet.full(len(domain))
        for at in self._ending.get(slot, ()):
            found &= values_of(state[1][at], slot, domain)
        return found

    def likely(self, layer: int, state: ContractedState) -> int | None:
        """What a part's solution at hand goes on with; beside such a part, the first feasible value."""
        if self.tier not in ("cp_sat", "sums"):
            return None
        home = self._home.get(self.slots[layer])
        found = None if home is None else self.parts[home[0]].likely(*state[0][home[0]])
        return self.values(layer, state).first if found is None else found

    def step(self, layer: int, state: ContractedState, index: int) -> tuple[int, ContractedState]:
        """Layer and state after a feasible value."""
        slot, inner = self.slots[layer], state[0]
        home = self._home.get(slot)
        if home is not None:
            number = home[0]
            after = self.parts[number].step(*inner[number], index)
            inner = (*inner[:number], after, *inner[number + 1 :])
        residuals = list(state[1])
        code = self.layers.code(layer, index)
        for at in self._reading[slot]:
            residuals[at] = residuals[at].assign(slot, index, code)
        move = self.layers.move(layer, index)
        for skipped in move.skipped:
            gone = self.slots[skipped]
            for at in self._reading[gone]:
                residuals[at] = residuals[at].assign(gone, ABSENT_INDEX, Mark.ABSENT)
        return move.target, (inner, tuple(residuals))
