"""One run at a time on a file, where the system has such locks (Windows has none of this kind)."""

from __future__ import annotations

import errno
from io import FileIO


def try_lock(file: FileIO) -> bool:
    """Lock the file for this handle until it is closed, or its process ends; False: another handle has it.

    File systems without locks count as locked: two runs on one file then repeat requests, and spoil nothing.
    """
    try:
        import fcntl
    except ModuleNotFoundError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS):
            raise
    return True
