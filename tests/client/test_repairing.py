"""What ``repair`` makes of answers as models write them: all that can be kept, completed to a record."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

import factorspec_sdk as fs
from factorspec_sdk import errors
from factorspec_sdk.client import Client, InvalidAnswer, Result
from factorspec_sdk.client.loose_reading import loose_objects
from factorspec_sdk.client.prompt_form import form_of
from tests.client.canned import GOOD, Canned, Stay, as_text, completion

LOOSE = {
    "single quotes": "{'cities': ['Oslo', 'Rome'], 'first': 2, 'last': 5, 'note': '{ok}'}",
    "bare names": "{cities: [Oslo, Rome], first: 2, last: 5, note: '{ok}'}",
    "trailing commas": '{"cities": ["Oslo", "Rome",], "first": 2, "last": 5, "note": "{ok}",}',
    "comments": '{"cities": ["Oslo", "Rome"], // two\n "first": 2, "last": 5, "note": "{ok}"}',
    "fence": "Sure:\n```json\n{'cities': ['Oslo', 'Rome'], 'first': 2, 'last': 5, 'note': '{ok}'}\n```",
    "no comma": '{"cities": ["Oslo" "Rome"] "first": 2 "last": 5, "note": "{ok}"}',
}


def ask(*answers: Any, record: Any = Stay, **more: Any) -> Result[Any]:
    options = {"strategy": "repair", "max_answers": 1, **more}
    return Client(engine=Canned(*answers)).generate(record, "A stay, please.", **options)


@pytest.mark.parametrize("answer", LOOSE.values(), ids=LOOSE)
def test_loose_json_is_read_and_nothing_changed(answer: str) -> None:
    result = ask(answer)
    assert result.value == Stay(**GOOD) and result.changes == ()
    assert result.route == "repair" and result.attempts[0].problems


@pytest.mark.parametrize(
    ("answer", "changed"),
    [
        (as_text({"stay": GOOD}), 0),
        (as_text({"result": {"data": GOOD}}), 0),
        (f"Draft: {as_text({'first': 9})} Final: {{'answer': {as_text(GOOD)}}}", 0),
        ('{"cities": ["Oslo", "Rome"], "first": "2", "last": 5.0, "note": "{ok}"}', 0),
        ('{"cities": ["oslo", "ROME"], "first": 2, "last": 5, "note": "{ok}"}', 2),
        ('{"cities": ["Oslo", "Rome"], "first": 2, "last": 99, "note": "{ok}", "extra": 1}', 2),
        ('["Oslo", "Rome"]', 3),
        ('{"cities": ["Oslo", "Rome"], "first": 2, "la', 2),
        ('{"cities": ["Oslo"', 3),
        ('{"last": 5}', 3),
    ],
)
def test_what_can_be_kept_is_kept_and_the_rest_completed(answer: str, changed: int) -> None:
    result = ask(answer)
    assert len(result.changes) == changed, [str(change) for change in result.changes]
    assert isinstance(result.value, Stay)


def test_an_answer_that_was_cut_off_is_completed() -> None:
    result = ask(completion(as_text(GOOD)[:40], "length"))
    assert result.value.cities == ["Oslo", "Rome"] and result.value.first == 2
    assert "cut off" in str(result.attempts[0].problems[0])


def test_a_list_of_items_is_the_list_of_the_record() -> None:
    class Item(BaseModel):
        name: Annotated[str, fs.In(["a", "b", "c"])]
        size: Annotated[int, Field(ge=1, le=9)]

    @fs.all_different("items[*].name")
    class Box(BaseModel):
        kind: Literal["box"]
        items: Annotated[list[Item], Field(min_length=2, max_length=3)]

    result = ask('Items:\n[{"name": "b", "size": 3}, {"name": "a", "size": 4}]', record=Box)
    assert [(item.name, item.size) for item in result.value.items] == [("b", 3), ("a", 4)]
    assert [change.path for change in result.changes] == ["kind"]


@pytest.mark.parametrize(
    "answer", ["", "no idea", "I { do } not [know]", "[]", "{}", '{"a": 1}', '{"first": "soon"}']
)
def test_no_record_is_made_up_from_nothing(answer: str) -> None:
    with pytest.raises(InvalidAnswer) as caught:
        ask(answer, answer, max_answers=2)
    assert len(caught.value.attempts) == 2


HOSTILE = {
    "deep": '{"cities":' * 5000,
    "deep list": "[" * 20_000,
    "long": '{"note": "' + "x" * 500_000,
    "many": '{"first": 1} ' * 20_000,
    "nan": '{"first": NaN, "last": Infinity, "cities": ["Oslo"]}',
    "digits": '{"first": ' + "9" * 6000 + ', "cities": ["Oslo"]}',
    "escapes": '{"note": "' + '\\"' * 50_000,
    "surrogate": '{"note": "\\ud800", "first": 3}',
}


@pytest.mark.parametrize("answer", HOSTILE.values(), ids=HOSTILE)
def test_hostile_answers_are_repaired_or_refused(answer: str) -> None:
    try:
        result = ask(answer)
    except InvalidAnswer as error:
        result = None
        told = error.problems
    assert told if result is None else isinstance(result.value, Stay)


def test_few_objects_are_looked_at() -> None:
    assert len(loose_objects(json.dumps([{"a": {"b": 1}}] * 5000), fs.spec(Stay))) == 64


def test_without_json_repair_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "json_repair", None)
    with pytest.raises(errors.MissingExtra, match=r"factorspec\[client\]"):
        ask("{'first': 2}")
    assert ask(as_text(GOOD)).changes == ()


# -- the form in the prompt -------------------------------------------------------------------------


class Inner(BaseModel):
    size: Annotated[int, Field(ge=3, le=9)]
    when: Literal["now"] | None


class Every(BaseModel):
    """A field of each kind."""

    kind: Literal["a", "b"]
    inner: Inner
    many: Annotated[list[Inner], Field(max_length=5)]
    one: Annotated[list[int], Field(min_length=1, max_length=1)]
    free: list[str]
    number: float
    maybe: Annotated[int, Field(ge=1, le=2)] | None
    either: Inner | Literal["none"]
    text: str
    yes: bool


def test_the_form_has_a_value_of_the_right_kind_for_each_field() -> None:
    form = json.loads(form_of(fs.spec(Every)))
    assert list(form) == list(Every.model_fields)
    assert form["many"] == [{"size": 3, "when": "now"}, {"size": 4, "when": "now"}]
    Every.model_validate(form)


@pytest.mark.parametrize(("prompting", "has_rules"), [("rules", True), ("form", False)])
def test_rules_and_form_stand_where_they_are_read(prompting: Any, has_rules: bool) -> None:
    canned = Canned(as_text(GOOD), as_text(GOOD))
    client = Client(engine=canned)
    client.generate(Stay, "A stay, please.", strategy="retry", prompting=prompting)
    said = canned.said(0)
    assert [one["role"] for one in said] == (["system", "user"] if has_rules else ["user"])
    assert said[-1]["content"].endswith(form_of(fs.spec(Stay)))
    turns = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Yes?"}]
    client.generate(Stay, turns, strategy="retry", prompting=prompting)
    assert canned.said(1)[-3:-1] == turns and canned.said(1)[-1]["role"] == "user"
