"""``python -m factorspec_server``: the command ``factorspec``."""

from factorspec_server.cli import main

if __name__ == "__main__":
    main()
