"""Where converted models (``models``) and prepared vocabularies (``vocabularies``) are kept."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """``$FACTORSPEC_CACHE``, else ``$XDG_CACHE_HOME/factorspec``, else ``~/.cache/factorspec``."""
    own = os.environ.get("FACTORSPEC_CACHE")
    if own:
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME")
    base = Path(shared) if shared else Path.home() / ".cache"
    return base / "factorspec"
