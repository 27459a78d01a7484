"""What is measured when a model is served, on which thread, and what is drafted by it."""

import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest

from factorspec_server.commands import serve
from factorspec_server.commands.failures import CommandError
from factorspec_server.drafting import DEFAULT_WIDTH, Certain, Chain, CostModel, Tree
from factorspec_server.http import served_model
from factorspec_server.http.served_model import ServedModel
from factorspec_server.settings import DraftingName, ServerSettings
from tests.server.http.serving import SteppedModel, byte_canonical

CURVE = CostModel(((1, 0.02), (4, 0.021), (16, 0.03)))
POINT = CostModel(((1, 0.9),))


class Served:
    """Makes served models whose costs are ``costs``; ``threads``: where they were measured."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.costs = CURVE
        self.threads: list[int] = []
        self.made: list[ServedModel] = []
        monkeypatch.setattr(served_model, "measure_costs", self._measure)
        monkeypatch.setattr(served_model, "vocabulary_of", lambda model: byte_canonical().vocabulary)

    def _measure(self, model: object) -> CostModel:
        self.threads.append(threading.get_ident())
        return self.costs

    def __call__(self, drafting: DraftingName = "auto", width: int | None = None) -> ServedModel:
        model = cast(Any, SteppedModel())
        model.chat = None
        self.made.append(ServedModel.of(model, drafting=drafting, width=width))
        return self.made[-1]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    made = Served(monkeypatch)
    yield made
    for one in made.made:
        one.engine.close()


def test_steps_are_measured_on_the_thread_that_decodes(served: Served) -> None:
    engine = served().engine
    engine.start()  # once more, as what serves it does
    assert served.threads == [engine.call(threading.get_ident)] != [threading.get_ident()]


def test_what_fails_on_the_engine_thread_is_raised_to_the_caller(served: Served) -> None:
    engine = served().engine
    with pytest.raises(ZeroDivisionError):
        engine.call(lambda: 1 // 0)
    assert engine.call(lambda: 7) == 7


@pytest.mark.parametrize(
    ("drafting", "width"), [("off", None), ("certain", None), ("chain", None), ("auto", 8), ("tree", 1)]
)
def test_nothing_is_measured_where_costs_decide_nothing(
    served: Served, drafting: DraftingName, width: int | None
) -> None:
    assert served(drafting, width).costs is None and not served.threads


def test_no_draft_is_wider_than_what_was_measured(served: Served) -> None:
    policy = served().drafting("auto", ())
    assert isinstance(policy, Tree) and policy.options.width == 16 and policy.options.cost is not None
    chain = served("chain").drafting("chain", ())
    assert isinstance(chain, Chain) and chain.width == DEFAULT_WIDTH


def test_a_model_too_slow_to_measure_drafts_what_is_certain(served: Served) -> None:
    served.costs = POINT
    made = served()
    assert isinstance(made.drafting("auto", ()), Certain)
    assert isinstance(made.drafting("auto", (), 8), Tree)
    policy = made.drafting("text", ())
    assert isinstance(policy, Tree) and policy.options.width == DEFAULT_WIDTH


@pytest.mark.parametrize(
    ("costs", "drafting", "width", "line"),
    [
        (CURVE, "auto", None, "drafting: auto, width by what a step costs "
         "(a step takes 20 ms for 1, 21 ms for 4, 30 ms for 16 tokens)"),
        (POINT, "auto", None, "drafting: auto, what is certain alone: too slow to "
         "measure what more tokens cost (a step takes 900 ms for 1 token)"),
        (POINT, "text", None, "drafting: text, at most 32 tokens, not measured "
         "(a step takes 900 ms for 1 token)"),
        (CURVE, "text", 1, "drafting: text, at most 1 token"),
        (CURVE, "chain", None, "drafting: chain, at most 32 tokens"),
        (CURVE, "certain", None, "drafting: certain"),
    ],
)  # fmt: skip
def test_the_banner_says_what_is_drafted(
    served: Served, costs: CostModel, drafting: DraftingName, width: int | None, line: str
) -> None:
    served.costs = costs
    assert serve._drafting(options(drafting, width), served(drafting, width)) == line


@pytest.mark.parametrize("drafting", ["off", "certain"])
def test_what_guesses_nothing_has_no_width(drafting: DraftingName) -> None:
    with pytest.raises(ValueError, match="guesses nothing"):
        ServerSettings(drafting=drafting, width=4)
    with pytest.raises(CommandError, match=f"--drafting {drafting} guesses nothing: leave out --width"):
        serve.serve(options(drafting, 4), print)


def options(drafting: DraftingName, width: int | None) -> serve.ServeOptions:
    return serve.ServeOptions(
        model="none", host="127.0.0.1", port=0, api_key=None, insecure=False, dtype=None, device=None,
        max_batch=8, drafting=drafting, width=width, prefix_bytes=0,
    )  # fmt: skip
