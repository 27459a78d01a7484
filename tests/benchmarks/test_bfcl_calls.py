"""Reading tool calls, on a made-up package folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.benchmarks.bfcl_calls import ANSWERED, OTHERS, answered_calls, data_folder, functions

FUNCTION: dict[str, Any] = {
    "name": "weather",
    "description": "Tells the weather.",
    "parameters": {
        "type": "dict",
        "properties": {
            "city": {"type": "string"},
            "unit": {"type": "string", "enum": ["C", "F"]},
            "days": {"type": "integer"},
            "at": {"type": "dict", "properties": {"hours": {"type": "array", "items": {"type": "float"}}}},
        },
        "required": ["city"],
    },
}
ODD: dict[str, Any] = {"name": "odd", "parameters": {"type": "dict", "properties": {"x": {"type": "any"}}}}


def folder(path: Path) -> Path:
    questions = [
        {"id": name, "question": [[{"role": "user", "content": "Rain in Oslo?"}]], "function": [function]}
        for name, function in (("good", FUNCTION), ("odd", ODD))
    ]
    accepted = {"days": [3], "unit": ["", "C"], "at": [{"hours": [[1.5], ""]}], "city": ["Oslo", "oslo"]}
    truths = [
        {"id": "odd", "ground_truth": [{"odd": {"x": [1]}}]},
        {"id": "good", "ground_truth": [{"weather": accepted}]},
    ]
    (path / "possible_answer").mkdir()
    for name in (*ANSWERED, *OTHERS):
        write(path / name, questions)
        write(path / "possible_answer" / name, truths)
    return path


def write(path: Path, entries: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")


def test_calls_have_the_first_accepted_arguments_in_the_schemas_order(tmp_path: Path) -> None:
    call, again = answered_calls(folder(tmp_path))
    assert call == again
    assert call.identifier == "good"
    assert json.dumps(call.record) == (
        '{"name": "weather", "arguments": {"city": "Oslo", "days": 3, "at": {"hours": [1.5]}}}'
    )
    assert call.schema["properties"]["arguments"]["required"] == ["city"]
    assert [message["role"] for message in call.messages] == ["system", "user"]


def test_functions_that_no_schema_says_are_left_out(tmp_path: Path) -> None:
    assert [name for name, _ in functions(folder(tmp_path))] == ["good weather"] * 3


def test_a_folder_without_the_files_is_none(tmp_path: Path) -> None:
    assert data_folder(tmp_path) is None
    assert data_folder(folder(tmp_path)) == tmp_path
