"""``import factorspec_sdk`` stays light, and its names are those it lists."""

import subprocess
import sys

import pytest

import factorspec_sdk as fs
from factorspec_sdk import records

HEAVY = (
    "numpy",
    "torch",
    "tokenizers",
    "xgrammar",
    "jsonschema",
    "httpx",
    "openai",
    "transformers",
    "fastapi",
)


def test_heavy_modules_are_not_imported() -> None:
    code = f"import sys, factorspec_sdk; print([m for m in {HEAVY} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout.strip() == "[]"


def test_public_names() -> None:
    lazy = {"Client", "Result"}
    assert set(records.__all__) <= set(fs.__all__)
    for name in set(fs.__all__) - lazy:
        assert getattr(fs, name) is not None
    assert len(set(fs.__all__)) == len(fs.__all__)


def test_unknown_names_raise() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = fs.nothing
