"""Null, absent and repeated fields for the kinds over values and lengths; sizes people meet."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from pydantic import TypeAdapter

from factorspec_sdk.errors import Unsatisfiable
from factorspec_sdk.graph.compile import CompiledSpec
from factorspec_sdk.graph.program import Branch, End, Literal, Value
from factorspec_sdk.relations import Relation
from factorspec_sdk.relations.checking import check_relation
from factorspec_sdk.relations.view import Tables, View
from tests.graph.documents import compiled, feasible, integer

Json = dict[str, Any]


def nullable(schema: Json) -> Json:
    return {"anyOf": [schema, {"type": "null"}]}


def listed(item: Json, least: int, most: int) -> Json:
    return {"type": "array", "items": item, "minItems": least, "maxItems": most}


ANY = nullable({"enum": ["x", "y"]})


def test_all_equal_leaves_out_null() -> None:
    spec = compiled({"a": ANY, "b": ANY, "c": ANY}, [{"kind": "all_equal", "over": ["$.a", "$.b", "$.c"]}])
    null = 2
    assert feasible(spec, 0, null) == [[0, 1, 2], [0, 2], [0, 2]]
    assert feasible(spec, null, 1) == [[0, 1, 2], [0, 1, 2], [1, 2]]


def test_all_equal_of_fields_without_a_common_value_is_refused() -> None:
    over = {"kind": "all_equal", "over": ["$.a", "$.b"]}
    with pytest.raises(Unsatisfiable):
        compiled({"a": {"enum": ["x"]}, "b": {"enum": ["y", "z"]}}, [over])
    with pytest.raises(Unsatisfiable):
        compiled({"a": integer(1, 9), "b": integer(10, 10_000_000)}, [over])


def test_all_equal_takes_wide_numbers() -> None:
    wide = {"a": integer(0, 10_000_000), "b": integer(5, 9_000_000), "c": integer(7, 10_000_000)}
    spec = compiled(wide, [{"kind": "all_equal", "over": ["$.a", "$.b", "$.c"]}])
    assert feasible(spec, 100, 95) == [[7, 9_000_000], [95], [93]]


def test_minimum_leaves_out_null_and_is_unknown_without_numbers() -> None:
    number = nullable(integer(1, 3))  # null is the last index
    fields = {"a": number, "b": number, "m": integer(1, 3)}
    spec = compiled(fields, [{"kind": "minimum", "over": ["$.a", "$.b"], "value": {"ref": "$.m"}}])
    assert feasible(spec, 2, 3)[2] == [2]
    assert feasible(spec, 3, 3)[2] == [0, 1, 2]
    assert feasible(spec, 2, 0)[2] == [0]


def test_a_maximum_that_stands_before_its_fields() -> None:
    fields = {"m": integer(0, 9), "l": listed(integer(0, 9), 2, 2)}
    spec = compiled(fields, [{"kind": "maximum", "over": ["$.l[*]"], "value": {"ref": "$.m"}}])
    assert feasible(spec, 4, 2) == [[0, 9], [0, 1, 2, 3, 4], [4]]
    assert feasible(spec, 4, 4)[2] == [0, 1, 2, 3, 4]


def relation_of(relation: Json) -> Relation:
    adapter: TypeAdapter[Relation] = TypeAdapter(Relation)
    return adapter.validate_json(json.dumps({"name": "r", **relation}))


def outcome(relation: Json, record: Json) -> str:
    return check_relation(relation_of(relation), View(record, {})).outcome


def random_record(spec: CompiledSpec, rng: random.Random) -> str:
    """The text of a record whose decisions are drawn among the feasible values."""
    program, feasibility = spec.program, spec.feasibility
    state, at, text = feasibility.start(), program.start, ""
    while not isinstance(node := program.nodes[at], End):
        if isinstance(node, Branch | Value):
            values = feasibility.values(state, node.slot)
            index = rng.randint(*rng.choice(values.spans))
            state = feasibility.assign(state, node.slot, index)
        if isinstance(node, Branch):
            at = node.targets[index]
            continue
        assert isinstance(node, Literal | Value)
        text += node.text if isinstance(node, Literal) else program.slots[node.slot].domain.text(index)
        at = node.next
    return text


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"a": [1], "b": None, "c": [2]}, "holds"),
        ({"a": [1], "c": [2, 3]}, "broken"),
        ({"a": None, "b": None}, "holds"),
        ({"a": [[1], None, [2]], "b": [1, 2, 3]}, "holds"),
        ({"a": [], "b": []}, "holds"),
    ],
)
def test_same_length_leaves_out_missing_lists(record: Json, expected: str) -> None:
    over = ["$.a", "$.b", "$.c"]
    assert outcome({"kind": "same_length", "over": over}, record) == expected


def test_same_length_of_many_lists() -> None:
    relation = {"kind": "same_length", "over": ["$.m", "$.m[*]"]}
    assert outcome(relation, {"m": [[1, 2], None, [3, 4]]}) == "broken"
    assert outcome(relation, {"m": [[1, 2], [3, 4]]}) == "holds"


def test_same_length_bounds_the_lists_before_they_are_unrolled() -> None:
    fields = {"a": listed(integer(0, 1), 0, 9), "b": listed(integer(0, 1), 2, 3)}
    spec = compiled(fields, [{"kind": "same_length", "over": ["$.a", "$.b"]}])
    assert sum(slot.path.startswith("a[") for slot in spec.program.slots) == 4  # three items, one may stop


def test_lists_that_can_never_be_equally_long_are_refused() -> None:
    fields = {"a": listed(integer(0, 1), 0, 2), "b": listed(integer(0, 1), 3, 5)}
    with pytest.raises(Unsatisfiable, match="r0"):
        compiled(fields, [{"kind": "same_length", "over": ["$.a", "$.b"]}])


@pytest.mark.parametrize("kind", ["member_of", "subset_of"])
def test_values_that_must_occur(kind: str) -> None:
    relation = {"kind": kind, "over": ["$.e[*]"], "of": ["$.n[*]"]}
    assert outcome(relation, {"e": ["x", "x", None], "n": ["x", None]}) == "holds"
    assert outcome(relation, {"e": [None], "n": [None]}) == "holds"
    assert outcome(relation, {"e": ["x"], "n": []}) == "broken"
    assert outcome(relation, {"e": ["x"]}) == "broken"
    assert outcome(relation, {"e": [], "n": []}) == outcome(relation, {}) == "holds"
    assert outcome(relation, {"e": [1], "n": [True]}) == "broken"
    assert outcome(relation, {"e": [1], "n": [1.0]}) == "holds"


def test_a_list_before_what_it_refers_to() -> None:
    city = {"enum": ["a", "b", "c"]}
    fields = {"chosen": listed(city, 2, 2), "offered": listed(city, 2, 2)}
    spec = compiled(fields, [{"kind": "subset_of", "over": ["$.chosen[*]"], "of": ["$.offered[*]"]}])
    assert feasible(spec, 0, 2) == [[0, 1, 2], [0, 1, 2], [0, 2]]
    assert feasible(spec, 0, 2, 2)[3] == [0]
    assert feasible(spec, 0, 0, 1)[3] == [0]


def test_no_value_occurs_in_a_table_without_rows() -> None:
    relation = {"kind": "member_of", "over": ["$.a"], "table": "none"}
    spec = compiled({"a": nullable({"enum": ["x"]})}, [relation], {"none": []})
    assert feasible(spec) == [[1]]
    with pytest.raises(Unsatisfiable, match="r0"):
        compiled({"a": {"enum": ["x"]}}, [relation], {"none": []})


def test_dates_occur_in_a_column_of_texts() -> None:
    day = {
        "type": "string",
        "format": "date",
        "x-factorspec": {"domain": {"min": "2026-05-01", "max": "2026-05-09"}},
    }
    relation = {"kind": "member_of", "over": ["$.d"], "table": "days", "column": 1}
    spec = compiled({"d": day}, [relation], {"days": [[1, "2026-05-03"], [2, "2026-06-01"]]})
    assert feasible(spec) == [[2]]


@pytest.mark.parametrize(
    ("given", "values", "expected"),
    [
        ({"start": 0}, [2, 0, None, 1], "holds"),
        ({"start": 0}, [], "holds"),
        ({"start": 0}, [0, 2], "broken"),
        ({"start": 0}, [0, 0], "broken"),
        ({"start": -1}, [0, -1], "holds"),
        ({"values": [{"const": 1}, {"const": 1}, {"const": 5}]}, [5, None, 1, 1], "holds"),
        ({"values": [{"const": 1}, {"const": 1}, {"const": 5}]}, [5, 1], "broken"),
        ({"values": [{"const": 1}]}, [1, 1], "broken"),
        ({"values": []}, [None], "holds"),
        ({"of": ["$.b[*]"]}, [1, 2, 2], "holds"),
        ({"of": ["$.b[*]"]}, [1, 1, 2], "broken"),
    ],
)
def test_permutations(given: Json, values: list[Any], expected: str) -> None:
    relation = {"kind": "permutation_of", "over": ["$.a[*]"], **given}
    assert outcome(relation, {"a": values, "b": [2, None, 1, 2]}) == expected


def test_explanations_of_permutations() -> None:
    def broken(given: Json, values: list[Any]) -> str:
        made = relation_of({"kind": "permutation_of", "over": ["$.a[*]"], **given})
        return check_relation(made, View({"a": values, "b": [2, 1]}, {})).explanation

    assert broken({"start": 0}, [0, 0]) == "a[1] = 0 is there more often than it is given: 0, 1"
    assert broken({"of": ["$.b[*]"]}, [2]) == "no field takes 1"
    assert broken({"of": ["$.b[*]"]}, [2, 5]) == "a[1] = 5 is none of the values: 2, 1"
    day = {"const": "2026-05-01", "type": "date"}
    assert broken({"values": [day]}, []) == "no field takes 2026-05-01"


def test_given_values_set_the_length_of_a_list() -> None:
    relation = {"kind": "permutation_of", "over": ["$.a[*]"], "values": [{"const": 3}, {"const": 4}]}
    spec = compiled({"a": listed(integer(0, 9), 0, 9)}, [relation])
    assert [slot.path for slot in spec.program.slots] == ["a[0]", "a[1]"]
    assert feasible(spec, 4) == [[3, 4], [3]]


def test_a_field_named_twice_is_no_permutation() -> None:
    relation = {"kind": "permutation_of", "over": ["$.a", "$.a", "$.b"], "start": 0}
    spec = compiled({"a": nullable(integer(0, 2)), "b": integer(0, 2)}, [relation])
    assert feasible(spec, 3) == [[3], [0]]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a", "b", "b", None], "holds"),
        (["b", "b", "a", "c"], "holds"),
        (["a", "b"], "broken"),
        (["a", "a", "b", "b"], "broken"),
        ([], "broken"),
    ],
)
def test_cardinality_counts_values_that_are_not_null(values: list[Any], expected: str) -> None:
    occurs = [{"const": "a", "most": 1}, {"const": "b", "least": 2}]
    relation = {"kind": "cardinality", "over": ["$.l[*]"], "occurs": occurs}
    assert outcome(relation, {"l": values}) == expected
    closed = {**relation, "closed": True}
    assert outcome(closed, {"l": values}) == ("broken" if "c" in values else expected)


def test_cardinality_finds_by_counting_that_values_do_not_suffice() -> None:
    values = [str(number) for number in range(60)]
    fields = {"l": listed({"enum": values}, 50, 50)}
    relation = {
        "kind": "cardinality",
        "over": ["$.l[*]"],
        "occurs": [{"const": value, "most": 1} for value in values[:49]],
        "closed": True,
    }
    with pytest.raises(Unsatisfiable, match="r0"):
        compiled(fields, [relation])
    relation["occurs"].append({"const": values[50], "most": 1})  # type: ignore[attr-defined]
    spec = compiled(fields, [relation])
    assert feasible(spec, *range(49))[49] == [50]


def test_precedence_in_the_order_named_against_the_writing_order() -> None:
    city = {"enum": ["x", "y"]}
    fields = {"a": city, "b": nullable(city), "c": city}
    chain = [{"const": "x"}, {"const": "y"}]
    spec = compiled(fields, [{"kind": "precedence", "over": ["$.c", "$.b", "$.a"], "values": chain}])
    assert feasible(spec, 1, 2) == [[0, 1], [0, 1, 2], [0]]  # a is y, so x comes first: c, or b after c
    assert feasible(spec, 0, 1) == [[0, 1], [0, 1, 2], [0]]
    assert feasible(spec, 0, 2)[2] == [0]


def test_regular_skips_null_and_ends_in_a_final_state() -> None:
    moves = {"t": [["p", "x", "q"], ["q", "y", "p"]]}
    relation = {"kind": "regular", "over": ["$.l[*]"], "table": "t", "start": "p", "final": ["p"]}
    spec = compiled({"l": listed(ANY, 3, 3)}, [relation], moves)
    assert feasible(spec, 0, 1) == [[0, 2], [1, 2], [2]]
    assert feasible(spec, 2, 0)[2] == [1]
    adapted = relation_of(relation)
    assert check_relation(adapted, View({"l": ["x", None, "y"]}, moves)).outcome == "holds"
    ended = check_relation(adapted, View({"l": ["x", None]}, moves))
    assert ended.explanation == "the values end in state 'q', but must end in 'p'"


def test_a_regular_word_that_cannot_end_is_refused() -> None:
    moves = {"t": [["p", "x", "q"], ["q", "y", "p"]]}
    relation = {"kind": "regular", "over": ["$.l[*]"], "table": "t", "start": "p", "final": ["p"]}
    with pytest.raises(Unsatisfiable, match="r0"):
        compiled({"l": listed({"enum": ["x", "y"]}, 3, 3)}, [relation], moves)


A, B, C = ({"op": "eq", "args": [{"ref": f"$.{name}"}, {"const": 1}]} for name in "abc")


@pytest.mark.parametrize(
    ("relation", "record", "expected"),
    [
        ({"kind": "iff", "conditions": [A, B, C]}, {"a": 1, "b": 1, "c": 1}, "holds"),
        ({"kind": "iff", "conditions": [A, B, C]}, {"a": 1, "c": 0}, "broken"),
        ({"kind": "iff", "conditions": [A, B, C]}, {"a": 1, "b": 1}, "unknown"),
        ({"kind": "either", "conditions": [A, B]}, {"a": 0, "b": 1}, "holds"),
        ({"kind": "either", "conditions": [A, B]}, {"a": 1}, "holds"),
        ({"kind": "either", "conditions": [A, B]}, {"a": 0}, "unknown"),
        ({"kind": "either", "conditions": [A, B]}, {"a": 0, "b": None}, "broken"),
        ({"kind": "either", "conditions": [A, B, C], "exactly_one": True}, {"a": 1, "c": 1}, "broken"),
        ({"kind": "either", "conditions": [A, B, C], "exactly_one": True}, {"a": 1, "c": 0}, "unknown"),
        ({"kind": "either", "conditions": [A, B, C], "exactly_one": True}, {"a": 1, "b": 0, "c": 0}, "holds"),
    ],
)
def test_conditions_that_are_unknown_break_nothing(relation: Json, record: Json, expected: str) -> None:
    assert outcome(relation, record) == expected


CITIES = {"enum": [f"city {number}" for number in range(5_000)]}
LARGE: list[tuple[Json, Json]] = [
    ({"l": listed(CITIES, 0, 50)}, {"kind": "all_equal", "over": ["$.l[*]"]}),
    (
        {"m": integer(0, 1_440), "l": listed(integer(0, 1_440), 1, 50)},
        {"kind": "maximum", "over": ["$.l[*]"], "value": {"ref": "$.m"}},
    ),
    (
        {"l": listed(integer(0, 5_000), 1, 50), "m": integer(0, 5_000)},
        {"kind": "minimum", "over": ["$.l[*]"], "value": {"ref": "$.m"}},
    ),
    (
        {"n": listed(CITIES, 10, 50), "e": listed(CITIES, 0, 50)},
        {"kind": "member_of", "over": ["$.e[*]"], "of": ["$.n[*]"]},
    ),
    (
        {"n": listed(CITIES, 50, 50), "e": listed(CITIES, 50, 50)},
        {"kind": "permutation_of", "over": ["$.e[*]"], "of": ["$.n[*]"]},
    ),
    ({"l": listed(integer(0, 4_999), 0, 50)}, {"kind": "permutation_of", "over": ["$.l[*]"], "start": 0}),
    (
        {"l": listed(CITIES, 50, 50)},
        {
            "kind": "permutation_of",
            "over": ["$.l[*]"],
            "values": [{"const": f"city {number * 90}"} for number in range(50)],
        },
    ),
]


ROTA: list[list[str | int]] = [  # 40,000 transitions
    [one, f"city {other}", other] for one in range(200) for other in range(200)
]
LARGE += [
    (
        {"l": listed(CITIES, 50, 50)},
        {
            "kind": "cardinality",
            "over": ["$.l[*]"],
            "occurs": [{"const": f"city {n}", "least": int(n < 40), "most": 2} for n in range(5_000)],
        },
    ),
    (
        {"l": listed(CITIES, 0, 50)},
        {
            "kind": "cardinality",
            "over": ["$.l[*]"],
            "occurs": [{"const": f"city {n}", "most": 1} for n in range(3_000)],
            "closed": True,
        },
    ),
    (
        {"l": listed(CITIES, 0, 50)},
        {"kind": "precedence", "over": ["$.l[*]"], "values": [{"const": f"city {n}"} for n in range(4_000)]},
    ),
    (
        {"l": listed({"enum": [f"city {n}" for n in range(200)]}, 0, 50)},
        {"kind": "regular", "over": ["$.l[*]"], "table": "rota", "start": 0, "final": [0, 7]},
    ),
]


@pytest.mark.parametrize(("fields", "relation"), LARGE, ids=lambda part: part.get("kind", ""))
def test_fifty_items_of_five_thousand_values_stay_exact(fields: Json, relation: Json) -> None:
    tables: Tables = {"rota": ROTA} if "table" in relation else {}
    spec = compiled(fields, [relation], dict(tables))
    record = json.loads(random_record(spec, random.Random(1)))
    verdict = check_relation(relation_of(relation), View(record, tables))
    assert verdict.outcome in ("holds", "unknown")
    assert spec.feasibility.exact
    assert sum(component.steps for component in spec.feasibility.components) < 400_000
