"""The seam between a component of the factor graph and what decides its feasibility."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph.layers import Layers

#: opaque, immutable, hashable
ComponentState = Any
#: how a component is decided: nothing to search, search over residuals, sets of a running number, sets of
#: sums of items, CP-SAT
Tier = Literal["computed", "search", "sets", "sums", "cp_sat"]


class Component(Protocol):
    """Exact feasibility of one component. Layer i stands before its i-th slot."""

    @property
    def layers(self) -> Layers:
        """The slots with their conditions."""

    @property
    def slots(self) -> tuple[int, ...]:
        """Slots in writing order."""

    @property
    def sizes(self) -> list[int]:
        """Number of values of each slot."""

    @property
    def tier(self) -> Tier:
        """How it is decided."""

    @property
    def exact(self) -> bool:
        """False once a budget cut an answer."""

    @property
    def start(self) -> ComponentState:
        """The state before the first slot."""

    @property
    def steps(self) -> int:
        """Work done so far."""

    def is_satisfiable(self) -> bool:
        """True if there is a solution. Raises OverBudget."""

    def values(self, layer: int, state: ComponentState) -> IndexSet:
        """Feasible values of the layer's slot."""

    def step(self, layer: int, state: ComponentState, index: int) -> tuple[int, ComponentState]:
        """Layer and state after a feasible value."""

    def likely(self, layer: int, state: ComponentState) -> int | None:
        """The feasible value by which a solution at hand goes on; None where completions are searched for."""


class OverBudget(Exception):
    """No answer within the budgets; the message says what ran out, and the hint what to do."""

    def __init__(
        self, reason: str = "the step budget for proving feasibility ran out", hint: str = ""
    ) -> None:
        self.reason, self.hint = reason, hint
        super().__init__(reason)


class TooWide(OverBudget):
    """A slot has too many values to be tried one by one, and its relations do not allow sets."""

    def __init__(self) -> None:
        super().__init__("a field is too wide for relations other than one linear one")
