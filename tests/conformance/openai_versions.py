"""The tests of ``openai_package`` in the oldest release of ``openai`` that is supported.

::

    python -m tests.conformance.openai_versions [--where-possible] [--release 2.6.1]

The servers run here; the tests run in an environment of their own under ``build/``, made once, which has
``openai`` and pytest but neither torch nor FactorSpec. Where packages cannot be fetched, ``--where-possible``
says so and is content.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from tests.conformance.openai_package.conftest import own_server
from tests.conformance.openai_package.target import PREFIX, Target

ROOT = Path(__file__).resolve().parents[2]
SUITE = "tests/conformance/openai_package"
#: the release that SGLang 0.5.16 pins
OLDEST = "2.6.1"
_FETCH_S, _TESTS_S = 300.0, 600.0
_MODELS = {"scripted": (), "smollm2": ("-m", "real")}


def main() -> int:
    """Run the tests against each model; the exit code is pytest's."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--release", default=OLDEST, help="of openai")
    parser.add_argument("--where-possible", action="store_true", help="packages out of reach are no error")
    options = parser.parse_args()
    folder = ROOT / "build" / f"openai-{options.release}"
    reason = made(folder, options.release)
    if reason is not None:
        print(f"skipped: openai {options.release} cannot be installed here: {reason}")
        return 0 if options.where_possible else 1
    for model, selected in _MODELS.items():
        print(f"openai {options.release} against {model}", flush=True)
        with own_server(model) as target:
            if code := run(folder, target, selected):
                return code
    return 0


def made(folder: Path, release: str) -> str | None:
    """Make the environment, if it is not there yet; returns why it cannot be, None if it is there."""
    stamp = folder / "complete"
    if stamp.exists():
        return None
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    wanted = [f"openai=={release}", "pytest>=8.4,<10", "pytest-timeout>=2.3,<3"]
    command = [python_of(folder), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *wanted]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_FETCH_S)
    except subprocess.TimeoutExpired:
        return f"nothing came within {_FETCH_S:g} s"
    if done.returncode:
        return done.stderr.strip().rpartition("\n")[2] or f"pip ended with {done.returncode}"
    stamp.touch()
    return None


def run(folder: Path, target: Target, selected: tuple[str, ...]) -> int:
    """Run the tests in the environment against a server; returns pytest's exit code."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {f"{PREFIX}URL": target.url, f"{PREFIX}KEY": target.key or ""}
    pytest = [python_of(folder), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", f"{SUITE}/alone.ini"]
    return subprocess.run([*pytest, SUITE, *selected], cwd=ROOT, env=environment, timeout=_TESTS_S).returncode


def python_of(folder: Path) -> str:
    """The interpreter of an environment."""
    return str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")


if __name__ == "__main__":
    sys.exit(main())
