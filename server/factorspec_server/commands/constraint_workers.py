"""Constraint workers of the embedded engine: how many, and the service that they make."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from factorspec_sdk.errors import EngineError
from factorspec_server.commands.failures import USAGE, CommandError
from factorspec_server.constraint_service import (
    ConstraintService,
    ServiceOptions,
    VocabularySource,
)
from factorspec_server.constraint_service.embedded import EmbeddedService
from factorspec_server.engines.threads import usable_cores
from factorspec_server.http.served_model import ServedModel
from factorspec_server.settings import DraftingName
from factorspec_server.sglang.service_settings import WORKERS_VARIABLE, ServiceSettings, can_serve

if TYPE_CHECKING:
    from factorspec_server.engines.torch_model import TorchModel

#: below so many cores workers only take from the model what it has
_LEAST_CORES = 4
#: with so many, two are of use
_MANY_CORES = 8
#: places for records, for each request that runs or waits: answered ones hold theirs until they are sent
_PLACES = 4
_LEAST_PLACES = 512
#: longest wait for the first worker, in seconds: the vocabulary's tables are made
_START_S = 120.0


def num_workers(wanted: int | None, environment: Mapping[str, str], cores: int) -> int:
    """How many workers there are to be.

    Args:
        wanted: on the command line; None: not said.
        environment: where ``FACTORSPEC_WORKERS`` may say it.
        cores: that this process may use.

    Raises:
        CommandError: workers are wanted that this system cannot have, or the variable holds no number.
    """
    if wanted is None and environment.get(WORKERS_VARIABLE):
        try:
            wanted = ServiceSettings.read(environment, "cpu").workers
        except ValueError as error:
            raise CommandError(str(error), USAGE) from error
    if wanted and not can_serve():
        raise CommandError("constraint workers need Linux: leave --workers out, or say --workers 0", USAGE)
    if wanted is not None:
        return wanted
    if not can_serve() or cores < _LEAST_CORES:
        return 0
    return 2 if cores >= _MANY_CORES else 1


def start_workers(
    workers: int, served: ServedModel, model: TorchModel, drafting: tuple[DraftingName, int | None]
) -> EmbeddedService:
    """The service of one engine, once a worker serves.

    Args:
        workers: at least 1.
        served: the engine, its steps measured: workers would disturb that.
        model: what it runs.
        drafting: name and width.

    Raises:
        EngineError: the tokenizer cannot be handed to other processes, or no worker starts.
    """
    engine = served.engine
    places = _PLACES * (engine.max_batch + engine.max_waiting)
    options = ServiceOptions(workers=workers, records=max(_LEAST_PLACES, places))
    source = VocabularySource.of_chat(model.chat, model.logit_width, name=model.name)
    service = ConstraintService(source, options)
    try:
        service.draft(served.drafting_spec(*drafting))
        service.await_workers(_START_S)
    except BaseException:
        service.close()
        raise
    return EmbeddedService(service)


def started(
    wanted: int | None,
    served: ServedModel,
    model: TorchModel,
    drafting: tuple[DraftingName, int | None],
    tell: Callable[[str], None],
) -> EmbeddedService | None:
    """The service, or None where records stay in this process; says which.

    Raises:
        CommandError: see ``num_workers``.
        EngineError: see ``start_workers``; of workers that nobody asked for it is told alone.
    """
    is_asked = wanted is not None or bool(os.environ.get(WORKERS_VARIABLE))
    workers = num_workers(wanted, os.environ, usable_cores())
    if not workers:
        tell("records are kept by this process (--workers 1 gives them one of their own)")
        return None
    try:
        service = start_workers(workers, served, model, drafting)
    except EngineError as error:
        if is_asked:
            raise
        tell(f"records are kept by this process: {error}")
        return None
    tell(
        f"constraint workers {workers}: they compile and keep records without tools, refusals, canonical text"
    )
    return service
