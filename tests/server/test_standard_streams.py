"""Commands whose standard streams are closed, or that have too little memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from factorspec_server.commands.failures import ENGINE, failures_told

PROBE = """
import os, sys
from factorspec_server.commands.standard_streams import open_closed_streams
open_closed_streams()
for fd in range(3):
    os.fstat(fd)
assert sys.stdin.read() == ""
sys.stdout.isatty()
sys.stderr.write("x")
first = os.open(os.devnull, os.O_RDONLY)
assert first > 2, first
child = "import os, sys; [os.fstat(fd) for fd in range(3)]; sys.exit(7)"
import subprocess
sys.exit(subprocess.run([sys.executable, "-c", child]).returncode)
"""


def closed(redirections: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run Python with streams as a shell makes them."""
    command = f'exec "$@" {redirections}'
    return subprocess.run(
        ["sh", "-c", command, "sh", sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("redirections", ["", ">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_lead_to_the_null_device(redirections: str) -> None:
    done = closed(redirections, "-c", PROBE)
    assert done.returncode == 7, done.stderr


def test_a_command_without_an_output_does_its_work(tmp_path: Path) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text('{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}')
    record = tmp_path / "record.json"
    for text, code in (('{"a": 1}', 0), ("{}", 1)):
        record.write_text(text)
        done = closed("<&- >&-", "-m", "factorspec_server", "check", str(spec), str(record))
        assert (done.returncode, done.stderr) == (code, b"")


def test_too_little_memory_is_no_defect(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, failures_told():
        raise MemoryError
    assert ended.value.exit_code == ENGINE
    assert "not enough memory" in capsys.readouterr().err
