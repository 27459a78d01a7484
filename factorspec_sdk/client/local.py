"""The embedded engine in this process.

The SDK does not depend on the server: this is the one place that looks for it, when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from factorspec_sdk.client.transport import Transport
from factorspec_sdk.errors import MissingExtra


def local_engine(model: str, *, dtype: str | None, device: str | None, progress: bool) -> Transport:
    """Load a model and start its engine. Takes seconds; the first time the default model is converted.

    Raises:
        MissingExtra: the engine is not installed.
        ModelNotFound: there is no such model.
    """
    try:
        module = import_module("factorspec_server.http.in_process")
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"the embedded engine needs {error.name!r}; run: pip install 'factorspec[engine]'"
        ) from error
    engine = module.InProcessEngine.load(model, dtype=dtype, device=device, progress=progress)
    return cast(Transport, engine)
