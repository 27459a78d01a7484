"""``factorspec next``: the slot behind a text, and the values that it may have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.commands.calling import TEXT, lines, run


def following(spec: str, text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(run("next", spec, text, "--json"))]


@pytest.mark.parametrize(
    ("text", "path", "certain", "facts"),
    [
        ("", "low", '{"low": ', {"count": 500, "spans": [[0, 499]]}),
        ('{"lo', "low", 'w": ', {"count": 500}),
        ('{"low": 4', "low", "", {"spans": [[4, 4], [40, 49], [400, 499]]}),
        ('{"low": 0', "low", "", {"spans": [[0, 0]]}),
        ('{"low": 498,', "high", ' "high": ', {"spans": [[499, 500]]}),
        ('{"low": 0, "high": 1, "city": ', "city", "", {"count": 5}),
        ('{"low": 0, "high": 1, "city": "Ro', "city", "", {"values": ["Rome", "Ro"]}),
        ('{"low": 0, "high": 1, "city": "Ro"', "stops[0]", ', "stops": [', {"values": ["x", "y", "z"]}),
        ('{"low": 0, "high": 1, "city": n', "city", "", {"values": [None]}),
        ('{"low": 0, "high": 1, "city": "Kö\\"ln", "stops": ["x"', "stops[1]?", "", {"kind": "decision"}),
        ('{"low": 0, "high": 1, "city": null, "stops": ["x", ', "stops[1]", "", {"values": ["y", "z"]}),
        (TEXT[: TEXT.index("fine") + 2], "note", "", {"kind": "free", "written": "fi"}),
        (TEXT[:-2], "weight", "", {"kind": "free"}),
        (TEXT, None, "", {"kind": "end"}),
    ],
)
def test_next_shows_the_slot_and_its_feasible_values(
    spec: str, text: str, path: str | None, certain: str, facts: dict[str, Any]
) -> None:
    (position,) = following(spec, text)
    assert (position["path"], position["certain"]) == (path, certain)
    assert facts.items() <= position.items()


@pytest.mark.parametrize(
    ("text", "offset", "words"),
    [
        ('{"low":1', 7, '" '),
        ('{"low": 500', 8, "a feasible value of low"),
        ('{"low": 01', 8, "low"),
        ('{"low": 0, "high": 1, "city": "Paris"', 30, "a value of city"),
        (TEXT.replace('"y"', '"x"'), TEXT.index('"y"'), "leads to no valid record"),
        (TEXT.replace("fine", ""), TEXT.index("fine"), "at least 1"),
        (f"{TEXT} ", len(TEXT), "the end of the record"),
    ],
)
def test_next_says_where_a_text_strays(spec: str, text: str, offset: int, words: str) -> None:
    result = run("next", spec, text)
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"character {offset}," in result.stderr
    assert words in result.stderr


@pytest.mark.parametrize(
    ("written", "facts"),
    [
        ("", {"count": 10_000_501, "spans": [["-5.00", "100000.00"]]}),
        ('"', {"count": 10_000_501}),
        ('"-', {"values": [f"-{cents / 100:.2f}" for cents in range(500, 0, -1)]}),
        ('"-0.0', {"values": [f"-0.0{digit}" for digit in range(9, 0, -1)]}),
        ('"1000', {"count": 1_101, "spans": [
            ["1000.00", "1000.99"], ["10000.00", "10009.99"], ["100000.00", "100000.00"]]}),
        ('"12.3', {"values": [f"12.3{digit}" for digit in range(10)]}),
    ],
)  # fmt: skip
def test_next_tells_wide_decimals_by_their_ends(written: str, facts: dict[str, Any], tmp_path: Path) -> None:
    domain = {"places": 2, "min": "-5.00", "max": "100000.00"}
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-factorspec": {"domain": domain}}},
              "required": ["a"], "x-factorspec": {"version": 1}}  # fmt: skip
    path = tmp_path / "amounts.json"
    path.write_text(json.dumps(schema), encoding="utf-8")
    (found,) = following(str(path), '{"a": ' + written)
    assert {key: found[key] for key in facts} == facts


def test_next_reads_files_and_standard_input(spec: str, tmp_path: Path) -> None:
    path = tmp_path / "prefix"
    path.write_text('{"low": 499, ', encoding="utf-8")
    expected = ['certain: "high": ', "high: 1 of 501 values", "  500"]
    assert lines(run("next", spec, str(path))) == expected
    assert lines(run("next", spec, "-", stdin='{"low": 499, \n')) == ['certain: "high": ', *expected[1:]]


def test_next_finds_every_prefix_of_every_sample(spec: str) -> None:
    for text in lines(run("sample", spec, "-n", "3", "--seed", "4")):
        for end in range(0, len(text) + 1, 7):
            assert following(spec, text[:end])
