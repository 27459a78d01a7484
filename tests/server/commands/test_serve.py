"""``factorspec serve``: what it refuses before it loads a model, and a real model served."""

from __future__ import annotations

import json
import signal
import socket
import threading
from pathlib import Path

import pytest

from factorspec_sdk.errors import shown
from factorspec_server.settings import is_loopback
from tests.server.commands.calling import process, run


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


@pytest.mark.parametrize("engine", ["embedded", "sglang"])
@pytest.mark.parametrize("value", ["foo", "2"])
def test_serve_says_what_a_switch_of_the_environment_may_be(
    monkeypatch: pytest.MonkeyPatch, engine: str, value: str
) -> None:
    monkeypatch.setenv("FACTORSPEC_EARLIER", value)
    monkeypatch.setenv("COLUMNS", "200")
    result = run("serve", "--port", "0", "--engine", engine)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"FACTORSPEC_EARLIER must be 0 or 1, got {value!r}" in result.stderr


@pytest.mark.parametrize("place", ["file", "~nobody-of-that-name/x", "x" * 5000])
def test_serve_says_before_it_loads_that_the_cache_is_no_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FACTORSPEC_CACHE", place)
    result = run("serve", "--port", "0")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"FACTORSPEC_CACHE: must be a directory (got {shown(place)}). name one" in result.stderr


@pytest.mark.parametrize("key", ["secret\r", "se\ncret", " secret"])
def test_serve_refuses_a_key_that_no_request_can_hold(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("FACTORSPEC_API_KEY", key)
    result = run("serve", "--port", "0", "--model", "nothing")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "(FACTORSPEC_API_KEY, --api-key) holds " in result.stderr
    assert "secret" not in result.stderr


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


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.timeout(300)
def test_serve_a_real_model_until_interrupted() -> None:
    import httpx

    with process("serve", "--port", "0") as server:
        assert server.stderr is not None
        watchdog = threading.Timer(280, server.kill)
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
