"""The same requests to SGLang without our plugin and with it: ``python -m tests.sglang.against_stock``.

A command of its own: two more servers are minutes on two cores. Stock SGLang has no kernels for a CPU without
CUDA's driver, so the stand-in for these stays (``sglang/platform.py``); nothing else of ours is loaded there.

The server with our plugin takes requests back in their middle every few steps (a switch of SGLang's) and
launches steps ahead, as on CUDA. It is told to stop once clients have left it in every way: then nothing must
run.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from factorspec_server.engines.smollm2 import smollm2_dir
from factorspec_server.sglang.compat import REFERENCE
from tests.sglang.environment import ROOT, made, wheel_folder
from tests.sglang.like_stock import ask_all
from tests.sglang.processes import marked

_READY_S = 600.0
_COMMON = ("--context-length", "4096", "--constrained-json-disable-any-whitespace", "--random-seed", "7")
_STOCK = (
    "--dtype", "float32", "--max-running-requests", "16", "--device", "cpu", "--attention-backend",
    "torch_native", "--sampling-backend", "pytorch", "--mem-fraction-static", "0.3", "--skip-server-warmup",
    "--max-total-tokens", "16384", *_COMMON,
)  # fmt: skip
_OURS = (
    "serve", "--engine", "sglang", "--device", "cpu", "--dtype", "float32", "--max-batch", "16",
)  # fmt: skip
#: little room, so that the cache is used up and freed again
_SMALL = (
    "--max-total-tokens", "2048", "--speculative-num-draft-tokens", "8", "--enable-metrics", *_COMMON,
)  # fmt: skip
_VARIABLES = {
    "SGLANG_TEST_RETRACT": "1", "SGLANG_TEST_RETRACT_INTERVAL": "5", "FACTORSPEC_AHEAD": "1",
}  # fmt: skip
_TESTS = ("test_like_stock.py", "test_retraction.py", "test_leaving.py")
#: SGLang looks every 5 s whether it may stop; ``serve`` kills it after 40 s
_STOPPED_S, _IS_KILLED = 60.0, "SGLang does not stop"


def main() -> int:
    """Run all of it; the exit code is pytest's."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sglang", default=REFERENCE, metavar="VERSION", help="another release of SGLang")
    options = parser.parse_args()
    python, model = str(made(release=options.sglang)), str(smollm2_dir(progress=False))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        search = wheel_folder(folder)
        answers = folder / "stock.json"
        stock = [python, "-m", "sglang.launch_server", "--model-path", model, "--port"]
        with _started([*stock, str(port := _free_port()), *_STOCK], _without_plugin(search), port) as server:
            answers.write_text(json.dumps(ask_all(server.root)), encoding="utf-8")
        ours = [python, "-m", "factorspec_server", *_OURS, "--model", model, "--port"]
        command = [*ours, str(port := _free_port()), "--", *_SMALL]
        with _started(command, search, port, **_VARIABLES) as server:
            variables = {"FACTORSPEC_SGLANG_SMALL": server.root, "FACTORSPEC_SGLANG_STOCK": str(answers)}
            tests = [f"{Path(__file__).parent}/{name}" for name in _TESTS]
            pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
            code = subprocess.run(pytest, cwd=ROOT, env={**os.environ, **variables}).returncode
            if code:
                print("\n".join(server.lines()[-40:]), file=sys.stderr)
            return code or int(not server.stops())


def _without_plugin(search: Path) -> Path:
    """The same packages, of whose entry points SGLang finds the stand-in's alone."""
    bare = search.parent / "bare"
    shutil.copytree(search, bare)
    for file in bare.glob("factorspec-*.dist-info/entry_points.txt"):
        file.write_text("[sglang.srt.platforms]\nfactorspec = factorspec_server.sglang.platform:activate\n")
    return bare


@dataclass(frozen=True)
class _Server:
    process: subprocess.Popen[bytes]
    root: str
    log: Path

    def stops(self) -> bool:
        """Tell it to stop; True if it does by itself, since nothing runs any more."""
        before = len(self.lines())
        self.process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_STOPPED_S)
        lines = self.lines()[before:]
        stopped = self.process.poll() is not None and not any(_IS_KILLED in line for line in lines)
        print("the server stopped when it was told to" if stopped else "\n".join(["it runs on:", *lines]))
        return stopped

    def lines(self) -> list[str]:
        """What it has written."""
        return self.log.read_text(errors="replace").splitlines()


@contextmanager
def _started(command: Sequence[str], search: Path, port: int, **variables: str) -> Iterator[_Server]:
    """A server that answers; all of its processes are killed at the end."""
    mark = secrets.token_hex(8)
    environment = {
        **os.environ, "FACTORSPEC_TEST_RUN": mark, "PYTHONPATH": str(search), "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1", "SGLANG_USE_CPU_ENGINE": "1", **variables,
    }  # fmt: skip
    log, root = search.parent / f"{port}.log", f"http://127.0.0.1:{port}"
    with log.open("wb") as written:
        process = subprocess.Popen(command, stdout=written, stderr=subprocess.STDOUT, env=environment)
        try:
            _wait(process, log, lambda: _answers(f"{root}/health"))
            yield _Server(process, root, log)
        finally:
            for one in marked(mark):
                with suppress(ProcessLookupError):
                    os.kill(int(one.name), signal.SIGKILL)
            process.wait()


def _wait(process: subprocess.Popen[bytes], log: Path, is_ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _READY_S
    while not is_ready():
        if process.poll() is not None or time.monotonic() > deadline:
            lines = log.read_text(errors="replace").splitlines()[-40:]
            raise SystemExit("\n".join(["SGLang did not start", *lines]))
        time.sleep(0.5)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _free_port() -> int:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
