"""Reading what the command line names: files, standard input, and models in Python modules."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path

from pydantic import BaseModel

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.records import spec as spec_of
from factorspec_sdk.wire import Spec, parse_document
from factorspec_server.commands.failures import USAGE, CommandError

STDIN = "-"


def read_spec(source: str) -> Spec:
    """The spec that ``source`` names: a JSON file, ``-``, or ``module:Model``.

    Raises:
        CommandError: there is no such file, module or model.
        FactorspecError: the document or the model cannot be read.
    """
    found = read_document(source)
    return parse_document(found) if isinstance(found, str) else spec_of(found)


def read_document(source: str) -> str | type[BaseModel]:
    """The text of the document, or the model, that ``source`` names.

    Raises:
        CommandError: there is no such file, module or model.
    """
    if source != STDIN and ":" in source and not Path(source).exists():
        return _model(source)
    return read_text(source)


def read_text(source: str) -> str:
    """The text of a file, or of standard input for ``-``.

    Raises:
        CommandError: it cannot be read, or is not UTF-8.
    """
    try:
        data = sys.stdin.buffer.read() if source == STDIN else Path(source).read_bytes()
        return data.decode("utf-8")
    except OSError as error:
        raise CommandError(f"cannot read {source!r}: {error.strerror}", USAGE) from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{source!r} is not UTF-8 at byte {error.start}", USAGE) from error


def read_json(source: str) -> JsonValue:
    """The JSON value of a file, or of standard input for ``-``.

    Raises:
        CommandError: it cannot be read, or is no JSON.
    """
    try:
        value: JsonValue = json.loads(read_text(source))
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{source!r} is not JSON: {error}", USAGE) from error
    return value


def _model(source: str) -> type[BaseModel]:
    """The Pydantic model ``module:Name``; modules of the current directory are found."""
    module_name, _, name = source.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise CommandError(f"no file and no module {module_name!r}: {error}", USAGE) from error
    found: object = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not (isinstance(found, type) and issubclass(found, BaseModel)):
        raise CommandError(f"module {module_name!r} has no Pydantic model {name!r}", USAGE)
    return found
