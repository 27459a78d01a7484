"""The command line's entry: ``factorspec``, ``python -m factorspec_server``. Commands: ``commands/app.py``.

Nothing of the SDK is imported before the command runs: where ``FACTORSPEC_CORE`` has a wrong value it cannot
be imported, and that is told like any other usage error.
"""

from __future__ import annotations

import sys

from factorspec_server.commands.standard_streams import open_closed_streams

_USAGE = 2  # of ``commands/failures.py``, which cannot be imported then


def main() -> None:
    """Entry point of the command ``factorspec``."""
    open_closed_streams()
    try:
        from factorspec_server.commands.app import app
    except Exception as error:
        errors = sys.modules.get("factorspec_sdk.errors")  # is there even where its package is not
        if errors is None or not isinstance(error, errors.EngineError):
            raise
        sys.stderr.write(f"error: {error}\n[{error.code}]\n")
        sys.exit(_USAGE)
    app()


if __name__ == "__main__":
    main()
