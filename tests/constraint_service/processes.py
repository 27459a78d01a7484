"""The processes of a service, and how tests end them."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from pathlib import Path

from factorspec_sdk.tokens import Vocabulary
from factorspec_server.constraint_service import ConstraintService
from tests.constraint_service.pairs import (
    NOTES,
    Document,
    Pair,
    Pairs,
    RandomTokens,
    write,
)


def children(pid: int) -> list[int]:
    """Processes that another has started."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            found += map(int, (task / "children").read_text().split())
    return found


def nursery_of(service: ConstraintService) -> int:
    """The nursery's process."""
    memory_fd = str(service._memory_fd)
    for pid in children(os.getpid()):
        arguments = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        if len(arguments) > 5 and arguments[2].endswith("nursery") and arguments[5] == memory_fd:
            return pid
    raise AssertionError("there is no nursery")


def worker_of(pair: Pair) -> int:
    """The process that keeps a record."""
    fd = pair.record.place.link._pid_fd
    assert fd is not None
    lines = Path(f"/proc/self/fdinfo/{fd}").read_text().splitlines()
    pid = next(int(line.split()[1]) for line in lines if line.startswith("Pid:"))
    assert pid > 0, "the worker is dead already"
    return pid


def wait_until_gone(pids: list[int]) -> None:
    """Wait for processes to end."""
    for pid in pids:
        with suppress(ProcessLookupError):
            fd = os.pidfd_open(pid)
            try:
                assert select.select((fd,), (), (), 60)[0], f"process {pid} is still there"
            finally:
                os.close(fd)


def kill(pid: int) -> None:
    """Kill a process, and wait until it is gone."""
    assert pid > 1, "that would be many processes"
    fd = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(fd, signal.SIGKILL)
        assert select.select((fd,), (), (), 60)[0], f"process {pid} is still there"
    finally:
        os.close(fd)


def begin(pairs: Pairs, document: Document = NOTES, num_tokens: int = 12, seed: int = 0) -> Pair:
    """A pair with some tokens written."""
    pair, model = pairs.open(document, token_limit=150), RandomTokens(pairs.vocabulary, seed)
    while pair.session.num_tokens < num_tokens:
        plan = pair.session.plan()
        assert pair.commit(plan.tokens or (model.choose(pair.session.allowed()),))
    return pair


def finish(pair: Pair, vocabulary: Vocabulary) -> None:
    write(pair, vocabulary, 3, each_token=True)
    pair.record.close()


def fds() -> int:
    return len(os.listdir("/proc/self/fd"))
