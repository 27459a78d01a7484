"""The nursery: a process that makes the vocabulary's tables once and forks workers that share them.

It is started anew (no fork of the engine, which may hold a device) and stays single-threaded, so that forking
is sound. The engine asks for a worker by a message of its number, and with it come the two sockets over which
the worker talks with the engine; the nursery keeps neither.

    python -m factorspec_server.constraint_service.nursery CONTROL SETUP MEMORY PARENT WAITED

``CONTROL``, ``SETUP``, ``MEMORY``: files that are open. ``PARENT``: process with which all this ends.
``WAITED``: 1 if records wait for its workers, those of a dead nursery: nothing is made beforehand then.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from typing import Any

from factorspec_sdk.tokens import Canonical, Vocabulary
from factorspec_server.constraint_service.failures import failure_json
from factorspec_server.constraint_service.memory import Layout, Memory
from factorspec_server.constraint_service.messages import packed
from factorspec_server.constraint_service.options import VocabularySource
from factorspec_server.constraint_service.warm_up import warm_up
from factorspec_server.constraint_service.worker import Worker, WorkerSetup
from factorspec_server.engines.chat_vocabulary import answer_vocabulary
from factorspec_server.engines.errors import failure_of
from factorspec_server.housekeeping import Housekeeping
from factorspec_server.settings import Budgets

_SET_DEATH_SIGNAL = 1
_READ_BYTES = 1 << 20
NUMBER_BYTES = 4


def main(arguments: Sequence[str]) -> None:
    """Serve until the engine closes its socket, or dies."""
    control_fd, setup_fd, memory_fd, parent, is_waited_for = map(int, arguments)
    die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal, for the engine
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # workers are nobody's to wait for
    control = socket.socket(fileno=control_fd)
    setup = json.loads(_content(setup_fd))
    memory = Memory(Layout(**setup["layout"]), memory_fd)
    try:
        canonical = tables(setup["vocabulary"])
    except Exception as error:  # noqa: BLE001 - the engine tells whoever opens a record
        control.sendall(packed({"error": failure_json(failure_of(error))}))
        control.recv(1)
        return
    if not is_waited_for:
        warm_up(canonical)
    Housekeeping()
    control.sendall(packed({"ready": os.getpid()}))
    budgets = Budgets(**setup["budgets"])
    own = os.getpid()
    while True:
        asked = _next_worker(control)
        if asked is None:
            return
        number, step, messages = asked
        if os.fork() == 0:
            control.close()
            _become_worker(WorkerSetup(number, canonical, memory, step, messages, budgets), parent=own)
        step.close()
        messages.close()


def tables(fields: dict[str, Any]) -> Canonical:
    """The tables of a vocabulary; ``fields``: of its ``VocabularySource``.

    Raises:
        EngineError: the tokenizer is of a kind whose tokens cannot be predicted exactly.
    """
    from tokenizers import Tokenizer

    end_ids, answer_ids = tuple(fields.pop("end_ids")), fields.pop("answer_ids")
    source = VocabularySource(
        end_ids=end_ids, answer_ids=None if answer_ids is None else tuple(answer_ids), **fields
    )
    tokenizer = Tokenizer.from_str(source.definition)

    def make(leading_mark: bool | None) -> Vocabulary:
        return Vocabulary.from_tokenizer(
            tokenizer,
            source.logit_width,
            source.end_ids,
            name=source.name,
            leading_mark=leading_mark,
            cache=source.cache,
        )

    return Canonical(answer_vocabulary(make, lambda: source.answer_ids))


def die_with(parent: int) -> None:
    """Be killed when the process ``parent``, that started this one, ends; at once if it has."""
    if ctypes.CDLL(None, use_errno=True).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    if os.getppid() != parent:
        os._exit(0)


def _become_worker(setup: WorkerSetup, parent: int) -> None:
    try:
        die_with(parent)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        Worker(setup).run()
    finally:
        os._exit(1)


def _next_worker(control: socket.socket) -> tuple[int, socket.socket, socket.socket] | None:
    """The number of a worker that the engine asks for, and its sockets; None if the engine is gone."""
    data, fds, _, _ = socket.recv_fds(control, NUMBER_BYTES, 2)
    if len(data) != NUMBER_BYTES or len(fds) != 2:
        return None
    return int.from_bytes(data, "little"), socket.socket(fileno=fds[0]), socket.socket(fileno=fds[1])


def _content(fd: int) -> bytes:
    parts, at = [], 0
    while part := os.pread(fd, _READ_BYTES, at):
        parts.append(part)
        at += len(part)
    return b"".join(parts)


if __name__ == "__main__":
    main(sys.argv[1:])
