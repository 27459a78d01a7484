"""SGLang as a process of ours: started, watched until it answers, told about, and ended with us.

Its output is read by a thread. Until it answers, what it does is told in a few words, and the last lines are
kept for the error if it ends; afterwards lines go to standard error as they come.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from factorspec_sdk.errors import EngineError
from factorspec_server.sglang.launch_causes import cause_of, last
from factorspec_server.sglang.launch_flags import LaunchOptions, sglang_environment, sglang_flags
from factorspec_server.sglang.launch_guard import Guard

READY_S = 1800.0
"""Longest time until SGLang answers, in seconds: large models take their time to load."""
GRACE_S = 40.0
"""Longest time for requests to finish once it is told to stop, in seconds."""

_POLL_S = 0.5
_ANSWER_S = 120.0
_KEPT_LINES = 500
_KEPT_CHARS = 2000

#: what SGLang says -> what that means
_PHASES = (
    (re.compile(r"Load weight begin"), "loading the weights"),
    (re.compile(r"KV Cache is allocated.*#tokens: (\d+)"), "room for {0} tokens of keys and values"),
    (re.compile(r"Capture.*cuda graph begin", re.IGNORECASE), "capturing CUDA graphs"),
    (re.compile(r"Application startup complete"), "starting to answer"),
)


@dataclass(frozen=True, slots=True)
class Started:
    """What a server says that it runs with.

    Attributes:
        facts: of ``/server_info``.
        capabilities: the vendor part of its model.
    """

    facts: dict[str, Any]
    capabilities: dict[str, Any]


@contextmanager
def launched(options: LaunchOptions, tell: Callable[[str], None]) -> Iterator[Launch]:
    """SGLang's process, ended when the block is left, however that happens."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sglang.launch_server", *sglang_flags(options)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=sglang_environment(options, os.environ),
        start_new_session=True,
        preexec_fn=partial(_end_with_parent, ctypes.CDLL(None)),
    )
    guard = Guard(process.pid)
    launch = Launch(process, options, tell)
    try:
        yield launch
    finally:
        launch.stop()
        guard.dismiss()


class Launch:
    """One process and what it says."""

    def __init__(
        self, process: subprocess.Popen[str], options: LaunchOptions, tell: Callable[[str], None]
    ) -> None:
        self._process = process
        self._options = options
        self._tell = tell
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._is_ready = threading.Event()
        self._reader = threading.Thread(target=self._read, name="sglang-output", daemon=True)
        self._reader.start()

    @property
    def root(self) -> str:
        """The server's address."""
        host = self._options.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self._options.port}"

    def wait_until_ready(self) -> Started:
        """Wait until a token was generated and answers say what they enforce.

        Raises:
            EngineError: SGLang ended, does not answer in time, or is not ours.
            FlagError: it does not take its flags.
        """
        until = time.monotonic() + READY_S
        while not self._answers("/health"):
            if self._process.poll() is not None:
                raise self._failure()
            if time.monotonic() > until:
                raise EngineError(f"SGLang does not answer after {READY_S:g} s\n{self._last_lines()}")
            time.sleep(_POLL_S)
        models = self._get("/v1/models").get("data") or [{}]
        capabilities = models[0].get("factorspec")
        if not isinstance(capabilities, dict):
            raise EngineError(
                "SGLang runs without FactorSpec's plugin: is factorspec installed in its environment, "
                f"and allowed by SGLANG_PLUGINS?\n{self._last_lines()}"
            )
        self._is_ready.set()
        return Started(self._get("/server_info"), capabilities)

    def wait(self) -> int:
        """Wait until the process ends; its exit code."""
        return self._process.wait()

    def stop(self) -> None:
        """End the process and those that it started: politely, then not."""
        if self._process.poll() is None:
            _signal_group(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                self._tell("SGLang does not stop; it is ended")
        _signal_group(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join(5.0)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.append(line.rstrip()[:_KEPT_CHARS])
            if self._is_ready.is_set():
                sys.stderr.write(line)
                continue
            for pattern, phase in _PHASES:
                if found := pattern.search(line):
                    self._tell(f"  {phase.format(*found.groups())} …")

    def _failure(self) -> Exception:
        self._reader.join(5.0)
        return cause_of(list(self._lines), self._process.returncode)

    def _last_lines(self) -> str:
        return last(list(self._lines))

    def _answers(self, path: str) -> bool:
        try:
            with self._open(path) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _get(self, path: str) -> dict[str, Any]:
        try:
            with self._open(path) as answer:
                found = json.load(answer)
        except (OSError, ValueError) as error:
            raise EngineError(f"SGLang's {path} cannot be read: {error}") from error
        return found if isinstance(found, dict) else {}

    def _open(self, path: str) -> Any:
        key = self._options.api_key
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        return urllib.request.urlopen(
            urllib.request.Request(f"{self.root}{path}", headers=headers), timeout=_ANSWER_S
        )


def cuda_devices() -> int:
    """How many CUDA devices the driver sees; 0 without a driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int()
    is_there = driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
    return count.value if is_there else 0


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return


def _end_with_parent(libc: ctypes.CDLL) -> None:
    """In the child: be killed when whoever started it ends, even by SIGKILL (PR_SET_PDEATHSIG).

    Its own children die with it likewise, once they are up; until then ``Guard`` ends them. A polite signal
    would not do: SGLang may wait for requests that it believes to run, without end, and nobody is there any
    more who would end it.
    """
    libc.prctl(1, signal.SIGKILL)
