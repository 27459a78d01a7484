"""The sessions benchmark runs, on two small workloads and a small tokenizer; times are not judged."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tokenizers import decoders

from factorspec_sdk.testing.tokenizers import END, qwen_like_tokenizer
from tests.benchmarks import sessions


@pytest.fixture
def collector() -> Iterator[None]:
    """A server's settings of the collector are taken back."""
    threshold = gc.get_threshold()
    yield
    gc.set_threshold(*threshold)
    gc.unfreeze()


@pytest.mark.usefixtures("collector")
def test_the_benchmark_runs_and_writes_its_report(tmp_path: Path, shared_dir: Path) -> None:
    made, file, out = qwen_like_tokenizer(), tmp_path / "tokenizer.json", tmp_path / "sessions.json"
    made.decoder = decoders.ByteLevel()
    made.save(str(file))
    chosen = ["--workload", "trips_open", "--workload", "plain_flat", "--specs", "1", "--end", END]
    few = ["--sessions", "4", "--steps", "8", "--total", "40", "--total-specs", "8"]
    data = ["--data", str(shared_dir / "data" / "natural_plan")]
    assert sessions.main(["--json", str(out), "--tokenizer", str(file), *chosen, *few, *data]) == 0
    report = json.loads(out.read_text(encoding="utf-8"))
    assert [run["workload"] for run in report["runs"]] == ["trips_open", "plain_flat"]
    for run in report["runs"]:
        assert run["tokens"] >= run["sessions"] * run["steps"]
        assert 0 < run["session_bytes"] < sessions.SESSION_BYTES
        assert run["token_us"] > 0
    assert len(report["growth"]["resident_mb"]) == len(report["growth"]["allocated_blocks"])
    assert all(bar["passed"] for bar in report["bars"] if "session" in bar["what"])
