"""An environment of its own for SGLang, which pins what others pin otherwise; kept between runs.

It is made once, in the user's cache: some 9 GB. What is under test goes in anew each time, as the wheel that
people install, into a folder that stands in front of it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from factorspec_server.engines.cache_dir import cache_dir
from factorspec_server.sglang.compat import REFERENCE

ROOT = Path(__file__).resolve().parents[2]

_NEEDED_BYTES = 14 << 30
_NEEDED_MEMORY_BYTES = 5 << 30
# What the plugin needs beside what SGLang brings: as in pyproject.toml.
_BESIDE = ("ortools>=9.15,<9.16", "typer>=0.15,<1", "jsonschema>=4.21,<5")


class NotHere(Exception):
    """SGLang cannot run on this machine; the message says why, in one line."""


def made(folder: Path | None = None, install_s: float = 1500.0, release: str = REFERENCE) -> Path:
    """The interpreter of the environment, made now if it is not there.

    Args:
        folder: an environment that has SGLang already; None: the one in the cache.
        install_s: how long installing may take.
        release: of SGLang, where it is made.

    Raises:
        NotHere: it cannot be made here.
    """
    _check_machine()
    if folder is not None:
        return _python(folder)
    python = f"py{sys.version_info[0]}{sys.version_info[1]}"
    folder = cache_dir() / "environments" / f"sglang-{release}-{python}"
    stamp = folder / "complete"
    if not stamp.exists():
        shutil.rmtree(folder, ignore_errors=True)
        _check_room(folder)
        print(f"installing sglang {release} into {folder} (9 GB) …", flush=True)
        _install(folder, install_s, release)
        stamp.touch()
    return _python(folder)


def wheel_folder(parent: Path) -> Path:
    """A folder with this version as it is installed from its wheel, entry points included."""
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(parent), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, timeout=300)
    (wheel,) = parent.glob("*.whl")
    target = parent / "installed"
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        str(target),
        str(wheel),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return target


def sources_folder(python: Path) -> Path:
    """Where an environment has its packages."""
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    return Path(done.stdout.strip())


def _check_machine() -> None:
    if not sys.platform.startswith("linux"):
        raise NotHere("SGLang runs on Linux alone")
    free = _available_memory()
    if free < _NEEDED_MEMORY_BYTES:
        raise NotHere(f"{free >> 30} GiB of memory are free, {_NEEDED_MEMORY_BYTES >> 30} are needed")


def _check_room(folder: Path) -> None:
    place = next(parent for parent in folder.parents if parent.exists())
    free = shutil.disk_usage(place).free
    if free < _NEEDED_BYTES:
        raise NotHere(f"{free >> 30} GiB of disk are free at {place}, {_NEEDED_BYTES >> 30} are needed")


def _available_memory() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") + _cached_memory()


def _cached_memory() -> int:
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Cached:"))


def _install(folder: Path, install_s: float, release: str) -> None:
    try:
        venv.create(folder, with_pip=True)
        command = [str(_python(folder)), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        wanted = [f"sglang=={release}", *_BESIDE]
        done = subprocess.run(
            [*command, *wanted], capture_output=True, text=True, timeout=max(1.0, install_s)
        )
    except subprocess.TimeoutExpired as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise NotHere(f"sglang {release} was not installed within {install_s:.0f} s") from error
    except OSError as error:
        raise NotHere(f"no environment can be made: {error}") from error
    if done.returncode:
        reason = done.stderr.strip().rpartition("\n")[2]
        shutil.rmtree(folder, ignore_errors=True)
        reason = reason or f"pip ended with {done.returncode}"
        raise NotHere(f"sglang {release} cannot be installed: {reason}")


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"
