"""The way from the own search to CP-SAT."""

from __future__ import annotations

from factorspec_sdk.errors import MissingExtra
from factorspec_sdk.graph.components import Component, OverBudget
from factorspec_sdk.graph.cp.component import CpComponent
from factorspec_sdk.graph.cp.model import NotEncodable
from factorspec_sdk.graph.layers import Layers
from factorspec_sdk.graph.unroll import Unrolled


def by_cp_sat(layers: Layers, unrolled: Unrolled, cut: OverBudget, steps: int = 0) -> tuple[Component, bool]:
    """(feasibility, has a solution) of a component that the own search did not finish.

    Args:
        layers: the component.
        unrolled: where it stands.
        cut: why the search did not finish.
        steps: what it took until then.

    Raises:
        OverBudget: CP-SAT does not finish either, cannot take the component, or is not installed.
    """
    try:
        component = CpComponent(layers, unrolled, steps)
        return component, component.is_satisfiable()
    except MissingExtra as error:
        raise OverBudget(f"{cut.reason}; CP-SAT, which takes over, is not installed", str(error)) from None
    except NotEncodable as error:
        raise OverBudget(f"{cut.reason}; CP-SAT cannot take over: {error}") from None
