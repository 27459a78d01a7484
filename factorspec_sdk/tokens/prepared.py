"""What loading a tokenizer works out of its definition, and files in which that is kept for the next start.

A file is one entry, read and written whole::

    factorspec prepared vocabulary 1      what this is, and the version of the layout
    <SHA-256 of all that follows, hex>
    <head>                                one line of JSON: key, hash, outline, sizes
    <lengths><bytes><order>               int32 little-endian, bytes, int32 little-endian

An entry's name is the hash of the tokenizer's definition, of the versions of FactorSpec and ``tokenizers``
and of this package's code, so a new version never reads what an older one wrote. Files are data only, and
written beside their place and moved there: a reader never sees half of one, and of two writers the last one
stays. What is damaged, was written for something else, or could have been written by another user is told by
a ``RuntimeWarning``, ignored and made again.

XGrammar's tokenizer info is not kept: making it takes less time than reading it (50 against 90 ms for
150,000 tokens).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from stat import S_ISREG
from typing import Any

import numpy as np

_MAGIC = b"factorspec prepared vocabulary 1\n"
_SUFFIX = ".vocabulary"
_MAX_ENTRY_BYTES = 1 << 26
_MAX_BYTES = 1 << 28
_MAX_ENTRIES = 64
_STALE_S = 3600.0
_INT = np.dtype("<i4")


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """What a tokenizer's definition comes to; it has passed the checks of its time.

    Attributes:
        hash: SHA-256 (hex) of the definition.
        outline: the definition without the model's vocabulary; its merges are counted only.
        table: the bytes of each id.
        order: the ids that may be part of text, in the order of their bytes; None: not sorted yet.
    """

    hash: str
    outline: Mapping[str, Any]
    table: Sequence[bytes]
    order: Sequence[int] | None = None

    @property
    def definition(self) -> dict[str, Any]:
        """The definition as ``Definition.read`` takes it."""
        model = dict(self.outline["model"])
        model["merges"] = range(model["merges"])
        return {**self.outline, "model": model}


def outline_of(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The outline of a definition."""
    model = {key: value for key, value in raw["model"].items() if key != "vocab"}
    return {**raw, "model": {**model, "merges": len(model.get("merges") or ())}}


class PreparedFiles:
    """Entries in one directory; those used least lately are removed beyond the bounds.

    Safe for many threads and processes. Never fails a caller: what cannot be read or written is warned of.
    """

    def __init__(
        self, directory: Path, *, max_bytes: int = _MAX_BYTES, max_entries: int = _MAX_ENTRIES
    ) -> None:
        """Makes nothing yet. ``max_bytes``, ``max_entries``: of all files together."""
        self._directory = directory
        self._max_bytes = max_bytes
        self._max_entries = max_entries

    def entry(self, source: bytes) -> PreparedEntry:
        """The entry of a definition; ``source``: any bytes that stand for it alone."""
        return PreparedEntry(self, hashlib.sha256(_stamp() + source).hexdigest())

    def read(self, key: str) -> Prepared | None:
        """The entry, or None if there is no sound one."""
        path = self._path(key)
        try:
            data = _bytes_of(path)
            found = None if data is None else _decoded(data, key)
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            self._warn(f"{str(path)!r} is not used and made again: {error}")
            return None
        if found is not None:
            # Entries are removed by when they were last used; where all is read-only none is removed.
            with contextlib.suppress(OSError):
                os.utime(path)
        return found

    def write(self, key: str, prepared: Prepared) -> None:
        """Keep an entry."""
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_whole(self._path(key), _encoded(prepared, key))
            self._clean(keep=self._path(key))
        except (OSError, ValueError) as error:  # ValueError: no name that a file can have
            self._warn(f"cannot keep what was prepared: {error}")

    def _path(self, key: str) -> Path:
        return self._directory / f"{key[:40]}{_SUFFIX}"

    def _warn(self, message: str) -> None:
        warnings.warn(f"vocabulary cache: {message}", RuntimeWarning, stacklevel=4)

    def _clean(self, keep: Path) -> None:
        """Remove what is beyond the bounds, and what was left half-written long ago."""
        for path in self._directory.glob("*.tmp"):
            if (stat := _stat(path)) and time.time() - stat.st_mtime > _STALE_S:
                path.unlink(missing_ok=True)
        found = [(path, stat) for path in self._directory.glob(f"*{_SUFFIX}") if (stat := _stat(path))]
        newest = sorted(found, key=lambda entry: (entry[0] != keep, -entry[1].st_mtime))
        size = 0
        for number, (path, stat) in enumerate(newest):
            size += stat.st_size
            if path != keep and (number >= self._max_entries or size > self._max_bytes):
                path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class PreparedEntry:
    """The entry of one definition, whether it is there or not."""

    files: PreparedFiles
    key: str

    def read(self) -> Prepared | None:
        """See ``PreparedFiles.read``."""
        return self.files.read(self.key)

    def write(self, prepared: Prepared) -> None:
        """See ``PreparedFiles.write``."""
        self.files.write(self.key, prepared)


@cache
def _stamp() -> bytes:
    """What an entry depends on beside the definition."""
    import tokenizers

    try:
        own = version("factorspec")
    except PackageNotFoundError:
        own = "0+unknown"
    code = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        code.update(path.read_bytes())
    return json.dumps([own, tokenizers.__version__, code.hexdigest()]).encode() + b"\n"


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None  # another process removed it


def _bytes_of(path: Path) -> bytes | None:
    """The bytes of a file of our own, or None if there is none.

    Raises:
        ValueError: it is no file, others may have written it, or it is too large.
    """
    try:
        with open(path, "rb", opener=_opened) as file:
            stat = os.fstat(file.fileno())
            if not S_ISREG(stat.st_mode):
                raise ValueError("no ordinary file")
            if stat.st_size > _MAX_ENTRY_BYTES:
                raise ValueError(f"larger than {_MAX_ENTRY_BYTES} bytes")
            if hasattr(os, "geteuid") and (stat.st_uid not in (0, os.geteuid()) or stat.st_mode & 0o022):
                raise ValueError("other users may have written it")
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _opened(path: str, flags: int) -> int:
    """Open a file; a pipe in its place is not waited for."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _write_whole(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _encoded(prepared: Prepared, key: str) -> bytes:
    lengths = np.array([len(data) for data in prepared.table], dtype=_INT)
    order = np.array(prepared.order or (), dtype=_INT)
    sizes = [len(lengths), int(lengths.sum()), len(order)]
    head = {"key": key, "hash": prepared.hash, "outline": prepared.outline, "sizes": sizes}
    parts = (json.dumps(head).encode(), b"\n", lengths.tobytes(), *prepared.table, order.tobytes())
    body = b"".join(parts)
    return b"".join((_MAGIC, hashlib.sha256(body).hexdigest().encode(), b"\n", body))


def _decoded(data: bytes, key: str) -> Prepared:
    """The entry that a file holds. Raises ValueError, KeyError or TypeError if it holds none."""
    if not data.startswith(_MAGIC):
        raise ValueError("of another kind or version")
    start = len(_MAGIC) + 65
    if data[len(_MAGIC) : start] != hashlib.sha256(data[start:]).hexdigest().encode() + b"\n":
        raise ValueError("damaged: its checksum is wrong")
    end = data.index(b"\n", start)
    head = json.loads(data[start:end])
    if head["key"] != key:
        raise ValueError("made for another tokenizer or version")
    num_ids, num_bytes, num_ordered = head["sizes"]
    if len(data) != end + 1 + 4 * num_ids + num_bytes + 4 * num_ordered:
        raise ValueError("of a wrong size")
    lengths = np.frombuffer(data, _INT, num_ids, end + 1)
    order = np.frombuffer(data, _INT, num_ordered, len(data) - 4 * num_ordered)
    if num_ids and (lengths.min() < 0 or int(lengths.sum()) != num_bytes):
        raise ValueError("lengths do not add up")
    if num_ordered and (order.min() < 0 or order.max() >= num_ids):
        raise ValueError("an id is out of range")
    table, at = [], end + 1 + 4 * num_ids
    for length in lengths.tolist():
        table.append(data[at : at + length])
        at += length
    return Prepared(head["hash"], head["outline"], table, order.tolist())
