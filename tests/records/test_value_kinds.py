"""Decorators of the kinds over values and lengths of several fields: wire form, names, use as conditions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

import factorspec_sdk as fs
from tests.records.test_decorators import Kind, relations, wire

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


def test_wire_forms_of_kinds_on_order_and_number() -> None:
    found = wire(
        fs.cardinality("lines[*].kind", times={Kind.SALE: (1, None), Kind.REFUND: 2}, closed=True),
        fs.precedence("lines[*].kind", values=["sale", "refund"]),
        fs.regular(
            "lines[*].cents",
            transitions=[("even", 1, "odd"), ("odd", 1, "even")],
            start="even",
            final=["odd"],
        ),
        fs.follows("lines[*].kind", after={"sale": ["sale", "refund"], "refund": []}, first=["sale"]),
        fs.iff(fs.eq("paid", True), fs.eq("total", 0)),
        fs.either(fs.eq("paid", True), fs.eq("total", 0), exactly_one=True),
    )
    assert [relation["kind"] for relation in found] == [
        "cardinality", "precedence", "regular", "regular", "iff", "either",
    ]  # fmt: skip
    assert [relation["name"] for relation in found] == [
        "lines[*].kind: sale 1–∞×, refund 2×, nothing else",
        "lines[*].kind: sale before refund",
        "lines[*].cents from even to odd",
        "lines[*].kind: what may follow",
        "paid = True if and only if total = 0",
        "exactly one of: paid = True, total = 0",
    ]
    assert found[0]["occurs"] == [{"const": "sale", "least": 1}, {"const": "refund", "least": 2, "most": 2}]
    assert (found[3]["start"], found[3]["final"]) == ("start", ["start", "after sale", "after refund"])


def test_follows_explains_by_the_value_before() -> None:
    @fs.follows("sites[*]", after={"north": ["south"]}, last=["south"], name="tour")
    class Tour(BaseModel):
        sites: Annotated[list[Site], Field(max_length=3)]

    Tour(sites=["north", "south"])
    Tour(sites=[])
    with pytest.raises(ValidationError, match=r"sites\[1\] = 'north' cannot come in state 'after north'"):
        Tour(sites=["north", "north"])
    with pytest.raises(ValidationError, match="end in state 'after north', but must end in 'start'"):
        Tour(sites=["north"])


def test_exactly_one_and_iff_nest_and_compute() -> None:
    @fs.implies(
        fs.eq("longest", 9),
        fs.either(fs.eq("names[0]", 1), fs.eq("names[1]", 1), fs.eq("names[2]", 1), exactly_one=True),
    )
    class Once(Plan):
        @fs.relation("all or none")
        def all_or_none(self) -> bool:
            return fs.iff(self.longest == 0, fs.length(self.names) == 0)

    Once(shifts=[], names=[2, 1, 3], longest=9)
    Once(shifts=[], names=[], longest=0)
    for names, longest in (([1, 1], 9), ([2, 3, 4], 9), ([1], 0)):
        with pytest.raises(ValidationError):
            Once(shifts=[], names=names, longest=longest)
    assert fs.iff(True, 1 == 1) and not fs.iff(True, False)
    assert fs.either(True, False, exactly_one=True) and not fs.either(True, True, exactly_one=True)


class Node(BaseModel):
    id: Small
    next: Small | None = None


def graph(nodes: str, id_: str, *edges: str) -> fs.Bundle:
    """A kind of one's own: ids without gaps, and edges between known nodes."""
    return fs.all_of(
        fs.permutation_of(f"{nodes}[*].{id_}", name="ids have no gaps"),
        fs.all_of(*(fs.member_of(edge, of=f"{nodes}[*].{id_}") for edge in edges)),
        name="graph",
        why="Edges lead to nodes.",
    )


def test_a_function_that_returns_relations_is_a_new_kind() -> None:
    @graph("nodes", "id", "nodes[*].next", "root")
    class Tree(BaseModel):
        nodes: Annotated[list[Node], Field(min_length=1, max_length=4)]
        root: Small

    assert [(relation["name"], relation["why"]) for relation in relations(Tree)] == [
        ("graph: ids have no gaps", "Edges lead to nodes."),
        ("graph: nodes[*].next in nodes[*].id", "Edges lead to nodes."),
        ("graph: root in nodes[*].id", "Edges lead to nodes."),
    ]
    Tree(nodes=[Node(id=1, next=0), Node(id=0)], root=1)
    with pytest.raises(ValidationError, match="graph: root in nodes"):
        Tree(nodes=[Node(id=0)], root=1)
    with pytest.raises(fs.UnknownField, match="did you mean 'next'"):
        graph("nodes", "id", "nodes[*].nxt")(Tree)
    with pytest.raises(fs.DeclarationError, match="all_of takes relations"):
        fs.all_of(fs.all_different("root"), "root")  # type: ignore[arg-type]


def test_a_bundle_may_be_report_only() -> None:
    @fs.all_of(fs.ne("root", 3, name="soft"), fs.le("root", 7), enforce=False)
    class Soft(BaseModel):
        root: Small

    assert [relation["enforce"] for relation in relations(Soft)] == [False, False]
    assert Soft(root=3).root == 3
    assert [verdict.outcome for verdict in fs.check(Soft(root=3))] == ["broken", "holds"]


def test_member_of_is_a_condition_inside_others() -> None:
    @fs.slide("nodes", fs.member_of("a.next", of=["nodes[*].id", "root"]), as_=["a"], name="known")
    @fs.implies(fs.eq("root", 3), fs.member_of("nodes[0].id", values=[3, 4]))
    class Tree(BaseModel):
        root: Small
        nodes: Annotated[list[Node], Field(min_length=1, max_length=4)]

    Tree(root=3, nodes=[Node(id=4, next=3), Node(id=1)])
    with pytest.raises(ValidationError, match="known"):
        Tree(root=0, nodes=[Node(id=4, next=3)])
    with pytest.raises(ValidationError, match="root"):
        Tree(root=3, nodes=[Node(id=1)])


def test_foreign_keys_and_permutations_take_parameters() -> None:
    class Today(BaseModel):
        cities: list[str]
        flights: list[tuple[str, str]]

    @fs.member_of("legs[*]", values=fs.param("flights"), column=1)
    @fs.permutation_of("legs[*]", values=fs.param("cities"))
    class Trip(BaseModel):
        legs: Annotated[list[Annotated[str, fs.In("cities")]], Field(min_length=1, max_length=4)]

    bound = fs.bind(Trip, Today(cities=["a", "b"], flights=[("b", "a"), ("a", "b")]))
    assert [r["kind"] for r in relations(bound)] == ["member_of", "permutation_of"]
    bound.model_validate({"legs": ["b", "a"]})
    with pytest.raises(ValidationError, match="no field takes 'b'"):
        bound.model_validate({"legs": ["a"]})


@pytest.mark.parametrize("start", [object(), 1.5, "1", None])
def test_a_start_is_an_integer(start: Any) -> None:
    with pytest.raises(fs.DeclarationError, match="integer"):
        fs.permutation_of("ids[*]", start=start)
    with pytest.raises(fs.DeclarationError, match="integer"):
        fs.circuit("ids[*]", start=start)
    with pytest.raises(fs.DeclarationError, match="integer"):
        fs.element("ids[*]", index="at", start=start, eq="value")
