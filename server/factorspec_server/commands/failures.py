"""Errors on the command line: one block on standard error and an exit code, never a traceback.

====  =====================================================================================
code  meaning
====  =====================================================================================
0     done; for ``check`` and ``explain``: the record is valid, the value allowed
1     for ``check`` and ``explain``: not so; for ``next``: the text is no beginning of a valid record
2     usage, an unreadable file, or a document or declaration that is not well formed or not supported
3     no record can satisfy the spec, or proving that one can exceeds the budget
4     engine: model, missing extra, port in use
5     a defect of this program
====  =====================================================================================
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from factorspec_sdk.errors import EngineError, FactorspecError, InfeasibleError

INVALID = 1
USAGE = 2
INFEASIBLE = 3
ENGINE = 4
DEFECT = 5
INTERRUPTED = 130

_logger = logging.getLogger(__name__)


class CommandError(Exception):
    """A command cannot go on.

    Attributes:
        exit_code: see above.
    """

    def __init__(self, message: str, exit_code: int) -> None:
        self.exit_code = exit_code
        super().__init__(message)


@contextmanager
def failures_told() -> Iterator[None]:
    """Tell errors of the block on standard error and leave with the right exit code."""
    try:
        yield
    except FactorspecError as error:
        raise _exit(f"{error}\n[{error.code}]", exit_code_of(error)) from error
    except CommandError as error:
        raise _exit(str(error), error.exit_code) from error
    except BrokenPipeError:
        # the reader has had enough; nothing more can be written, not even at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except (typer.Exit, typer.Abort):
        raise
    except MemoryError as error:
        raise _exit("there is not enough memory for this: raise the limit (`ulimit -v`)", ENGINE) from error
    except Exception as error:
        _logger.debug("a command failed", exc_info=error)
        text = f"{type(error).__name__}: {error}\nThis is a defect of factorspec; please report it."
        raise _exit(f"{text} `factorspec --debug …` shows where.", DEFECT) from error


def exit_code_of(error: FactorspecError) -> int:
    """The exit code that stands for an error."""
    if isinstance(error, InfeasibleError):
        return INFEASIBLE
    return ENGINE if isinstance(error, EngineError) else USAGE


def _exit(text: str, code: int) -> typer.Exit:
    typer.echo(f"error: {text}", err=True)
    return typer.Exit(code)
