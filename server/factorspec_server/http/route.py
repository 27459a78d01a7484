"""Which of the app's paths a request asks for."""

from __future__ import annotations

from starlette.types import Scope


def route_of(scope: Scope) -> str:
    """The path without what a proxy has put before it (``--fastapi-root-path``, ``--root-path``)."""
    path, before = str(scope["path"]), str(scope.get("root_path", "")).rstrip("/")
    return path.removeprefix(before) if path.startswith(f"{before}/") else path
