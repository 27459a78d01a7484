"""The seam between constraints and text: which values of the next slot lead to a valid record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from factorspec_sdk.fields.sets import IndexSet

#: opaque, immutable, hashable: what an implementation wants it to be
State = Any
#: a cost without upper bound (free text without a limit)
UNBOUNDED = 1 << 60


class NodeCost(Protocol):
    """What the nodes of a program cost (tokens), as the text layer knows it.

    Costs add up along a path: least sums never exceed, most sums never fall below the true cost.
    """

    def of_value(self, pc: int, index: int) -> tuple[int, int]:
        """(least, most) of the Value node at ``pc`` when its slot takes ``index``.

        Of a Length node: what a text of that length costs beyond what every text costs (its hole's share);
        ``most`` is enough for some text of that length.
        """

    def of_node(self, pc: int) -> tuple[int, int, int]:
        """(least, sure, most) of the Literal, Value, Hole or Length at ``pc`` whatever is written there.

        ``sure``: something can be written there for at most this much. ``most`` may be ``UNBOUNDED``.
        """


class Feasibility(Protocol):
    """Exact feasibility of one spec. States are immutable and hashable; methods change nothing visible.

    Slots are asked strictly in writing order along the program; slots that a path jumps over are
    never asked nor assigned. ``values`` is never empty on a state that was reached by feasible values.
    """

    def start(self) -> State:
        """The state before the first slot."""

    def values(self, state: State, slot: int) -> IndexSet:
        """Indices of ``slot`` that lead to a valid record, exactly."""

    def assign(self, state: State, slot: int, index: int) -> State:
        """The state after ``slot`` took a feasible value."""

    def reads(self, slot: int) -> bool:
        """False if all values of a slot are feasible whatever stands before, and leave the state as it is."""

    def forced(self, state: State, slot: int) -> tuple[Sequence[int], State]:
        """The only values of ``slot`` and of the slots that follow it, and the state behind them.

        As far as they are told at once: there may be more of them. ``values`` and ``assign`` would give the
        same; a caller that stops before the last of them needs those.
        """

    def with_costs(self, cost: NodeCost) -> Costs:
        """Bounds on what completing a record costs. Cheap to make; computes lazily, per state."""


class Costs(Protocol):
    """What completing a record costs, from a state and a program counter (whose node is not written yet).

    ``least <= true cheapest completion <= sure <= most``; where every node's least and most cost are
    equal (and no budget was hit), ``least == sure`` is the cheapest completion exactly.
    """

    def least(self, state: State, pc: int) -> int:
        """Lower bound on the cost of every valid completion."""

    def sure(self, state: State, pc: int) -> int:
        """Some valid completion costs at most this much; at most ``UNBOUNDED``."""

    def fits(self, state: State, pc: int, budget: int) -> bool:
        """True if some valid completion surely costs at most ``budget``. Cheap where that is ample."""

    def likely(self, state: State, slot: int) -> int | None:
        """The next slot's value by which the completion behind ``sure`` goes on, where one is at hand."""

    def most(self, state: State, pc: int) -> int:
        """Upper bound on the cost of every valid completion; at most ``UNBOUNDED``. Cheap."""
