"""Why SGLang ended, from lines that it really wrote before it did."""

from __future__ import annotations

import pytest

from factorspec_sdk.errors import EngineError, ModelNotFound
from factorspec_server.sglang.launch_causes import FlagError, cause_of

TRACEBACK = [
    "[2026-11-30 14:09:48] Scheduler hit an exception: Traceback (most recent call last):",
    '  File "sglang/srt/managers/scheduler.py", line 4590, in run_scheduler_process',
    "    scheduler = Scheduler(",
]
AFTERWARDS = [
    "[2026-11-30 14:09:48] Received sigquit from a child process. It usually means the child failed.",
    "Traceback (most recent call last):",
    "EOFError: ran out of input",
    "RuntimeError: Initialization failed. Please see the error messages above.",
]


@pytest.mark.parametrize(
    ("line", "kind", "told"),
    [
        (
            "sglang serve: error: unrecognized arguments: --nope 3",
            FlagError,
            "SGLang does not take its flags: unrecognized arguments: --nope 3; `sglang serve --help` lists",
        ),
        (
            "x: error: argument --tp: invalid int value: 'x'",
            FlagError,
            "argument --tp: invalid int value: 'x'; ",
        ),
        (
            "ValueError: --speculative-algorithm FACTORSPEC cannot go with --page-size above 1",
            FlagError,
            "cannot go with --page-size above 1; leave it out, or add --drafting off",
        ),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried 3 GiB", EngineError, "lower --context-length"),
        (
            "RuntimeError: [enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory",
            EngineError,
            "too little memory: ",
        ),
        (
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
            EngineError,
            "keys and values: Not enough memory. Please try to increase --mem-fraction-static.",
        ),
        (
            "OSError: a/b is not a local folder and is not a valid model identifier",
            ModelNotFound,
            "SGLang cannot load the model: OSError: a/b is not a local folder",
        ),
        (
            "ValueError: Model architectures ['X'] are not supported for now. Supported architectures: ...",
            ModelNotFound,
            "Model architectures ['X'] are not supported",
        ),
        (
            "ValueError: Cannot find model module. 'X' is not a registered model in the Transformers library",
            ModelNotFound,
            "SGLang cannot load the model: ValueError: Cannot find model module. 'X' is not",
        ),
        (
            "safetensors._safetensors_rust.SafetensorError: Error while deserializing header: incomplete",
            ModelNotFound,
            "SafetensorError: Error while deserializing header: incomplete; name a folder",
        ),
        ("RuntimeError: Found no NVIDIA driver on your system.", EngineError, "add --device cpu"),
        ("ERROR: [Errno 98] address already in use", EngineError, "choose another --port"),
        ("[2026-11-30 14:09:48] KeyError: 'what'", EngineError, "SGLang ended with -9: KeyError: 'what'"),
        ("pkg.errors.OwnError: no way", EngineError, "SGLang ended with -9: pkg.errors.OwnError: no way"),
    ],
)
def test_the_cause_is_told_and_not_what_follows(line: str, kind: type[Exception], told: str) -> None:
    error = cause_of([*TRACEBACK, line, *AFTERWARDS], -9)
    assert type(error) is kind
    assert told in str(error)
    assert "\n" not in str(error)


def test_a_process_that_was_killed_is_told() -> None:
    lines = ["loading", "[2026-11-30] Rank 0 scheduler died with exit code -9"]
    for error in (cause_of(lines, 1), cause_of(lines[:1], -9)):
        assert isinstance(error, EngineError)
        assert "was killed (signal 9)" in str(error)
        assert "\n  | loading" in str(error)


def test_where_nothing_is_known_the_last_lines_are_shown() -> None:
    text = str(cause_of([f"line {number}" for number in range(400)], 3))
    assert text.splitlines()[0] == "SGLang ended with 3"
    assert text.splitlines()[1:] == [f"  | line {number}" for number in range(388, 400)]


def test_long_lines_are_cut() -> None:
    assert len(str(cause_of([f"ValueError: {'x' * 9000}"], 1))) < 500
