"""The serving benchmark's own parts: figures, forced answers, requests, entry points."""

from __future__ import annotations

from importlib.metadata import PathDistribution
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from factorspec_sdk.errors import JsonValue
from tests.benchmarks.serving import main
from tests.benchmarks.serving_cells import Row
from tests.benchmarks.serving_client import Answer, body
from tests.benchmarks.serving_figures import medians
from tests.benchmarks.serving_forced import Answers
from tests.benchmarks.serving_records import Record, read_workloads, write_workloads
from tests.benchmarks.serving_servers import write_entry_points
from tests.benchmarks.serving_workload import without_relations

RECORD = Record(prompt=[1, 2], gold=[5, 6, 9], text="{}", document='{"x": 1}', schema_text="{}")


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    write_workloads(tmp_path / "a" / "b.gz", {"trip": [RECORD]})
    assert read_workloads(tmp_path / "a" / "b.gz")["trip"] == [RECORD]


def test_requests_bring_relations_their_schema_or_nothing() -> None:
    assert body(RECORD, relations=True)["sampling_params"]["json_schema"] == '{"x": 1}'
    assert body(RECORD, relations=False)["sampling_params"]["json_schema"] == "{}"
    free = body(RECORD, relations=True, constrained=False)["sampling_params"]
    assert "json_schema" not in free
    assert free["ignore_eos"]
    assert free["max_new_tokens"] == 3


def test_relations_are_taken_out_at_any_depth() -> None:
    item: JsonValue = {"x-factorspec": {}, "type": "string", "format": "time"}
    assert without_relations({"x-factorspec": {"version": 1}, "items": [item]}) == {
        "items": [{"type": "string"}]
    }


def answers() -> Answers:
    """Those of a batch of two, at the places 3 and 1; their prompts have 4 and 2 tokens."""
    requests = [
        SimpleNamespace(
            req_pool_idx=place,
            rid=str(place),
            origin_input_ids=[0] * prompt,
            sampling_params=SimpleNamespace(custom_params={"gold": gold}),
        )
        for place, prompt, gold in ((3, 4, [7, 8]), (None, 3, [2]), (1, 2, [5]))
    ]
    pool = SimpleNamespace(req_to_token=torch.zeros(5, 9))
    found = Answers()
    found.note(SimpleNamespace(reqs=requests, req_to_token_pool=pool, device="cpu"))
    return found


def forward_batch(seq_lens: list[int], verify: Any = None) -> SimpleNamespace:
    return SimpleNamespace(
        req_pool_indices=torch.tensor([3, 1]),
        seq_lens=torch.tensor(seq_lens),
        forward_mode=SimpleNamespace(is_target_verify=lambda: verify is not None),
        spec_info=verify,
    )


def test_the_gold_token_of_a_row_s_position_is_raised() -> None:
    logits = torch.zeros(3, 10)  # one row of padding
    answers().force(forward_batch([4, 2]), logits)
    assert logits.argmax(1).tolist() == [7, 5, 0]
    logits = torch.ones(2, 10)
    answers().force(forward_batch([5, 3]), logits)  # the second answer is over
    assert logits[0].argmax() == 8
    assert logits[1].tolist() == [1.0] * 10


def test_rows_of_a_verify_step_are_raised_by_their_positions() -> None:
    logits = torch.zeros(4, 10)
    tree = SimpleNamespace(positions=torch.tensor([3, 4, 1, 2]))
    answers().force(forward_batch([3, 1], tree), logits)
    assert logits.argmax(1).tolist() == [7, 8, 5, 0]
    logits = torch.zeros(2, 10)
    chosen = SimpleNamespace(positions=torch.tensor([3, 4, 1, 0]), select_index=torch.tensor([1, 2]))
    answers().force(forward_batch([3, 1], chosen), logits)
    assert logits.argmax(1).tolist() == [8, 5]
    logits = torch.zeros(3, 10)
    chosen.select_index = torch.tensor([0, 1, 2])  # requests can have different numbers of rows
    answers().force(forward_batch([3, 1], chosen), logits)
    assert logits.argmax(1).tolist() == [7, 8, 5]


@pytest.mark.parametrize("name", ["verify_lens", "verify_lens_cpu"])
def test_rows_of_a_ragged_step_are_raised_for_their_requests(name: str) -> None:
    counts = torch.tensor([1, 2], dtype=torch.int32) if name == "verify_lens" else [1, 2]
    ragged = SimpleNamespace(
        positions=torch.tensor([3, 1, 2, 0]),  # one of padding
        select_index=torch.tensor([0, 1, 2]),
        ragged_verify_layout=SimpleNamespace(**{name: counts}),
    )
    logits = torch.zeros(3, 10)
    logits[2, 4] = 1.0
    answers().force(forward_batch([3, 1], ragged), logits)
    assert logits.argmax(1).tolist() == [7, 5, 4]  # the second answer is over behind its first token


def answer(first: float, last: float, *, tokens: int = 11, steps: int = 2, error: str = "") -> Answer:
    return Answer(0.0, first, last, [0.5, last - first - 0.5], tokens, steps, True, error)


def test_figures_are_medians_of_what_the_server_knew() -> None:
    new = Row([answer(1, 9)], [answer(1, 9)], 1.0, 9.0, 1)
    known = [Row([answer(1, 3), answer(2, 4)], [answer(0, 4)], 0.033, 8.0, 0) for _ in range(2)]
    found = medians([new, *known])
    assert found["decode_ms"] == 2000.0
    assert found["after_read_ms"] == 1500.0  # both are read after 2 s; the records end after 3 and 4
    assert found["loop_decode_ms"] == 4000.0
    assert found["records_s"] == 0.25
    assert found["tokens_step"] == 5.0
    assert found["cpu_s_1k"] == 1.0
    assert found["new_specs_decode_ms"] == 8000.0
    assert found["gold"] == "8/8"
    assert found["errors"] == 0


def test_errors_are_counted_and_one_is_shown() -> None:
    found = medians([Row([answer(0, 0, error="full")], [answer(0, 2)], 0.0, 1.0, 0)])
    assert (found["errors"], found["error"], found["decode_ms"]) == (1, "full", 0.0)


def test_sglang_finds_the_plugins_of_a_checkout(tmp_path: Path) -> None:
    write_entry_points(tmp_path)
    (folder,) = tmp_path.iterdir()
    points = PathDistribution(folder).entry_points
    assert {(point.group, point.name) for point in points} == {
        ("sglang.srt.plugins", "factorspec"),
        ("sglang.srt.plugins", "factorspec-forced"),
        ("sglang.srt.platforms", "factorspec"),
    }
    for point in points:
        if point.name == "factorspec-forced":
            assert callable(point.load())


@pytest.mark.parametrize("text", ["nothing", "plain,none"])
def test_an_unknown_engine_is_named(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--workloads", "x", "--model", "y", "--json", "z", "--engine", text])
    assert "there are plain, xgrammar" in capsys.readouterr().err
