"""The embedded engine in this process.

The SDK does not depend on the server: this is the one place that looks for it, when it is asked for.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib import import_module
from typing import cast

from factorspec_sdk.client.option_values import Drafting, check_drafting
from factorspec_sdk.client.transport import Transport
from factorspec_sdk.errors import MissingExtra


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions:
    """How an engine in this process runs; see ``Client.local``."""

    dtype: str | None
    device: str | None
    drafting: Drafting
    width: int | None
    progress: bool

    def __post_init__(self) -> None:
        check_drafting(self.drafting, self.width)


def local_engine(model: str, options: LocalOptions) -> Transport:
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
    engine = module.InProcessEngine.load(model, **asdict(options))
    return cast(Transport, engine)
