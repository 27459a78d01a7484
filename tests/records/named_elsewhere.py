"""Helpers of relation methods that stand in another module."""

from typing import Any


def is_missing(value: Any) -> bool:
    return value is None


def is_first(value: Any) -> Any:
    return value == 1
