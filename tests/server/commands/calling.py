"""A spec, a record of it, and the commands: in this process, and as a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from factorspec_server.commands.app import app

ROOT = Path(__file__).resolve().parents[3]

ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "low": {"type": "integer", "minimum": 0, "maximum": 500},
        "high": {"type": "integer", "minimum": 0, "maximum": 500},
        "city": {"enum": ["Oslo", "Rome", "Ro", 'Kö"ln', None]},
        "stops": {"type": "array", "items": {"enum": ["x", "y", "z"]}, "minItems": 1, "maxItems": 3},
        "note": {"type": "string", "minLength": 1, "maxLength": 20},
        "weight": {"type": "number"},
    },
    "required": ["low", "high", "city", "stops", "note", "weight"],
    "additionalProperties": False,
    "x-factorspec": {
        "version": 1,
        "relations": [
            {"name": "once", "kind": "all_different", "over": ["$.stops[*]"], "why": "no stop twice"},
            {"name": "rising", "kind": "ordered", "over": ["$.low", "$.high"], "op": "lt"},
            {
                "name": "short",
                "kind": "intension",
                "enforce": False,
                "expr": {"op": "lt", "args": [{"ref": "$.high"}, {"const": 100}]},
            },
        ],
    },
}
RECORD = {"low": 1, "high": 2, "city": "Oslo", "stops": ["x", "y"], "note": "fine", "weight": 1.5}
TEXT = json.dumps(RECORD)


def written(folder: Path, name: str, value: Any) -> str:
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return str(path)


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, arguments, input=stdin)


def lines(result: Result) -> list[str]:
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def process(*arguments: str) -> subprocess.Popen[str]:
    search = os.pathsep.join([str(ROOT), str(ROOT / "server")])
    return subprocess.Popen(
        [sys.executable, "-c", "from factorspec_server.cli import main; main()", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": search},
    )
