"""``serve``: the embedded engine behind HTTP, from an empty machine to ready."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass

import uvicorn

from factorspec_server.commands.access import BACKLOG, allowed_hosts, check_access, check_cache, listening
from factorspec_server.commands.constraint_workers import num_workers, started
from factorspec_server.commands.failures import USAGE, CommandError
from factorspec_server.drafting import DEFAULT_WIDTH
from factorspec_server.engines import load_model
from factorspec_server.engines.load import DtypeName
from factorspec_server.engines.threads import usable_cores
from factorspec_server.housekeeping import Housekeeping
from factorspec_server.http.app import create_app
from factorspec_server.http.served_model import ServedModel
from factorspec_server.settings import (
    GUESSING_NOTHING,
    DraftingName,
    ServerSettings,
)
from factorspec_server.version import distribution_version

_GRACE_S = 35


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """What the command line says."""

    model: str
    host: str
    port: int
    api_key: str | None
    insecure: bool
    dtype: DtypeName | None
    device: str | None
    max_batch: int
    drafting: DraftingName
    width: int | None
    earlier: bool = True
    prefix_bytes: int
    workers: int | None = None


def serve(options: ServeOptions, tell: Callable[[str], None]) -> None:
    """Load the model and serve until interrupted.

    Args:
        options: what the command line says.
        tell: shows one line to people.

    Raises:
        CommandError: others could reach the server without a key, there is a width for what guesses nothing,
            the port is taken, workers are wanted that this system cannot have, or the environment is wrong.
        FactorspecError: the model cannot be loaded, or no constraint worker starts.
    """
    check_access(options.host, options.api_key, insecure=options.insecure)
    check_cache()
    _check_width(options)
    num_workers(options.workers, os.environ, usable_cores())  # what is wrong with it is said before loading
    # first of all: loading takes a while, and a taken port should not be found out after it
    with listening(options.host, options.port) as listener:
        tell(f"FactorSpec {distribution_version()}: loading {options.model} …")
        model = load_model(options.model, dtype=options.dtype, device=options.device)
        served = ServedModel.of(
            model,
            max_batch=options.max_batch,
            prefix_bytes=options.prefix_bytes,
            aliases=_aliases(options.model),
            drafting=options.drafting,
            width=options.width,
            earlier=options.earlier,
        )
        tell(_drafting(options, served))
        service = started(options.workers, served, model, (options.drafting, options.width), tell)
        app = create_app(served, _settings(options), Housekeeping(), service)
        config = uvicorn.Config(
            app,
            log_level="warning",
            timeout_graceful_shutdown=_GRACE_S,
            server_header=False,
            backlog=BACKLOG,
        )
        port = listener.getsockname()[1]
        host = f"[{options.host}]" if ":" in options.host else options.host
        ready = f"ready: {served.name} at http://{host}:{port}/v1 ({_facts(model)}); stop with Ctrl-C"
        try:
            _Server(config, lambda: tell(ready)).run(sockets=[listener])
        finally:
            if service is not None:
                service.close()


class _Server(uvicorn.Server):
    """Says when it takes requests."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell."""
        await super().startup(sockets=sockets)
        if self.started:
            self._ready()


def _check_width(options: ServeOptions) -> None:
    if options.width is not None and options.drafting in GUESSING_NOTHING:
        raise CommandError(
            f"--drafting {options.drafting} guesses nothing: leave out --width, or choose another --drafting",
            USAGE,
        )


def _settings(options: ServeOptions) -> ServerSettings:
    return ServerSettings(
        api_key=options.api_key,
        allowed_hosts=allowed_hosts(options.host, options.api_key),
        drafting=options.drafting,
        width=options.width,
    )


def _aliases(name: str) -> tuple[str, ...]:
    return (name,) if "/" not in name else ()


def _drafting(options: ServeOptions, served: ServedModel) -> str:
    """What is drafted, how wide, and why."""
    if options.drafting in GUESSING_NOTHING:
        return f"drafting: {options.drafting}"
    kind = "" if served.engine.model.takes_trees else ", as chains"
    if served.costs is None:
        return f"drafting: {options.drafting}, at most {_tokens(options.width or DEFAULT_WIDTH)}{kind}"
    points = served.costs.points
    times = ", ".join(f"{seconds * 1e3:.3g} ms for {num_tokens}" for num_tokens, seconds in points)
    times = f"(a step takes {times} {'tokens' if served.costs.largest > 1 else 'token'})"
    if not served.is_too_slow:
        return f"drafting: {options.drafting}, width by what a step costs{kind} {times}"
    if options.drafting == "auto":
        return f"drafting: auto, what is certain alone: too slow to measure what more tokens cost {times}"
    return f"drafting: {options.drafting}, at most {_tokens(DEFAULT_WIDTH)}{kind}, not measured {times}"


def _tokens(count: int) -> str:
    return f"{count} {'token' if count == 1 else 'tokens'}"


def _facts(model: object) -> str:
    """Device and number format of a loaded model."""
    return f"{getattr(model, 'device', '?')}, {str(getattr(model, 'dtype', '?')).removeprefix('torch.')}"
