"""``serve --engine sglang``: SGLang with our grammar backend and worker, from flags to ready.

What can be found out without starting it, which takes a minute, is: its version, the model, the device, the
port, the memory, and flags that contradict each other.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from factorspec_sdk.errors import EngineError, ModelNotFound
from factorspec_server.commands.access import allowed_hosts, check_access, check_cache, listening
from factorspec_server.commands.failures import ENGINE, USAGE, CommandError
from factorspec_server.engines.load import DEFAULT_MODEL, DtypeName
from factorspec_server.engines.smollm2 import smollm2_dir
from factorspec_server.settings import DraftingName
from factorspec_server.sglang.compat import check_installed, check_version
from factorspec_server.sglang.launch import Launch, Started, cuda_devices, launched
from factorspec_server.sglang.launch_causes import FlagError
from factorspec_server.sglang.launch_flags import LaunchOptions, model_bytes, sglang_environment
from factorspec_server.sglang.model_folder import check_model_folder
from factorspec_server.sglang.service_settings import ServiceSettings, keeps_records
from factorspec_server.sglang.speculation import EARLIER_VARIABLE, Speculation
from factorspec_server.version import distribution_version

# Beside the weights, on a CPU: three processes with torch, and keys and values.
_PROCESSES_BYTES = 3 << 30
_GIB = 1 << 30
_ENDING = (signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSglangOptions:
    """What the command line says."""

    model: str
    host: str
    port: int
    api_key: str | None
    insecure: bool
    dtype: DtypeName | None
    device: str | None
    max_batch: int | None
    drafting: DraftingName
    earlier: bool = True
    workers: int | None = None
    deadline_s: float | None = None
    passed_on: tuple[str, ...]


def serve_sglang(options: ServeSglangOptions, tell: Callable[[str], None]) -> None:
    """Start SGLang and serve until interrupted.

    Args:
        options: what the command line says.
        tell: shows one line to people.

    Raises:
        CommandError: others could reach the server without a key, the port is taken, SGLang ends, or does not
            take its flags.
        FactorspecError: SGLang is missing, or cannot serve the model here.
    """
    check_installed()
    device = _device(options.device)
    version = check_version(device, tell)
    check_access(options.host, options.api_key, insecure=options.insecure)
    check_cache()
    with closing(listening(options.host, options.port)) as listener:
        port = cast(int, listener.getsockname()[1])
    launch_options = _launch_options(options, device, port)
    settings = _service_settings(launch_options)
    tell(f"FactorSpec {distribution_version()}: SGLang {version} loads {options.model} on {device} …")
    with _ended_by_signals(), launched(launch_options, tell) as launch:
        _serve(launch, launch_options, tell, settings)


def _serve(
    launch: Launch, options: LaunchOptions, tell: Callable[[str], None], settings: ServiceSettings
) -> None:
    try:
        started = launch.wait_until_ready()
    except FlagError as error:
        raise CommandError(str(error), USAGE) from error
    for line in (*_chosen(started), _keepers(started, settings)):
        tell(f"  {line}")
    tell(f"ready: {options.served_name} at {launch.root}/v1 ({options.device}); stop with Ctrl-C")
    if code := launch.wait():
        raise CommandError(f"SGLang ended with {code}; what it said last stands above", ENGINE)


def _launch_options(options: ServeSglangOptions, device: Literal["cpu", "cuda"], port: int) -> LaunchOptions:
    model, name = _model(options.model, options.passed_on)
    _check_settings({**os.environ, EARLIER_VARIABLE: ""})  # read as an option, which takes more words
    _check_memory(model, device)
    return LaunchOptions(
        model=model,
        served_name=name,
        host=options.host,
        port=port,
        api_key=options.api_key,
        allowed_hosts=allowed_hosts(options.host, options.api_key),
        dtype=options.dtype,
        device=device,
        max_batch=options.max_batch,
        drafting=options.drafting,
        earlier=options.earlier,
        workers=options.workers,
        deadline_s=options.deadline_s,
        passed_on=options.passed_on,
    )


def _device(wanted: str | None) -> Literal["cpu", "cuda"]:
    if wanted == "cpu":
        return "cpu"
    if not cuda_devices():
        raise EngineError(
            "no CUDA device is here: the driver is missing or sees none; "
            "add --device cpu to try SGLang out on the processor, or leave --engine sglang out"
        )
    return "cuda"


def _check_settings(environment: Mapping[str, str]) -> None:
    """Raise CommandError where an environment variable of the worker's has a wrong value."""
    try:
        Speculation.read(environment)
    except ValueError as error:
        raise CommandError(str(error), USAGE) from error


def _model(given: str, passed_on: Sequence[str]) -> tuple[str, str]:
    """Where the model is, and the name that requests ask for.

    Raises:
        ModelNotFound: there is no such directory, and it is no name on a hub either; or the directory lacks
            something.
    """
    if given == DEFAULT_MODEL:
        return str(smollm2_dir()), given
    folder = Path(given).expanduser()
    if folder.is_dir():
        check_model_folder(folder, passed_on)
        return str(folder), folder.resolve().name
    if given.count("/") == 1 and not given.startswith((".", "/", "~")):
        return given, given
    raise ModelNotFound(
        f"no model {given!r}: neither a directory nor a name like 'Qwen/Qwen3-8B'; "
        f"{DEFAULT_MODEL!r} needs no download"
    )


def _check_memory(model: str, device: str) -> None:
    """Raise EngineError where a model can not fit; what a GPU has free SGLang finds out by itself."""
    weights = model_bytes(model)
    free = _free_bytes()
    if device != "cpu" or weights is None or free is None:
        return
    needed = weights + _PROCESSES_BYTES
    if needed > free:
        raise EngineError(
            f"too little memory: SGLang needs about {needed / _GIB:.1f} GiB for this model "
            f"({weights / _GIB:.1f} GiB of weights), {free / _GIB:.1f} GiB are free; "
            "take a smaller model, or serve it without --engine sglang"
        )


def _free_bytes() -> int | None:
    """Memory that programs can still have; None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) << 10 if found else None


def _chosen(started: Started) -> list[str]:
    """What the server runs with."""
    facts = started.facts

    def told(*names: str) -> str:
        return ", ".join(
            f"{name.replace('_', ' ')} {facts[name]}" for name in names if facts.get(name) is not None
        )

    return [
        told("grammar_backend", "speculative_algorithm", "attention_backend", "sampling_backend", "dtype"),
        told("max_total_num_tokens", "max_running_requests", "context_length", "tp_size"),
    ]


def _keepers(started: Started, settings: ServiceSettings) -> str:
    """Who keeps the records."""
    if not keeps_records(settings, started.facts.get):
        return "records are kept by the scheduler"
    return f"constraint workers {settings.workers}, longest wait {settings.deadline_s:g} s"


def _service_settings(options: LaunchOptions) -> ServiceSettings:
    try:
        return ServiceSettings.read(sglang_environment(options, os.environ), options.device)
    except ValueError as error:
        raise CommandError(str(error), USAGE) from error


class _ended_by_signals:  # noqa: N801 - reads as a statement
    """In the block, SIGTERM ends like Ctrl-C; so does a terminal that is closed, but for ``nohup``."""

    def __enter__(self) -> None:
        told = [number for number in _ENDING if signal.getsignal(number) != signal.SIG_IGN]
        self._before = {number: signal.signal(number, _interrupt) for number in told}

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt
