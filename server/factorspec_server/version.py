"""The version of the installed distribution."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def distribution_version() -> str:
    """Version of the distribution ``factorspec``; "0+unknown" where the source runs uninstalled."""
    try:
        return version("factorspec")
    except PackageNotFoundError:
        return "0+unknown"
