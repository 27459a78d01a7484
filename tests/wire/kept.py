"""The documents that are kept for ever: each was valid in the version it names and stays so."""

from __future__ import annotations

import json
from pathlib import Path

from factorspec_sdk.errors import JsonValue

FOLDER = Path(__file__).parent / "documents"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


def kept(name: str) -> dict[str, JsonValue]:
    """A fresh copy of a kept document."""
    loaded = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded
