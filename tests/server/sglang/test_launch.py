"""The process that serves: watched until it answers, told about, ended with us. A script stands in."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from factorspec_sdk.errors import EngineError, FactorspecError, ModelNotFound
from factorspec_server.commands import serve_sglang
from factorspec_server.commands.failures import CommandError
from factorspec_server.sglang import launch
from factorspec_server.sglang.launch import launched
from factorspec_server.sglang.launch_causes import FlagError
from factorspec_server.sglang.launch_flags import LaunchOptions
from factorspec_server.sglang.service_settings import ServiceSettings

STAND_IN = """
import json, os, subprocess, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer

said = os.environ.get("SAYS", "")
print(said, flush=True)
if os.environ.get("ENDS"):
    sys.exit(int(os.environ["ENDS"]))
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print("own", os.getpid(), "child", child.pid, flush=True)

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        model = {"object": "model", "id": "m"}
        if not os.environ.get("BARE"):
            model["factorspec"] = {"engine": "sglang"}
        body = {"/v1/models": {"data": [model]}, "/server_info": {"grammar_backend": "factorspec"}}
        data = json.dumps(body.get(self.path, {})).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass

port = int(sys.argv[sys.argv.index("--port") + 1])
HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "sglang"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "launch_server.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(launch, "_POLL_S", 0.02)
    return tmp_path


def options() -> LaunchOptions:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return LaunchOptions(
        model="m", served_name="m", host="127.0.0.1", port=port, device="cpu", drafting="off"
    )


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 20
    while is_alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def child_of(running: launch.Launch) -> int:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for line in list(running._lines):
            if line.startswith("own "):
                return int(line.split()[3])
        time.sleep(0.01)
    raise AssertionError("no child")


def test_it_is_waited_for_and_leaves_nothing_behind(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "SAYS", "Load weight begin. avail mem=1\nKV Cache is allocated. dtype: x, #tokens: 8192"
    )
    told: list[str] = []
    with launched(options(), told.append) as running:
        started = running.wait_until_ready()
        assert started.facts == {"grammar_backend": "factorspec"}
        assert started.capabilities == {"engine": "sglang"}
        child, own = child_of(running), running._process.pid
        assert is_alive(child)
    wait_until_gone(child)
    wait_until_gone(own)
    assert told[:2] == ["  loading the weights …", "  room for 8192 tokens of keys and values …"]


def test_it_ends_when_we_are_killed(stand_in: Path) -> None:
    given = options()
    code = (
        "from factorspec_server.sglang.launch import launched; "
        "from factorspec_server.sglang.launch_flags import LaunchOptions; import time\n"
        f"with launched(LaunchOptions(model='m', served_name='m', host='127.0.0.1', port={given.port}, "
        "device='cpu', drafting='off'), print) as running:\n"
        "    running.wait_until_ready(); print(*running._lines, flush=True); time.sleep(60)"
    )
    search = os.pathsep.join([*filter(None, sys.path), str(stand_in)])
    environment = {**os.environ, "PYTHONPATH": search}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment
    ) as parent:
        assert parent.stdout is not None
        own, child = parent.stdout.readline().split()[1::2]
        parent.send_signal(signal.SIGKILL)
    wait_until_gone(int(own))
    wait_until_gone(int(child))  # it asked nobody to end it


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_that_end_a_process_end_it_as_an_interrupt_does(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_DFL)  # under nohup one is ignored
    try:
        with pytest.raises(KeyboardInterrupt), serve_sglang._ended_by_signals():
            signal.raise_signal(number)
        assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, before)


def test_a_server_that_is_to_outlive_its_terminal_does() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # nohup
    try:
        with serve_sglang._ended_by_signals():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    ("says", "kind", "told"),
    [
        ("sglang: error: unrecognized arguments: --foo 3", FlagError, "unrecognized arguments: --foo 3"),
        ("KeyError: 'what'", EngineError, "SGLang ended with 3: KeyError: 'what'"),
    ],
)
def test_why_it_ended_is_told(
    stand_in: Path, monkeypatch: pytest.MonkeyPatch, says: str, kind: type[Exception], told: str
) -> None:
    monkeypatch.setenv("SAYS", says)
    monkeypatch.setenv("ENDS", "3")
    with launched(options(), lambda line: None) as running, pytest.raises(kind) as caught:
        running.wait_until_ready()
    assert told in str(caught.value)


def test_a_server_without_the_plugin_is_told(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BARE", "1")
    with (
        launched(options(), lambda line: None) as running,
        pytest.raises(EngineError, match="without FactorSpec's"),
    ):
        running.wait_until_ready()


def test_a_server_that_never_answers_has_a_deadline(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "READY_S", 0.1)
    monkeypatch.setattr(launch.Launch, "_answers", lambda self, path: False)
    with (
        launched(options(), lambda line: None) as running,
        pytest.raises(EngineError, match="does not answer after"),
    ):
        running.wait_until_ready()


# -- the command ------------------------------------------------------------------------------------


def serve(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> list[str]:
    monkeypatch.setattr(serve_sglang, "check_installed", lambda: "0.5.16")
    monkeypatch.setattr(serve_sglang, "check_version", lambda device, tell: "0.5.16")
    known: dict[str, Any] = {
        "model": "m", "host": "127.0.0.1", "port": 0, "api_key": None, "insecure": False, "dtype": None,
        "device": "cpu", "max_batch": None, "drafting": "auto", "passed_on": (),
    }  # fmt: skip
    told: list[str] = []
    serve_sglang.serve_sglang(serve_sglang.ServeSglangOptions(**{**known, **fields}), told.append)
    return told


@pytest.mark.parametrize("earlier", ["", "1", "false"])
def test_the_command_says_what_is_served_and_that_it_ended(
    stand_in: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, earlier: str
) -> None:
    monkeypatch.setenv("FACTORSPEC_EARLIER", earlier)
    model = tmp_path / "model-x"
    model.mkdir()
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (model / name).write_text("{}")
    ready: list[str] = []

    def wait(self: launch.Launch) -> int:
        ready.append(self._options.served_name)
        return 7

    monkeypatch.setattr(launch.Launch, "wait", wait)
    with pytest.raises(CommandError, match="SGLang ended with 7"):
        serve(monkeypatch, model=str(model))
    assert ready == ["model-x"]


@pytest.mark.parametrize(
    ("facts", "settings", "told"),
    [
        ({"tp_size": 1}, ServiceSettings(2, 2.5), "constraint workers 2, longest wait 2.5 s"),
        ({"tp_size": 1}, ServiceSettings(0), "records are kept by the scheduler"),
        ({"tp_size": 2}, ServiceSettings(2, 2.5), "constraint workers 2, longest wait 2.5 s"),
        (
            {"tp_size": 2, "speculative_algorithm": "NGRAM"},
            ServiceSettings(2),
            "records are kept by the scheduler",
        ),
    ],
)
def test_who_keeps_records_is_told(facts: dict[str, Any], settings: ServiceSettings, told: str) -> None:
    assert serve_sglang._keepers(launch.Started(facts, {}), settings) == told


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"model": "nothing"}, "no model 'nothing'"),
        ({"model": "/nowhere/at-all"}, "no model '/nowhere/at-all'"),
        ({"device": None}, "no CUDA device is here.*--device cpu"),
        (
            {"model": "a/b", "device": "cpu", "deadline_s": -1.0},
            "FACTORSPEC_DEADLINE_S must be seconds above 0",
        ),
        ({"host": "0.0.0.0"}, "set FACTORSPEC_API_KEY"),
    ],
)
def test_what_can_be_found_out_before_it_starts_is(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], told: str
) -> None:
    monkeypatch.setattr(serve_sglang, "cuda_devices", lambda: 0)
    with pytest.raises((FactorspecError, CommandError), match=told):
        serve(monkeypatch, **fields)


def test_a_directory_without_a_model_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match=r"config\.json: is not there"):
        serve(monkeypatch, model=str(tmp_path))


def test_too_little_memory_is_told_before_it_is_tried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "a.safetensors").write_bytes(b"x" * 10)
    monkeypatch.setattr(serve_sglang, "_free_bytes", lambda: 1 << 30)
    with pytest.raises(EngineError, match=r"needs about 3\.0 GiB for this model.*1\.0 GiB are free"):
        serve(monkeypatch, model=str(tmp_path))


def test_a_port_in_use_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(CommandError, match="is in use"):
            serve(monkeypatch, port=taken.getsockname()[1])


def test_a_setting_of_the_worker_that_is_wrong_is_told_at_once(
    stand_in: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FACTORSPEC_WIDTHS", "8,1")
    monkeypatch.setattr(serve_sglang, "_model", lambda given, flags: (given, given))
    with pytest.raises(CommandError, match="FACTORSPEC_WIDTHS must be numbers that ascend from 1") as caught:
        serve(monkeypatch)
    assert caught.value.exit_code == 2
