"""Flags for SGLang: ours, those that are passed on, and why some do not go together."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from factorspec_sdk.errors import DeclarationError
from factorspec_server.sglang import launch_flags
from factorspec_server.sglang.launch_flags import (
    HOSTS_VARIABLE,
    KEY_VARIABLE,
    LaunchOptions,
    model_bytes,
    sglang_environment,
    sglang_flags,
)
from factorspec_server.sglang.speculation import Speculation


def options(**fields: Any) -> LaunchOptions:
    known = {"model": "/m", "served_name": "m", "host": "127.0.0.1", "port": 3, "drafting": "off"}
    return LaunchOptions(**{**known, **fields})


def pairs(flags: list[str]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for at, flag in enumerate(flags):
        if flag.startswith("--"):
            following = flags[at + 1 : at + 2]
            found[flag] = following[0] if following and not following[0].startswith("--") else None
    return found


def test_ours_come_first_and_what_is_passed_on_wins() -> None:
    passed_on = ("--tp-size", "1", "--mem-fraction-static=0.7")
    flags = sglang_flags(options(device="cpu", dtype="bfloat16", passed_on=passed_on))
    found = pairs(flags)
    assert flags[-3:] == [*passed_on]
    assert found["--grammar-backend"] == "factorspec"
    assert (found["--device"], found["--dtype"], found["--attention-backend"]) == (
        "cpu",
        "bfloat16",
        "torch_native",
    )
    assert "--mem-fraction-static" not in found
    assert "--skip-server-warmup" in found


def test_sglang_decides_on_gpus_what_nobody_asked_for() -> None:
    found = pairs(sglang_flags(options()))
    assert found.keys() == {
        "--model-path", "--served-model-name", "--host", "--port", "--grammar-backend", "--device",
    }  # fmt: skip
    assert pairs(sglang_flags(options(max_batch=64)))["--max-running-requests"] == "64"


@pytest.mark.parametrize(
    ("drafting", "passed_on", "algorithm"),
    [
        ("auto", (), "FACTORSPEC"),
        ("tree", (), "FACTORSPEC"),
        ("off", (), None),
        ("auto", ("--speculative-algorithm", "NGRAM"), "NGRAM"),
    ],
)
def test_the_worker_drafts_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, drafting: Any, passed_on: tuple[str, ...], algorithm: str | None
) -> None:
    monkeypatch.setattr(launch_flags, "has_worker", lambda: True)
    found = pairs(sglang_flags(options(drafting=drafting, passed_on=passed_on)))
    assert found.get("--speculative-algorithm") == algorithm


def test_what_is_drafted_goes_to_the_worker() -> None:
    assert sglang_environment(options(drafting="text"), {})["FACTORSPEC_DRAFTING"] == "text"
    assert "FACTORSPEC_DRAFTING" not in sglang_environment(options(drafting="auto"), {})
    with pytest.raises(DeclarationError, match=r"--speculative-algorithm.*leave one of them out"):
        sglang_flags(options(drafting="tree", passed_on=("--speculative-algorithm", "NGRAM")))


@pytest.mark.parametrize("given", ["", "1", "true", "0", "no"])
@pytest.mark.parametrize("earlier", [True, False])
def test_whether_earlier_records_are_guessed_is_told_as_sglang_s_processes_read_it(
    given: str, earlier: bool
) -> None:
    environment = sglang_environment(options(earlier=earlier), {"FACTORSPEC_EARLIER": given})
    assert Speculation.read(environment).earlier is earlier
    assert Speculation.read(sglang_environment(options(earlier=earlier), {})).earlier is earlier


@pytest.mark.parametrize(
    ("passed_on", "told"),
    [
        (("--grammar-backend", "xgrammar"), "--grammar-backend: relations are enforced by this backend"),
        (("--grammar-backend=none",), "--grammar-backend: relations"),
        (("--tokenizer-worker-num", "4"), "answers do not say which spec was enforced"),
        (("--port", "1"), "--port: is an option of factorspec serve. write it before the --"),
        (("--model-path", "x"), "--model-path: is --model here"),
        (("--api-key=x",), "set FACTORSPEC_API_KEY"),
        (("--disaggregation-mode", "decode"), "nobody has tried it"),
        (("--skip-tokenizer-init",), "without a tokenizer"),
        (("tp", "2"), "SGLang's flags begin with -"),
    ],
)
def test_what_cannot_work_is_refused_with_the_reason(passed_on: tuple[str, ...], told: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        sglang_flags(options(passed_on=passed_on))
    assert told in str(caught.value)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(DeclarationError) as caught:
        sglang_flags(options(passed_on=("--port", "1", "--host=x", "--nnodes", "2")))
    assert [problem.place for problem in caught.value.problems] == ["--port", "--host", "--nnodes"]


@pytest.mark.parametrize("passed_on", [("--grammar-backend", "factorspec"), ("--tokenizer-worker-num=1",)])
def test_saying_what_is_so_anyway_is_no_error(passed_on: tuple[str, ...]) -> None:
    assert sglang_flags(options(passed_on=passed_on))[-len(passed_on) :] == [*passed_on]


def test_a_key_travels_by_environment_and_never_as_a_flag() -> None:
    secret = options(api_key="s3cret", allowed_hosts=("localhost", "::1"), device="cpu")
    assert "s3cret" not in repr(secret)
    assert "s3cret" not in " ".join(sglang_flags(secret))
    environment = sglang_environment(secret, {"A": "b"})
    assert environment[KEY_VARIABLE] == "s3cret"
    assert environment[HOSTS_VARIABLE] == "localhost,::1"
    assert environment["SGLANG_USE_CPU_ENGINE"] == "1"
    assert int(environment["OMP_NUM_THREADS"]) >= 1
    assert sglang_environment(options(), {"A": "b"}) == {"A": "b"}
    assert sglang_environment(options(device="cpu"), {"OMP_NUM_THREADS": "7"})["OMP_NUM_THREADS"] == "7"


@pytest.mark.parametrize("flags", [("--tp-size", "3"), ("--mem-fraction-static", "0.5", "--tp-size=3")])
def test_ranks_on_a_cpu_are_told_their_cores(monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 7}, raising=False)
    environment = sglang_environment(options(device="cpu", passed_on=flags), {})
    assert environment["SGLANG_CPU_OMP_THREADS_BIND"] == "0,7|1|2"
    assert sglang_environment(options(passed_on=flags), {}) == {}
    given = sglang_environment(
        options(device="cpu", passed_on=flags), {"SGLANG_CPU_OMP_THREADS_BIND": "4|5|6"}
    )
    assert given["SGLANG_CPU_OMP_THREADS_BIND"] == "4|5|6"


def test_workers_and_their_deadline_travel_by_environment() -> None:
    given = sglang_environment(options(workers=0, deadline_s=2.5), {"FACTORSPEC_WORKERS": "7"})
    assert given == {"FACTORSPEC_WORKERS": "0", "FACTORSPEC_DEADLINE_S": "2.5"}


def test_weights_are_weighed_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(b"x" * 10)
    (tmp_path / "b.safetensors").write_bytes(b"x" * 5)
    assert model_bytes(str(tmp_path)) == 15
    assert model_bytes("Qwen/Qwen3-8B") is None


@pytest.mark.parametrize(
    ("flags", "value"),
    [
        (("--pp-size", "2"), "'2'"),
        (("--pipeline-parallel-size=8",), "'8'"),
        (("--ep-size", "2"), "'2'"),
        (("--page-size", "16"), "'16'"),
        (("--enable-lora",), None),
    ],
)
def test_what_cannot_go_with_drafting_is_told_before_it_starts(
    flags: tuple[str, ...], value: str | None
) -> None:
    with pytest.raises(DeclarationError) as caught:
        sglang_flags(options(drafting="auto", passed_on=flags))
    (problem,) = caught.value.problems
    assert (problem.place, problem.value) == (flags[0].partition("=")[0], value)
    assert problem.hint == "leave it out, or say --drafting off before the --"
    assert sglang_flags(options(drafting="off", passed_on=flags))[-len(flags) :] == list(flags)
    other = (*flags, "--speculative-algorithm", "NGRAM")
    assert sglang_flags(options(drafting="auto", passed_on=other))[-len(other) :] == list(other)
