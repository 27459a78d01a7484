"""Start SGLang with our plugin on a CPU, run the tests against it, kill it, and look for leftovers.

::

    python -m tests.sglang [--where-possible] [--within SECONDS] [--sglang VERSION] [--environment FOLDER]
                           [--ranks N] [tests …]

With ``--ranks`` a small model is divided among so many schedulers; tests run that know none of its words.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from factorspec_server.engines.smollm2 import smollm2_dir
from factorspec_server.sglang.compat import REFERENCE
from tests.conformance.openai_package.target import PREFIX
from tests.sglang.environment import ROOT, NotHere, made, sources_folder, wheel_folder
from tests.sglang.processes import command_of, marked, nameless_memory, processes
from tests.sglang.small_model import small_model

URL_VARIABLE = "FACTORSPEC_SGLANG_URL"
SOURCES_VARIABLE = "FACTORSPEC_SGLANG_SOURCES"
MARK_VARIABLE = "FACTORSPEC_SGLANG_MARK"
"""How tests get to know which processes are the server's: those with this text in their environment."""
RANKS_VARIABLE = "FACTORSPEC_SGLANG_RANKS"
_MARK = "FACTORSPEC_TEST_RUN"
_READY_S = 600.0
_GONE_S = 60.0
#: what the tests take, with the start of the server, on two slow cores
_TESTS_S = 900.0
#: see conformance/openai_package/target.py; SGLang's own errors name no fields, and any model's name will do
_CAPABILITIES = "chat,record,relations,tools"
_OF_ONE_RANK = ["tests/sglang", "tests/conformance/openai_package"]
_OF_RANKS = [
    *(f"tests/sglang/{name}.py" for name in ("test_ranks", "test_drafting", "test_real_server")),
    "-k",
    "not embedded",
]
_FLAGS = (
    "--context-length", "4096", "--max-total-tokens", "16384", "--constrained-json-disable-any-whitespace",
    "--enable-metrics",
)  # fmt: skip


def main() -> int:
    """Run all of it; the exit code is pytest's, 1 for what is left over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--where-possible", action="store_true", help="a machine that cannot is no error")
    parser.add_argument("--within", type=float, default=3600.0, metavar="SECONDS", help="all may take")
    parser.add_argument("--environment", type=Path, help="an environment that has SGLang and what we need")
    parser.add_argument("--sglang", default=REFERENCE, metavar="VERSION", help="another release of SGLang")
    parser.add_argument("--ranks", type=int, default=1, metavar="N", help="that share a small model")
    options, rest = parser.parse_known_args()
    try:
        python = made(options.environment, _install_s(options.within), options.sglang)
    except NotHere as error:
        print(f"skipped: the tests of SGLang: {error}")
        return 0 if options.where_possible else 1
    with tempfile.TemporaryDirectory() as folder:
        return _run(python, Path(folder), rest, options.ranks)


def _install_s(within: float) -> float:
    """Seconds that installing may take. Raises NotHere where the tests alone take longer than there is."""
    if within < _TESTS_S:
        raise NotHere(f"{within:.0f} s are left, the tests take {_TESTS_S:.0f}; run: make ci-sglang")
    return within - _TESTS_S


def _run(python: Path, folder: Path, rest: list[str], ranks: int) -> int:
    search = wheel_folder(folder)
    model = smollm2_dir(progress=False) if ranks == 1 else small_model(folder / "model")
    with _serving(python, search, model, ranks, folder / "server.log") as server:
        tests = rest or (_OF_ONE_RANK if ranks == 1 else _OF_RANKS)
        environment = {
            **os.environ,
            URL_VARIABLE: server.url,
            SOURCES_VARIABLE: str(sources_folder(python)),
            MARK_VARIABLE: server.mark,
            RANKS_VARIABLE: str(ranks),
            f"{PREFIX}URL": server.url,
            f"{PREFIX}CAPABILITIES": _CAPABILITIES,
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "600", *tests]
        code = subprocess.run(command, cwd=ROOT, env=environment).returncode
        if code:
            print(server.last_lines(), file=sys.stderr)
        left = server.kill()
    for line in left:
        print(f"left after the server was killed: {line}", file=sys.stderr)
    print(f"SGLang: tests ended with {code}, {len(left)} processes and files are left after a kill")
    return code or int(bool(left))


@dataclass
class _Server:
    process: subprocess.Popen[bytes]
    port: int
    mark: str
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def last_lines(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-40:])

    def kill(self) -> list[str]:
        """Kill ``factorspec serve``; what is left of it after a while."""
        memory = {file for process in marked(self.mark) for file in nameless_memory(process)}
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        deadline = time.monotonic() + _GONE_S
        while (left := [*self._left(memory)]) and time.monotonic() < deadline:
            time.sleep(0.2)
        print(f"the server had {len(memory)} blocks of memory without a name")
        return left

    def _left(self, memory: set[tuple[int, int]]) -> Iterator[str]:
        for process in marked(self.mark):
            yield f"process {process.name}: {command_of(process)[:200]}"
        for process in processes():
            if memory.intersection(nameless_memory(process)):
                yield f"memory without a name, held by {process.name}: {command_of(process)[:200]}"
        yield from (str(path) for path in Path("/dev/shm").glob("*factorspec*"))
        with closing(socket.socket()) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                yield f"port {self.port} is open"


@contextmanager
def _serving(python: Path, search: Path, model: Path, ranks: int, log: Path) -> Iterator[_Server]:
    """``factorspec serve --engine sglang``, killed at the end."""
    mark = secrets.token_hex(8)
    environment = {
        "FACTORSPEC_AHEAD": "1",  # as on CUDA
        **os.environ, _MARK: mark, "PYTHONPATH": str(search), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1",
        "SPT_NOENV": "1",  # else SGLang's names of processes are written over the mark
    }  # fmt: skip
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        str(python), "-m", "factorspec_server", "serve", "--engine", "sglang", "--device", "cpu",
        "--model", str(model), "--dtype", "float32", "--max-batch", "16",
        "--workers", "2", "--deadline-s", "60",
        "--port", str(port), "--", "--tp-size", str(ranks), *_FLAGS,
    ]  # fmt: skip
    with log.open("wb") as written:
        process = subprocess.Popen(command, stdout=written, stderr=subprocess.STDOUT, env=environment)
        server = _Server(process, port, mark, log)
        try:
            _wait(server)
            yield server
        finally:
            process.kill()
            process.wait()


def _wait(server: _Server) -> None:
    deadline = time.monotonic() + _READY_S
    while "\nready: " not in server.log.read_text(errors="replace"):
        if server.process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"SGLang did not start\n{server.last_lines()}")
        time.sleep(0.5)
    print(server.log.read_text(errors="replace").rstrip(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
