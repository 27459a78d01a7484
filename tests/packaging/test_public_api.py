"""The public names are frozen: one that comes or goes is a decision, made here and in the changelog."""

import importlib
import json
from pathlib import Path

import pytest

FROZEN: dict[str, list[str]] = json.loads(
    (Path(__file__).parent / "public_api.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("package", FROZEN)
def test_public_names_are_the_frozen_ones(package: str) -> None:
    module = importlib.import_module(package)
    assert sorted(module.__all__) == FROZEN[package]
    assert len(set(module.__all__)) == len(module.__all__)


@pytest.mark.parametrize("package", FROZEN)
def test_public_names_exist(package: str) -> None:
    module = importlib.import_module(package)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
