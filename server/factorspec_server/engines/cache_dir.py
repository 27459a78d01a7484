"""Where converted models (``models``) and prepared vocabularies (``vocabularies``) are kept."""

from __future__ import annotations

import os
from pathlib import Path

from factorspec_sdk.errors import EngineError, Problem, shown

VARIABLE = "FACTORSPEC_CACHE"


def cache_dir() -> Path:
    """``$FACTORSPEC_CACHE``, else ``$XDG_CACHE_HOME/factorspec``, else ``~/.cache/factorspec``.

    Raises:
        EngineError: the first names something that is no directory, or the home of nobody.
    """
    own = os.environ.get(VARIABLE)
    if own:
        return _own(own)
    shared = os.environ.get("XDG_CACHE_HOME")
    base = Path(shared) if shared else Path.home() / ".cache"
    return base / "factorspec"


def _own(text: str) -> Path:
    try:
        found = Path(text).expanduser()
        is_wrong = found.exists() and not found.is_dir()
    except (OSError, RuntimeError):  # a name that is too long, a user whom nobody knows
        is_wrong = True
    if is_wrong:
        hint = "name one that is there or can be made, or leave the variable out for ~/.cache/factorspec"
        problem = Problem(VARIABLE, "must be a directory", shown(text), hint)
        raise EngineError("a wrong environment variable", [problem])
    return found
