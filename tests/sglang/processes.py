"""Which processes belong to a server, and the memory that they share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_NURSERY = "factorspec_server.constraint_service.nursery"


def processes() -> Iterator[Path]:
    """All of this machine that can be seen."""
    return (entry for entry in _PROC.iterdir() if entry.name.isdigit())


def marked(mark: str) -> list[Path]:
    """Those with a text in their environment."""
    return [entry for entry in processes() if mark.encode() in _read(entry / "environ")]


def constraint_workers(mark: str) -> list[int]:
    """Processes that keep records: children of those that make them, whose command they have."""
    made = {int(entry.name): _parent(entry) for entry in marked(mark) if _NURSERY in command_of(entry)}
    return [process for process, parent in made.items() if parent in made]


def nurseries(mark: str) -> list[int]:
    """Processes that make those that keep records."""
    made = {int(entry.name): _parent(entry) for entry in marked(mark) if _NURSERY in command_of(entry)}
    return [process for process, parent in made.items() if parent not in made]


def command_of(process: Path) -> str:
    """Its command line; empty if it is gone."""
    return _read(process / "cmdline").replace(bytes(1), b" ").decode(errors="replace")


def nameless_memory(process: Path) -> set[tuple[int, int]]:
    """Device and number of each block of memory without a name (``memfd_create``) that a process has open."""
    found = set()
    try:
        for file in (process / "fd").iterdir():
            if str(file.readlink()).startswith("/memfd:"):
                status = file.stat()
                found.add((status.st_dev, status.st_ino))
    except OSError:
        pass  # it is gone, or not ours
    return found


def _parent(process: Path) -> int | None:
    fields = _read(process / "stat").rpartition(b")")[2].split()
    return int(fields[1]) if len(fields) > 1 else None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
