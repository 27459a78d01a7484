"""The container file's commands, run outside of a container; its pins against those of the project."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from factorspec_server.sglang.compat import REFERENCE

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docker" / "sglang"


@pytest.fixture(scope="module")
def instructions() -> list[tuple[str, str]]:
    """Of the file: (instruction, the rest), continued lines joined, comments left out."""
    text = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    joined = re.sub(r"\\\n\s*", "", lines).splitlines()
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in joined if line.strip())]


def exec_form(instructions: list[tuple[str, str]], name: str) -> list[str]:
    (found,) = (rest for instruction, rest in instructions if instruction == name)
    command: list[str] = json.loads(found[found.index("[") :])
    return command


def test_the_base_is_the_release_that_everything_was_measured_with(
    instructions: list[tuple[str, str]],
) -> None:
    assert ("ARG", f"BASE=lmsysorg/sglang:v{REFERENCE}") in instructions


def test_what_is_installed_is_pinned_as_in_the_project(instructions: list[tuple[str, str]]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = {one for extra in project["optional-dependencies"].values() for one in extra}
    pinned = [one for name, rest in instructions if name == "RUN" for one in re.findall(r'"([^"]+)"', rest)]
    assert pinned
    assert set(pinned) <= known


def test_all_that_is_copied_is_there_and_it_does_not_run_as_root(
    instructions: list[tuple[str, str]],
) -> None:
    copied = [one for name, rest in instructions if name == "COPY" for one in rest.split()[:-1]]
    assert all((ROOT / one).exists() for one in copied)
    assert [rest for name, rest in instructions if name == "USER"] == ["10001:10001"]


def test_the_entry_point_passes_options_and_flags_on(
    instructions: list[tuple[str, str]], tmp_path: Path
) -> None:
    stand_in = tmp_path / "factorspec"
    stand_in.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    stand_in.chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "MODEL": "a model",
        "PORT": "30000",
        "OPTIONS": "--device cpu",
    }
    command = [*exec_form(instructions, "ENTRYPOINT"), *exec_form(instructions, "CMD"), "--one flag"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == [
        "serve", "--engine", "sglang", "--model", "a model", "--host", "0.0.0.0", "--port", "30000",
        "--device", "cpu", "--", "--enable-metrics", "--one flag",
    ]  # fmt: skip


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_the_health_check_is_what_health_says(
    instructions: list[tuple[str, str]], status: int, code: int
) -> None:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    command = exec_form(instructions, "HEALTHCHECK")
    assert command[0] == "python3"
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            environment = {**os.environ, "PORT": str(server.server_port)}
            done = subprocess.run(
                [sys.executable, *command[1:]], env=environment, capture_output=True, timeout=60
            )
        finally:
            server.shutdown()
            thread.join()
    assert done.returncode == code
    assert asked == ["/health"]
