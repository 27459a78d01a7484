"""The commands, in this process and as a process of their own."""

from __future__ import annotations

import copy
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from factorspec_sdk.wire import parse_document
from factorspec_server.cli import app
from factorspec_server.commands.check import judge
from factorspec_server.settings import is_loopback

ROOT = Path(__file__).resolve().parents[2]

ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "low": {"type": "integer", "minimum": 0, "maximum": 500},
        "high": {"type": "integer", "minimum": 0, "maximum": 500},
        "city": {"enum": ["Oslo", "Rome", "Ro", 'Kö"ln', None]},
        "stops": {"type": "array", "items": {"enum": ["x", "y", "z"]}, "minItems": 1, "maxItems": 3},
        "note": {"type": "string", "minLength": 1, "maxLength": 20},
        "weight": {"type": "number"},
    },
    "required": ["low", "high", "city", "stops", "note", "weight"],
    "additionalProperties": False,
    "x-factorspec": {
        "version": 1,
        "relations": [
            {"name": "once", "kind": "all_different", "over": ["$.stops[*]"], "why": "no stop twice"},
            {"name": "rising", "kind": "ordered", "over": ["$.low", "$.high"], "op": "lt"},
            {
                "name": "short",
                "kind": "intension",
                "enforce": False,
                "expr": {"op": "lt", "args": [{"ref": "$.high"}, {"const": 100}]},
            },
        ],
    },
}
RECORD = {"low": 1, "high": 2, "city": "Oslo", "stops": ["x", "y"], "note": "fine", "weight": 1.5}
TEXT = json.dumps(RECORD)

Run = Callable[..., Result]


@pytest.fixture
def spec(tmp_path: Path) -> str:
    return written(tmp_path, "spec.json", ORDER)


def written(folder: Path, name: str, value: Any) -> str:
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return str(path)


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, arguments, input=stdin)


def lines(result: Result) -> list[str]:
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def test_version() -> None:
    assert lines(run("--version"))[0].startswith("factorspec ")


# -- check ------------------------------------------------------------------------------------------


def test_check_a_valid_record(spec: str) -> None:
    assert lines(run("check", spec, "-", stdin=TEXT)) == ["valid: 3 of 3 relations hold"]


def test_check_explains_everything_that_is_wrong(spec: str, tmp_path: Path) -> None:
    wrong = RECORD | {"low": 9, "high": 3, "city": "Paris", "stops": ["x", "x"], "note": "", "more": 1}
    del wrong["weight"]
    result = run("check", spec, written(tmp_path, "record.json", wrong))
    assert result.exit_code == 1
    for place in (
        "city: not one of the 5 values",
        "more: is not a field",
        "weight: is missing",
        "note: must have",
    ):
        assert place in result.stdout
    for relation in ("'once' (no stop twice)", "'rising'"):
        assert f"relation {relation}" in result.stdout
    assert "stops[0] and stops[1]" in result.stdout


def test_check_tells_report_only_relations_but_does_not_count_them(spec: str) -> None:
    told = lines(run("check", spec, "-", stdin=json.dumps(RECORD | {"high": 200})))
    assert told[0] == "valid: 2 of 3 relations hold"
    assert "'short'" in told[1] and told[1].endswith("[report only]")


@pytest.mark.parametrize("stdin", ["{", "nope", '{"a": 1}}', ""])
def test_check_of_what_is_no_json(spec: str, stdin: str) -> None:
    result = run("check", spec, "-", stdin=stdin)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: '-' is not JSON")


@pytest.mark.parametrize("record", [[], None, 3, {"stops": 3}, {"stops": [[]], "low": "1", "note": 1}])
def test_check_of_records_of_another_shape(spec: str, record: Any) -> None:
    result = run("check", spec, "-", stdin=json.dumps(record))
    assert result.exit_code == 1
    assert "must be" in result.stdout or "is missing" in result.stdout


# -- next -------------------------------------------------------------------------------------------


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


# -- sample -----------------------------------------------------------------------------------------


def test_samples_are_valid_and_repeatable(spec: str) -> None:
    told = lines(run("sample", spec, "-n", "25", "--seed", "7"))
    assert len(set(told)) > 5
    for text in told:
        judgement = judge(parse_document(ORDER), json.loads(text))
        assert judgement.is_valid, "\n".join(judgement.lines())
    assert lines(run("sample", spec, "-n", "25", "--seed", "7")) == told
    assert lines(run("sample", spec, "-n", "25", "--seed", "8")) != told


# -- report -----------------------------------------------------------------------------------------


def test_report_says_what_is_enforced_and_how(spec: str) -> None:
    facts = json.loads("\n".join(lines(run("report", spec, "--json"))))
    how = {part["pointer"]: part["enforcement"] for part in facts["parts"]}
    assert how["/x-factorspec/relations/0"] == how["/properties/low"] == how["/properties/note"] == "enforced"
    assert how["/x-factorspec/relations/2"] == "validated only"
    assert how["/properties/weight"] == "delegated"
    assert facts["satisfiable"] is True
    assert ["low", 501] in facts["widest"]
    tiers = {tuple(one["relations"]): (one["tier"], one["exact"]) for one in facts["components"]}
    assert tiers == {("once",): ("search", True), ("rising",): ("sets", True)}
    told = lines(run("report", spec))
    assert "satisfiable: yes" in told
    assert any("by sets of numbers" in line and line.endswith(": rising") for line in told)


def test_report_names_a_conflict(tmp_path: Path) -> None:
    document = copy.deepcopy(ORDER)
    falling = {"name": "falling", "kind": "ordered", "over": ["$.low", "$.high"], "op": "gt"}
    document["x-factorspec"]["relations"].append(falling)
    result = run("report", written(tmp_path, "spec.json", document), "--json")
    assert result.exit_code == 3
    facts = json.loads(result.stdout)
    assert (facts["satisfiable"], sorted(facts["conflict"])) == (False, ["falling", "rising"])
    assert "[unsatisfiable]" in result.stderr


def test_all_problems_of_a_document_are_told(tmp_path: Path) -> None:
    document = copy.deepcopy(ORDER)
    document["properties"]["stops"]["uniqueItems"] = 3
    document["x-factorspec"]["relations"].append({"name": "odd", "kind": "sudoku"})
    result = run("report", written(tmp_path, "spec.json", document))
    assert result.exit_code == 2
    assert "refused  /properties/stops/uniqueItems" in result.stdout
    assert "/properties/stops/uniqueItems" in result.stderr
    assert "/x-factorspec/relations/3" in result.stderr


def test_a_defect_is_told_without_a_traceback(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise KeyError("unexpected")

    monkeypatch.setattr("factorspec_server.cli.report_on", fail)
    result = run("report", spec)
    assert result.exit_code == 5
    assert "This is a defect of factorspec" in result.stderr
    assert "Traceback" not in result.output


# -- specs from elsewhere ---------------------------------------------------------------------------


def test_a_spec_may_be_a_model_in_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = "from typing import Literal\nfrom pydantic import BaseModel\n\n"
    code = f"{head}class Size(BaseModel):\n    size: Literal['S', 'M']\n"
    (tmp_path / "my_sizes_module.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert lines(run("check", "my_sizes_module:Size", "-", stdin='{"size": "S"}'))
    assert run("check", "my_sizes_module:Other", "-", stdin="{}").exit_code == 2


@pytest.mark.parametrize("source", ["missing.json", "no_such_module:Model", "json:dumps"])
def test_specs_that_are_not_there(source: str) -> None:
    result = run("report", source)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")


def test_one_standard_input_cannot_be_two_things() -> None:
    assert run("check", "-", "-", stdin="{}").exit_code == 2


# -- serve ------------------------------------------------------------------------------------------


def test_serve_refuses_an_open_door(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FACTORSPEC_API_KEY", raising=False)
    result = run("serve", "--host", "0.0.0.0", "--port", "0")
    assert result.exit_code == 2
    assert "--insecure" in result.stderr


def test_serve_says_that_a_port_is_in_use() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = run("serve", "--port", str(taken.getsockname()[1]))
    assert result.exit_code == 4
    assert "is in use" in result.stderr


@pytest.mark.parametrize("width", ["0", "257", "wide", "-1", "１"])
def test_serve_says_what_a_width_may_be(width: str) -> None:
    result = run("serve", "--width", width)
    assert result.exit_code == 2
    assert f"--width must be 'auto' or 1 to 256, got {width!r}" in result.stderr


def test_serve_says_before_it_loads_what_is_wrong_with_the_workers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FACTORSPEC_WORKERS", "1000")
    result = run("serve", "--port", "0", "--model", str(tmp_path / "nothing"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "FACTORSPEC_WORKERS must be a number from 0 to 64, got '1000'" in result.stderr


def test_serve_says_that_a_model_is_missing(tmp_path: Path) -> None:
    result = run("serve", "--port", "0", "--model", str(tmp_path / "nothing"))
    assert result.exit_code == 4
    assert "[model_not_found]" in result.stderr


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.8.0.1", True), ("::1", True), ("[::1]", True), ("localhost", True),
     ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("example.org", False)],
)  # fmt: skip
def test_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


# -- processes of their own -------------------------------------------------------------------------


def process(*arguments: str) -> subprocess.Popen[str]:
    search = os.pathsep.join([str(ROOT), str(ROOT / "server")])
    return subprocess.Popen(
        [sys.executable, "-c", "from factorspec_server.cli import main; main()", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": search},
    )


def test_check_as_a_process(spec: str) -> None:
    with process("check", spec, "-") as check:
        out, err = check.communicate(json.dumps(RECORD | {"high": 0}), timeout=60)
    assert (check.returncode, err) == (1, "")
    assert "rising" in out


def test_a_reader_that_stops_reading_is_no_error(spec: str) -> None:
    with process("sample", spec, "-n", "1000000") as sample:
        assert sample.stdout is not None and sample.stderr is not None
        assert json.loads(sample.stdout.readline())
        sample.stdout.close()
        assert sample.stderr.read() == ""
        assert sample.wait(60) == 0


@pytest.mark.slow
@pytest.mark.model
def test_serve_a_real_model_until_interrupted() -> None:
    import httpx

    with process("serve", "--port", "0") as server:
        assert server.stderr is not None
        watchdog = threading.Timer(100, server.kill)
        watchdog.start()
        told = [server.stderr.readline()]
        while not told[-1].startswith("ready: "):
            assert told[-1], told
            told.append(server.stderr.readline())
        url = told[-1].split(" at ")[1].split(" ")[0]
        schema = {
            "type": "object",
            "properties": {"capital": {"enum": ["Oslo", "Paris"]}},
            "required": ["capital"],
            "additionalProperties": False,
        }
        body = {
            "model": "smollm2",
            "messages": [{"role": "user", "content": "What is the capital of France?"}],
            "response_format": {"type": "json_schema", "json_schema": {"name": "capital", "schema": schema}},
            "temperature": 0,
        }
        answer = httpx.post(f"{url}/chat/completions", json=body, timeout=60).json()
        assert json.loads(answer["choices"][0]["message"]["content"])["capital"] in ("Oslo", "Paris")
        server.send_signal(signal.SIGINT)
        assert server.wait(30) in (0, 130)
        watchdog.cancel()
        assert "Traceback" not in server.stderr.read()


DAY = {"min": "08:00:00", "max": "18:00:00", "step": 1800}
MEETING: dict[str, Any] = {
    "type": "object",
    "properties": {
        name: {"type": "string", "format": "time", "x-factorspec": {"domain": DAY}}
        for name in ("start", "end")
    },
    "required": ["start", "end"],
    "additionalProperties": False,
    "x-factorspec": {
        "version": 1,
        "relations": [{"name": "in order", "kind": "ordered", "over": ["$.start", "$.end"], "op": "lt"}],
    },
}


def test_check_compares_times_with_times(tmp_path: Path) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(MEETING))
    for start, end, code in (("09:00:00", "10:30:00", 0), ("10:30:00", "09:00:00", 1)):
        record = tmp_path / "record.json"
        record.write_text(json.dumps({"start": start, "end": end}))
        result = CliRunner().invoke(app, ["check", str(spec), str(record)])
        assert result.exit_code == code, result.output
        assert ("1 of 1 relations hold" in result.output) == (code == 0)
