"""Decorators of the kinds over values and lengths of several fields: wire form, names, use as conditions."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

import factorspec_sdk as fs
from tests.records.test_decorators import relations, wire

Small = Annotated[int, Field(ge=0, le=9)]
Site = Literal["north", "south"]


class Shift(BaseModel):
    site: Site
    hours: Small
    note: Small | None = None


class Plan(BaseModel):
    shifts: Annotated[list[Shift], Field(max_length=4)]
    names: Annotated[list[Small], Field(max_length=4)]
    longest: Small


def test_wire_forms() -> None:
    found = wire(
        fs.all_equal("lines[*].kind"),
        fs.minimum("lines[*].cents", ge=5),
        fs.maximum("lines[*].cents", eq="total", name="top"),
        fs.same_length("lines", "lines"),
    )
    assert [{k: v for k, v in relation.items() if k != "name"} for relation in found] == [
        {"kind": "all_equal", "over": ["$.lines[*].kind"]},
        {"kind": "minimum", "over": ["$.lines[*].cents"], "op": "ge", "value": {"const": 5}},
        {"kind": "maximum", "over": ["$.lines[*].cents"], "op": "eq", "value": {"ref": "$.total"}},
        {"kind": "same_length", "over": ["$.lines", "$.lines"]},
    ]
    assert [relation["name"] for relation in found] == [
        "all equal: lines[*].kind", "minimum of lines[*].cents ≥ 5", "top", "equally long: lines, lines",
    ]  # fmt: skip


def test_all_equal_is_a_condition_where_each_path_names_one_field() -> None:
    @fs.slide("shifts", fs.all_equal("a.site", "b.site"), name="stay")
    @fs.slide("shifts", fs.all_equal("a.note", "b.note"), name="notes")
    class Stay(Plan):
        pass

    assert relations(Stay)[0]["expr"] == {"op": "eq", "args": [{"ref": "a.site"}, {"ref": "b.site"}]}
    one, other = Shift(site="north", hours=1, note=1), Shift(site="north", hours=2)
    Stay(shifts=[one, other], names=[], longest=1)
    with pytest.raises(ValidationError, match="stay"):
        Stay(shifts=[one, Shift(site="south", hours=1)], names=[], longest=1)
    with pytest.raises(ValidationError, match="notes"):
        Stay(shifts=[one, Shift(site="north", hours=1, note=2)], names=[], longest=1)


def test_they_validate_instances() -> None:
    @fs.same_length("shifts", "names")
    @fs.maximum("shifts[*].hours", eq="longest")
    class Full(Plan):
        pass

    shifts = [Shift(site="north", hours=3), Shift(site="south", hours=5)]
    Full(shifts=shifts, names=[1, 2], longest=5)
    Full(shifts=[], names=[], longest=5)
    with pytest.raises(ValidationError, match="greatest of shifts") as caught:
        Full(shifts=shifts, names=[1], longest=4)
    assert "shifts has 2 items and names has 1" in str(caught.value)
