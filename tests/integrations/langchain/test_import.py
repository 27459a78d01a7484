"""Importing: what is missing is named, and the docstring's quick start runs as it stands."""

import subprocess
import sys
from textwrap import dedent

import pytest

from factorspec_integrations import langchain
from tests.server.http.serving import serving

MOST_LINES = 12

SCRIPT = """
import sys
sys.modules["langchain_core"] = None
import factorspec_integrations.langchain
"""


def test_a_missing_extra_names_the_command() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "MissingExtra" in done.stderr
    assert "pip install 'factorspec[langchain]'" in done.stderr


def test_the_quick_start_is_short_and_runs(capsys: pytest.CaptureFixture[str]) -> None:
    code = dedent((langchain.__doc__ or "").split("::\n")[1])
    assert len([line for line in code.splitlines() if line.strip()]) <= MOST_LINES
    with serving() as server:
        code = code.replace("http://127.0.0.1:8000/v1", server.url)
        exec(compile(code, "quickstart", "exec"), {"__name__": "quickstart"})
    assert capsys.readouterr().out.startswith("lines=[")


def test_the_package_itself_brings_no_framework() -> None:
    code = "import sys, factorspec_integrations; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert {"langchain_core", "openai", "torch", "factorspec_server"}.isdisjoint(done.stdout.split())
