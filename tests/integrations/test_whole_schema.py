"""A class whose schema holds its relations, wherever a framework asks for it."""

from __future__ import annotations

import copy
from typing import Annotated, Any

import pytest
from openai.lib._pydantic import to_strict_json_schema
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

import factorspec_sdk as fs
from factorspec_integrations import with_relations


@fs.all_different("cities[*]", name="each once")
class Tour(BaseModel):
    """Some cities."""

    cities: Annotated[list[Annotated[str, fs.In("known")]], Field(min_length=2, max_length=3)]


@fs.ordered("first", "last", name="in order")
class Days(BaseModel):
    first: Annotated[int, Field(ge=1, le=9)]
    last: Annotated[int, Field(ge=1, le=9, alias="until")]


def test_the_schema_is_the_document() -> None:
    whole = with_relations(Days)
    assert whole.model_json_schema() == fs.document(Days)
    assert Days.model_json_schema() != fs.document(Days)


def test_bound_values_are_in_it() -> None:
    bound = fs.bind(Tour, known=["Oslo", "Rome"])
    assert with_relations(bound).model_json_schema() == fs.document(bound)


def test_it_is_the_same_class_to_its_users() -> None:
    whole: Any = with_relations(Days)
    made = whole.model_validate({"first": 1, "until": 2})
    assert issubclass(whole, Days)
    assert type(made) is type(TypeAdapter(list[whole]).validate_python([made])[0]) is Days
    assert made == whole.model_validate_json('{"first": 1, "until": 2}') == Days.model_validate(made)
    assert (whole.__name__, whole.__doc__, whole.__module__) == (Days.__name__, Days.__doc__, __name__)
    assert copy.deepcopy(made) == made
    with pytest.raises(ValidationError, match="in order"):
        TypeAdapter(whole).validate_python({"first": 3, "until": 2})


def test_the_document_is_the_callers_own() -> None:
    whole = with_relations(Days)
    whole.model_json_schema().clear()
    assert whole.model_json_schema() == fs.document(Days)


def test_openai_s_own_conversion_keeps_the_relations() -> None:
    vendor = to_strict_json_schema(with_relations(Days))["x-factorspec"]
    assert vendor == fs.document(Days)["x-factorspec"]


def test_an_open_model_is_refused_at_once() -> None:
    with pytest.raises(fs.BindingError, match="known"):
        with_relations(Tour)


def test_forms_that_a_document_does_not_have_are_refused() -> None:
    whole = with_relations(Days)
    with pytest.raises(fs.DeclarationError, match="by_alias") as caught:
        whole.model_json_schema(by_alias=False, ref_template="#/schemas/{model}")
    assert [problem.place for problem in caught.value.problems] == ["by_alias", "ref_template"]
