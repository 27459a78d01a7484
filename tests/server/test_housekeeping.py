"""The collector in a server: what is said of compiled specs is true, and sweeps come when they should."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import parse_document
from factorspec_server.housekeeping import Housekeeping
from tests.graph.documents import integer, record


@pytest.fixture
def collector() -> Iterator[None]:
    threshold = gc.get_threshold()
    yield
    gc.set_threshold(*threshold)
    gc.enable()
    gc.unfreeze()


def use_a_spec(canonical: Canonical) -> None:
    items = {"type": "array", "items": {"enum": ["a", "b", "c", "d"]}, "minItems": 2, "maxItems": 4}
    total = {"kind": "intension", "expr": {"op": "eq", "args": [{"op": "len", "of": "$.a"}, {"ref": "$.n"}]}}
    distinct = {"kind": "all_different", "over": ["$.a[*]"]}
    compiled = compile_spec(parse_document(record({"a": items, "n": integer(1, 9)}, [distinct, total])))
    decoder = Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)
    session = decoder.session(200)
    while session.state == "open":
        session.commit([min(session.allowed())])


def test_a_spec_and_its_sessions_leave_next_to_nothing_to_the_collector() -> None:
    canonical = Canonical(vocabulary_like("smollm2"))
    use_a_spec(canonical)

    def left() -> int:
        gc.collect()
        use_a_spec(canonical)
        return gc.collect()

    assert min(left() for _ in range(3)) < 50  # threads of tests before may end meanwhile


@pytest.mark.usefixtures("collector")
def test_everything_is_looked_after_once_in_many_specs(monkeypatch: pytest.MonkeyPatch) -> None:
    swept = []
    monkeypatch.setattr(gc, "collect", lambda: swept.append(1))
    keeper = Housekeeping()
    for _ in range(1_000):
        keeper.spec_compiled()
    assert len(swept) == 3
    assert gc.get_freeze_count() > 0


@pytest.mark.usefixtures("collector")
def test_without_sweeps_only_those_that_are_at_rest_look_at_new_objects() -> None:
    keeper = Housekeeping(sweeps=False)
    cycle: list[object] = []
    collected = weakref.WeakSet([Marked(cycle)])
    cycle.append(cycle)
    del cycle
    kept = [[each] for each in range(200_000)]
    keeper.look_around(is_at_rest=False)
    assert len(collected) == 1  # though so many objects are new
    keeper.look_around(is_at_rest=True)
    assert len(collected) == 0
    assert len(kept) == 200_000


class Marked:
    """Holds a list that holds it."""

    def __init__(self, cycle: list[object]) -> None:
        cycle.append(self)
