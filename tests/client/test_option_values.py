"""Options of a call have one of the values that there are, or the call says which."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from factorspec_sdk.client import Client, Drafting
from factorspec_sdk.client.option_values import check_drafting
from factorspec_sdk.errors import DeclarationError
from factorspec_server.drafting import PolicyName
from factorspec_server.http.in_process import InProcessEngine
from factorspec_server.settings import GUESSING_NOTHING, MOST_WIDTH
from tests.client.canned import GOOD, Canned, Stay, as_text

WRONG: dict[str, tuple[object, ...]] = {
    "strategy": ("foo", None, "Auto"),
    "prompting": ("xx", None),
    "fallback": ("zz", "constrained"),
    "on_budget": ("stop", None),
    "max_answers": (0, -1, 1.5, True, None),
    "max_tokens": (0, 1.0, "9"),
    "temperature": (-0.1, float("nan"), None, "0"),
    "top_p": (0, 1.1, None),
    "seed": (1.0, "x", True),
    "origins": ("yes", 1),
    "canonical_text": ("false", None),
    "skip_model": (0,),
}


@pytest.mark.parametrize(("name", "value"), [(name, one) for name, all_ in WRONG.items() for one in all_])
def test_a_value_that_an_option_cannot_have_is_named_and_nothing_is_sent(name: str, value: Any) -> None:
    canned = Canned()
    client = Client(engine=canned)
    wishes: Any = {name: value}
    for call in (client.generate, client.stream, client.plan):
        with pytest.raises(DeclarationError, match="must be") as caught:
            call(Stay, "A stay.", **wishes)
        (problem,) = caught.value.problems
        assert (problem.place, problem.value) == (name, repr(value))
    with pytest.raises(DeclarationError, match=name):
        client.generate_many(Stay, ["A stay."], **wishes)
    assert canned.bodies == []


def test_all_wrong_options_are_told_with_what_is_allowed() -> None:
    wishes: Any = {"strategy": "foo", "max_answers": 0}
    with pytest.raises(DeclarationError) as caught:
        Client(engine=Canned()).generate(Stay, "A stay.", **wishes)
    assert [problem.place for problem in caught.value.problems] == ["strategy", "max_answers"]
    assert "'auto', 'constrained', 'retry', 'repair', 'determined'" in str(caught.value)


def test_numbers_at_their_bounds_and_own_prompts_are_taken() -> None:
    canned = Canned(as_text(GOOD))
    wishes: Any = {"strategy": "retry", "top_p": 1, "temperature": 0, "max_answers": 1, "max_tokens": 1}
    result = Client(engine=canned).generate(Stay, "A stay.", prompting=lambda spec: "Own words.", **wishes)
    assert result.value == Stay(**GOOD)


# -- the engine in this process ---------------------------------------------------------------------


def test_a_local_client_drafts_what_a_server_drafts() -> None:
    assert set(get_args(Drafting)) == {"auto", *get_args(PolicyName)}
    for name in get_args(Drafting):
        check_drafting(name, None)
        if name not in GUESSING_NOTHING:
            check_drafting(name, 1)
            check_drafting(name, MOST_WIDTH)


@pytest.mark.parametrize(
    ("drafting", "width", "place"),
    [
        ("fast", None, "drafting"),
        (None, None, "drafting"),
        ("tree", 0, "width"),
        ("tree", MOST_WIDTH + 1, "width"),
        ("auto", True, "width"),
        ("auto", "8", "width"),
        *((name, 8, "width") for name in GUESSING_NOTHING),
    ],
)
def test_what_no_engine_drafts_is_named_before_a_model_is_loaded(
    monkeypatch: pytest.MonkeyPatch, drafting: Any, width: Any, place: str
) -> None:
    monkeypatch.setattr(InProcessEngine, "load", lambda *_, **__: pytest.fail("a model was loaded"))
    with pytest.raises(DeclarationError) as caught:
        Client.local(drafting=drafting, width=width)
    assert caught.value.place == place
