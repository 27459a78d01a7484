"""The masks benchmark runs, on two small workloads and a small tokenizer; its bars are not judged."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tokenizers import decoders

from factorspec_sdk.testing.tokenizers import END, qwen_like_tokenizer, vocabulary_like
from factorspec_sdk.tokens import Canonical
from tests.benchmarks import masks, masks_bars
from tests.benchmarks.masks_engine import Factorspec, Refused, empty_row, verify, write
from tests.benchmarks.masks_runs import Facts, prepared
from tests.benchmarks.masks_samples import text, value
from tests.benchmarks.masks_workload import Options, Prepared, Task, closed

FIELDS = (
    "workload", "engine", "relations", "row_p50_us", "row_p99_us", "advance_us", "compile_ms",
    "records_per_cpu_s", "memory_mb",
)  # fmt: skip
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "note": {"type": "string", "maxLength": 20},
        "size": {"type": "integer", "minimum": 3, "maximum": 9},
        "kind": {"enum": ["a", "b"]},
    },
    "required": ["note", "size"],
    "additionalProperties": False,
}


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    file = tmp_path / "tokenizer.json"
    made = qwen_like_tokenizer()
    made.decoder = decoders.ByteLevel()
    made.save(str(file))
    return file


def test_the_benchmark_runs_and_writes_its_report(
    tokenizer: Path, shared_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("llguidance")
    monkeypatch.setattr(masks, "_QWEN3_WIDTH", None)
    monkeypatch.setattr(masks, "_QWEN3_END", END)
    monkeypatch.setattr(masks, "_pin", lambda core: None)
    out = tokenizer.parent / "masks.json"
    chosen = ["--workload", "plain_optional", "--workload", "calendars", "--limit", "1"]
    few = ["--records", "1", "--rounds", "1", "--data", str(shared_dir / "data" / "natural_plan")]
    assert masks.main(["--json", str(out), "--tokenizer", str(tokenizer), *chosen, *few]) == 0
    report = json.loads(out.read_text(encoding="utf-8"))
    runs = {(run["workload"], run["engine"]): run for run in report["runs"]}
    assert len(runs) == 2 * len(masks.ENGINES)
    assert all(set(FIELDS) <= run.keys() for run in runs.values())
    assert all(run["records_per_cpu_s"] > 0 for run in runs.values())
    own, library = (runs["calendars", name] for name in ("factorspec", "xgrammar"))
    assert own["relations"]
    assert own["rows"] < library["rows"] == library["tokens"] == own["tokens"]
    assert {bar["workload"] for bar in report["bars"]} == {"plain_optional", "calendars"}


def test_a_token_that_is_not_in_its_row_is_refused() -> None:
    vocabulary = vocabulary_like("qwen")
    engine, row = Factorspec(vocabulary), empty_row(vocabulary)
    spec = engine.compile(Task("t", SCHEMA, lambda number: None))
    right = vocabulary.encode('{"note": "x y", "size": 4}')
    verify(spec, right, row)
    for wrong in ('{"note": "x y", "size": 2}', '{"note": "x y", "kind": "a"}', '{"note": "x y"'):
        with pytest.raises((Refused, AssertionError)):
            verify(spec, vocabulary.encode(wrong), row)


def test_records_are_samples_of_their_schema() -> None:
    vocabulary = vocabulary_like("qwen")
    canonical = Canonical(vocabulary)
    task = Task("t", SCHEMA, lambda number: value(SCHEMA, Random(number), SCHEMA))
    made: Prepared = prepared(task, canonical, 8)
    assert len(made.records) == 8
    texts = [vocabulary.decode(tokens) for tokens in made.records]
    assert texts == [json.dumps(json.loads(each), ensure_ascii=False) for each in texts]
    assert {"kind" in json.loads(each) for each in texts} == {True, False}
    spec, row = Factorspec(vocabulary).compile(task), empty_row(vocabulary)
    for tokens in made.records:
        verify(spec, tokens, row)
        write(spec.walk(), tokens, row)


def test_texts_keep_their_lengths() -> None:
    for number in range(50):
        made = text(Random(number), 10, 40, about=60)
        assert 10 <= len(made) <= 40
    assert len(text(Random(0), about=300)) >= 300


def test_what_libraries_get_is_closed_and_has_no_vendor_key() -> None:
    task = Task(
        "t",
        {"type": "object", "properties": {"a": {"type": "string", "x-factorspec": {}}}, "x-factorspec": {}},
        lambda number: None,
    )
    assert task.schema == {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "additionalProperties": False,
    }
    assert closed({"type": "object", "properties": {}, "additionalProperties": True})["additionalProperties"]


def test_a_workload_without_its_data_says_so(tmp_path: Path) -> None:
    options = Options(tmp_path, tmp_path, 1, Canonical(vocabulary_like("qwen")))
    reasons = [
        each.read(options) for each in masks.workloads() if each.relations or each.name == "tool_calls"
    ]
    assert all(isinstance(reason, str) and "pass --" in reason for reason in reasons)


def test_bars_fall_on_the_right_side() -> None:
    run: Facts = {"row_p99_us": 100.0, "compile_ms": 2.0, "relations": False, "workload": "w"}
    own: Facts = {**run, "engine": "factorspec", "records_per_cpu_s": 95.0}
    wrapped: Facts = {**run, "engine": "xgrammar", "records_per_cpu_s": 100.0, "compile_ms": 1.0}
    found = masks_bars.verdicts([own, wrapped], 0.5)
    assert [verdict.passed for verdict in found] == [True, True, False]
    related = masks_bars.verdicts([{**own, "relations": True}, {**wrapped, "records_per_cpu_s": 47.5}], 3.0)
    assert [verdict.passed for verdict in related] == [True, True]
    assert related[0].bar == 600
