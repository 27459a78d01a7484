"""SGLang servers of the serving benchmark: one engine each, started, watched and stopped."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[2]
_STOP_S = 8.0
_CLOCK_HZ = os.sysconf("SC_CLK_TCK")
#: flags of every server on a GPU
GPU_FLAGS = (
    "--load-format dummy --attention-backend fa3 --sampling-backend pytorch --cuda-graph-max-bs-decode 128 "
    "--max-running-requests 128 --context-length 8192 --mem-fraction-static 0.7 "
    "--constrained-json-disable-any-whitespace --skip-server-warmup"
)
#: the prefill's graph: one for the whole model, none
PREFILLS = {
    "full": """--cuda-graph-config '{"prefill":{"backend":"full","full_prefill_max_req":128}}'""",
    "default": "",
    "off": "--disable-prefill-cuda-graph",
}
#: flags of every server on a CPU
CPU_FLAGS = (
    "--device cpu --dtype float32 --attention-backend torch_native --sampling-backend pytorch "
    "--mem-fraction-static 0.3 --max-total-tokens 16384 --max-running-requests 8 --context-length 4096 "
    "--constrained-json-disable-any-whitespace --skip-server-warmup"
)


@dataclass(frozen=True)
class EngineKind:
    """A way to serve. Those with equal flags and variables can share a server.

    Attributes:
        flags: of the server.
        relations: requests bring their relations, else their schema alone.
        constrained: requests bring a schema at all.
        solved: a solver finds each record first; its text alone is allowed then.
        environment: variables of the server.
    """

    flags: str
    relations: bool = False
    constrained: bool = True
    solved: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)

    def shares_server(self, other: EngineKind) -> bool:
        """True if one server can do for both."""
        return self.flags == other.flags and self.environment == other.environment


def _factorspec(drafting: str, workers: int, **more: str) -> EngineKind:
    environment = {"FACTORSPEC_DRAFTING": drafting, "FACTORSPEC_WORKERS": str(workers), **more}
    return EngineKind(_FACTORSPEC, relations=True, environment=environment)


_FACTORSPEC = "--grammar-backend factorspec --speculative-algorithm FACTORSPEC"
_XGRAMMAR = "--grammar-backend xgrammar"
_NGRAM = f"{_XGRAMMAR} --speculative-algorithm NGRAM"
#: processes of the constraint service
_WORKERS = 8
ENGINES = {
    "plain": EngineKind(_XGRAMMAR, constrained=False),
    "xgrammar": EngineKind(_XGRAMMAR),
    "solver": EngineKind(_XGRAMMAR, solved=True),
    "ngram": EngineKind(_NGRAM),
    "ngram-chain": EngineKind(f"{_NGRAM} --speculative-ngram-max-bfs-breadth 1"),
    "ngram-24": EngineKind(f"{_NGRAM} --speculative-num-draft-tokens 24"),
    "factorspec": _factorspec("auto", _WORKERS),
    "factorspec-inline": _factorspec("auto", 0),
    "factorspec-certain": _factorspec("certain", _WORKERS),
    "factorspec-certain-inline": _factorspec("certain", 0),
    "factorspec-tree": _factorspec("tree", _WORKERS),
    "factorspec-chains": _factorspec("auto", _WORKERS, FACTORSPEC_BREADTH="1"),
    "factorspec-not-ahead": _factorspec("auto", _WORKERS, FACTORSPEC_AHEAD="0"),
    "factorspec-uniform": _factorspec("auto", _WORKERS, FACTORSPEC_RAGGED="0"),
    "factorspec-off": EngineKind("--grammar-backend factorspec", relations=True),
}


class Server:
    """A server's process group. Use as a context manager: it is stopped at the end.

    Args:
        command: flags, the model's included.
        environment: variables beside those of this process.
        log: what it prints.
    """

    def __init__(self, command: str, environment: Mapping[str, str], log: Path) -> None:
        self.log = log
        self._output = log.open("w")
        started = [sys.executable, "-m", "sglang.launch_server", *shlex.split(command)]
        self._process = subprocess.Popen(
            started,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **environment},
        )

    def wait(self, url: str, timeout_s: float) -> float | None:
        """Seconds until it answers; None if it never does."""
        began = time.monotonic()
        while time.monotonic() - began < timeout_s and self.is_alive:
            try:
                with urlopen(f"{url}/health", timeout=5) as response:
                    if response.status == 200:
                        return time.monotonic() - began
            except (URLError, OSError):
                time.sleep(0.5)
        return None

    @property
    def is_alive(self) -> bool:
        """Its first process runs."""
        return self._process.poll() is None

    @property
    def cpu_s(self) -> float:
        """Processor seconds of all its processes so far."""
        total = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            if int(fields[3]) == self._process.pid:  # its session: groups of its own may be in it
                total += int(fields[11]) + int(fields[12])
        return total / _CLOCK_HZ

    def last_lines(self, count: int = 25) -> str:
        """The end of its log."""
        return "\n".join(line[:300] for line in self.log.read_text(errors="replace").splitlines()[-count:])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for signal_ in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._process.pid, signal_)
                self._process.wait(_STOP_S)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue
        self._output.close()


def write_entry_points(folder: Path) -> None:
    """What SGLang finds plugins by, where the checkout is not installed; for ``PYTHONPATH``."""
    groups = {
        "sglang.srt.plugins": {
            "factorspec": "factorspec_server.sglang.plugin:register",
            "factorspec-forced": "tests.benchmarks.serving_forced:register",
        },
        "sglang.srt.platforms": {"factorspec": "factorspec_server.sglang.platform:activate"},
    }
    lines = []
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{name} = {place}" for name, place in points.items()), ""]
    information = folder / "factorspec_checkout-0.dist-info"
    information.mkdir(parents=True, exist_ok=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: factorspec-checkout\nVersion: 0\n")
    (information / "entry_points.txt").write_text("\n".join(lines))


def python_path(folder: Path) -> str:
    """``PYTHONPATH`` with the checkout and its entry points in front."""
    parts = [str(ROOT), str(ROOT / "server"), str(folder), os.environ.get("PYTHONPATH", "")]
    return os.pathsep.join(part for part in parts if part)
