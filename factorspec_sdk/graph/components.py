"""The seam between a component of the factor graph and what decides its feasibility."""

from __future__ import annotations

from typing import Any, Protocol

from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph.layers import Layers

#: opaque, immutable, hashable
ComponentState = Any


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


class OverBudget(Exception):
    """The step budget ran out before an answer."""


class TooWide(OverBudget):
    """A slot has too many values to be tried one by one, and its relations do not allow sets."""
