"""What is drafted, as data: it comes back from JSON, and makes a policy for each request."""

import json

import pytest

from factorspec_sdk.testing import vocabulary_like
from factorspec_server.drafting import Certain, Chain, DraftingSpec, Off, Tree

SPECS = (
    DraftingSpec(name="off"),
    DraftingSpec(name="certain"),
    DraftingSpec(name="chain", width=9),
    DraftingSpec(name="tree", width=64, breadth=1, places=8, cost_points=((1, 0.005), (128, 0.006))),
)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: str(spec.name))
def test_a_spec_comes_back_from_json(spec: DraftingSpec) -> None:
    assert DraftingSpec.from_json(json.loads(json.dumps(spec.as_json()))) == spec


def test_each_request_has_a_policy_of_its_own() -> None:
    vocabulary = vocabulary_like("tricky")
    policies = [spec.policy(vocabulary, ()) for spec in SPECS]
    assert [type(policy) for policy in policies] == [Off, Certain, Chain, Tree]
    tree = policies[-1]
    assert isinstance(tree, Tree)
    options = tree.options
    assert (options.width, options.breadth, options.places) == (64, 1, 8)
    assert options.cost is not None
    assert options.cost(128) == 0.006
    assert SPECS[-1].policy(vocabulary, ()) is not tree
    assert [spec.guesses for spec in SPECS] == [False, False, True, True]
    assert [spec.is_of_prompt for spec in SPECS] == [False, False, False, True]
    assert [spec.is_certain for spec in SPECS] == [False, True, False, False]
    assert [spec.resting.is_certain for spec in SPECS] == [True] * 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "wide"}, "name must be one of off, certain"),
        ({"width": 0}, "width must be at least 1"),
        ({"breadth": 0}, "breadth must be at least 1"),
        ({"places": -1}, "places must be at least 1"),
        ({"places": "many"}, "many"),
        ({"cost_points": [[2, 1.0], [1, 1.0]]}, "points must ascend"),
        ({"cost_points": 3}, "no drafting spec"),
        ({"cost_points": [[size, 1.0] for size in range(1, 1026)]}, "cost_points must be at most"),
    ],
)
def test_what_is_no_spec_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DraftingSpec.from_json({**SPECS[-1].as_json(), **changes})
    with pytest.raises(ValueError, match="no drafting spec"):
        DraftingSpec.from_json({"name": "tree"})
