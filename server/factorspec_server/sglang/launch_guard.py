"""A process that ends SGLang's where we end without doing so: killed, or for want of memory.

SGLang's main process dies with us (``PR_SET_PDEATHSIG``), but those that it starts ask for the same only once
they have read its modules: in the first half minute of a start they would stay, with all their memory. So a
shell waits, in a session of its own, until our end of a pipe is closed, by whatever ends us, and kills the
group.
"""

from __future__ import annotations

import subprocess

_WAITS = 'read -r _; kill -9 "-$1"'


class Guard:
    """Of one process group, until it is dismissed."""

    def __init__(self, group: int) -> None:
        """``group``: the id of its first process, that leads a session."""
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _WAITS, "factorspec-guard", str(group)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """The group has ended, or is about to be ended: its id may be another's soon."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
