"""The flags that SGLang is started with: those that were passed on, ours, and why some do not go together.

::

    factorspec serve --engine sglang --model M --port 30000 -- --tp-size 2 --context-length 8192
                     └──────────── ours ──────────────────┘    └──── SGLang's own, as they are ────┘
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Literal

from factorspec_sdk.errors import DeclarationError, Problem
from factorspec_server.settings import DraftingName
from factorspec_server.sglang.compat import ALGORITHM_NAME, BACKEND_NAME
from factorspec_server.sglang.service_settings import DEADLINE_VARIABLE, WORKERS_VARIABLE
from factorspec_server.sglang.speculation import DRAFTING_VARIABLE, EARLIER_VARIABLE

HOSTS_VARIABLE = "FACTORSPEC_SERVE_HOSTS"
KEY_VARIABLE = "FACTORSPEC_SERVE_KEY"
"""How the gate's settings get to SGLang's process: whoever lists processes can read its ``--api-key``."""

_WRITE_BEFORE = "write it before the --"
_NOT_TRIED = "nobody has tried it; start SGLang itself with --grammar-backend factorspec"
#: flag of SGLang -> why it cannot be passed on, and what to do; whatever its value
_REFUSED: Mapping[str, tuple[str, str]] = {
    "--model-path": ("is --model here", _WRITE_BEFORE),
    "--model": ("is an option of factorspec serve", _WRITE_BEFORE),
    "--host": ("is an option of factorspec serve", _WRITE_BEFORE),
    "--port": ("is an option of factorspec serve", _WRITE_BEFORE),
    "--device": ("is an option of factorspec serve", _WRITE_BEFORE),
    "--dtype": ("is an option of factorspec serve", _WRITE_BEFORE),
    "--max-running-requests": ("is --max-batch here", _WRITE_BEFORE),
    "--api-key": ("would be seen by whoever lists processes", "set FACTORSPEC_API_KEY instead"),
    "--skip-tokenizer-init": ("leaves records without a tokenizer to be written in", "leave it out"),
    "--is-embedding": ("serves embeddings, and no records", "leave it out"),
    "--encoder-only": ("serves no records", "leave it out"),
    "--smg-grpc-mode": ("has no HTTP answers, which say what was enforced", "leave it out"),
    "--grpc-mode": ("has no HTTP answers, which say what was enforced", "leave it out"),
    "--use-ray": ("starts servers in ways that were not tried", _NOT_TRIED),
    "--config": ("may hold any of the flags that are refused here", "write its flags behind the --"),
}
#: flag of SGLang -> the values that it may have, why no others
_BOUND: Mapping[str, tuple[tuple[str, ...], str]] = {
    "--grammar-backend": (
        (BACKEND_NAME,),
        "relations are enforced by this backend; it has XGrammar for all else",
    ),
    "--tokenizer-worker-num": (("1",), "with more, answers do not say which spec was enforced"),
    "--nnodes": (("1",), _NOT_TRIED),
    "--disaggregation-mode": (("null",), _NOT_TRIED),
}
_ONE_STAGE = "with drafting all layers run in one place; --tp-size divides each of them among GPUs"
_RANKS = ("--tp-size", "--tensor-parallel-size")
_NOT_DRAFTED = "cannot go with drafting"
_OFF = "leave it out, or say --drafting off before the --"
#: the same where our worker drafts (``speculation.refusals`` says it once SGLang has read its flags)
_REFUSED_BY_WORKER: Mapping[str, tuple[str, str]] = {
    "--enable-dp-attention": (_NOT_DRAFTED, _OFF),
    "--enable-lora": (_NOT_DRAFTED, _OFF),
    "--enable-return-hidden-states": (_NOT_DRAFTED, _OFF),
    "--enable-two-batch-overlap": (_NOT_DRAFTED, _OFF),
}
_BOUND_BY_WORKER: Mapping[str, tuple[tuple[str, ...], str]] = {
    "--pp-size": (("1",), _ONE_STAGE),
    "--pipeline-parallel-size": (("1",), _ONE_STAGE),
    "--ep-size": (("1",), _NOT_DRAFTED),
    "--expert-parallel-size": (("1",), _NOT_DRAFTED),
    "--attn-cp-size": (("1",), _NOT_DRAFTED),
    "--page-size": (("1",), _NOT_DRAFTED),
}
#: what a server on CPU needs, where nothing else is asked for
_ON_CPU: Mapping[str, str | None] = {
    "--attention-backend": "torch_native",
    "--sampling-backend": "pytorch",
    "--mem-fraction-static": "0.3",
    "--max-total-tokens": "16384",
    "--skip-server-warmup": None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOptions:
    """What ``factorspec serve --engine sglang`` was told.

    Attributes:
        model: a directory, or a name that SGLang knows how to find.
        served_name: under which requests ask for it.
        host: to listen at.
        port: to listen at, not 0.
        api_key: what clients must send.
        allowed_hosts: host names that requests may ask for; None allows all.
        dtype: of the weights; None leaves it to the model.
        device: ``cpu`` or ``cuda``.
        max_batch: most requests that run together; None leaves it to SGLang, on CPU 8.
        drafting: what is drafted (``speculation.py``); ``off`` leaves our worker out.
        earlier: guesses may be what earlier records of the same spec wrote.
        workers: processes that keep the records; None: as many as usual (``service_settings.py``).
        deadline_s: longest wait for one of them, in seconds; None: the usual one.
        passed_on: SGLang's own flags.
    """

    model: str
    served_name: str
    host: str
    port: int
    api_key: str | None = field(default=None, repr=False)
    allowed_hosts: tuple[str, ...] | None = None
    dtype: str | None = None
    device: Literal["cpu", "cuda"] = "cuda"
    max_batch: int | None = None
    drafting: DraftingName = "auto"
    earlier: bool = True
    workers: int | None = None
    deadline_s: float | None = None
    passed_on: tuple[str, ...] = ()


def sglang_flags(options: LaunchOptions) -> list[str]:
    """The arguments of SGLang's launcher.

    Raises:
        DeclarationError: flags that were passed on contradict what is needed here; all are named.
    """
    problems = [*_problems(options)]
    if problems:
        raise DeclarationError("SGLang cannot be started like this", problems)
    flags = {
        "--model-path": options.model,
        "--served-model-name": options.served_name,
        "--host": options.host,
        "--port": str(options.port),
        "--grammar-backend": BACKEND_NAME,
        **_chosen(options),
    }
    given = set(_names(options.passed_on))
    ours = [
        part
        for name, value in flags.items()
        if name not in given
        for part in (name, value)
        if part is not None
    ]
    return [*ours, *options.passed_on]


def sglang_environment(options: LaunchOptions, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of SGLang's processes."""
    found = {**environment}
    if options.allowed_hosts is not None:
        found[HOSTS_VARIABLE] = ",".join(options.allowed_hosts)
    if options.api_key is not None:
        found[KEY_VARIABLE] = options.api_key
    if options.workers is not None:
        found[WORKERS_VARIABLE] = str(options.workers)
    if options.deadline_s is not None:
        found[DEADLINE_VARIABLE] = f"{options.deadline_s:g}"
    if options.drafting not in ("auto", "off"):
        found[DRAFTING_VARIABLE] = options.drafting
    if not options.earlier or EARLIER_VARIABLE in environment:
        found[EARLIER_VARIABLE] = str(int(options.earlier))
    if options.device == "cpu":
        found["SGLANG_USE_CPU_ENGINE"] = "1"
        # more threads than cores wait for each other: 1 token a second instead of 30
        found.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 2) // 2)))
        ranks = _ranks(options.passed_on)
        if ranks > 1:
            found.setdefault("SGLANG_CPU_OMP_THREADS_BIND", "|".join(_cores(ranks)))
    return found


def _ranks(flags: Sequence[str]) -> int:
    """How many ranks the model is divided among; 1 where that is not told, or cannot be read."""
    parts = [part for flag in flags for part in flag.split("=", 1)]
    asked = [value for name, value in pairwise(parts) if name in _RANKS and value.isdecimal()]
    return int(asked[-1]) if asked else 1


def _cores(ranks: int) -> Iterator[str]:
    """The cores of each rank, which SGLang wants to know where there are more ranks than sockets."""
    known = sorted(os.sched_getaffinity(0))
    for rank in range(ranks):
        yield ",".join(map(str, known[rank::ranks] or known[:1]))


def _chosen(options: LaunchOptions) -> dict[str, str | None]:
    """What follows from our options."""
    flags: dict[str, str | None] = {"--device": options.device}
    max_batch = options.max_batch
    if options.device == "cpu":
        flags |= _ON_CPU
        max_batch = max_batch or 8
    if max_batch is not None:
        flags["--max-running-requests"] = str(max_batch)
    if options.api_key is not None:
        flags["--skip-server-warmup"] = None  # it knows no key; we ask for a token ourselves
    if options.dtype is not None:
        flags["--dtype"] = options.dtype
    if _is_drafted(options):
        flags["--speculative-algorithm"] = ALGORITHM_NAME
    return flags


def _is_drafted(options: LaunchOptions) -> bool:
    """True if our worker drafts."""
    others = "--speculative-algorithm" in _names(options.passed_on)
    return options.drafting != "off" and has_worker() and not others


def has_worker() -> bool:
    """True if this version has the speculative worker."""
    return find_spec("factorspec_server.sglang.algorithm") is not None


def _names(flags: Sequence[str]) -> Iterator[str]:
    """The flags by name, ``--name=value`` included."""
    return (flag.partition("=")[0] for flag in flags if flag.startswith("-"))


def _problems(options: LaunchOptions) -> Iterator[Problem]:
    flags = options.passed_on
    drafted = _is_drafted(options)
    refused = {**_REFUSED, **(_REFUSED_BY_WORKER if drafted else {})}
    bound = {**_BOUND, **(_BOUND_BY_WORKER if drafted else {})}
    for at, name in enumerate(flag.partition("=")[0] for flag in flags):
        if name in refused:
            reason, hint = refused[name]
            yield Problem(name, reason, None, hint)
        elif name in bound:
            allowed, reason = bound[name]
            value = flags[at].partition("=")[2] or next(iter(flags[at + 1 : at + 2]), "")
            if value not in allowed:
                hint = _OFF if name in _BOUND_BY_WORKER else f"leave it out or say {allowed[0]}"
                yield Problem(name, reason, repr(value), hint)
    if options.drafting not in ("auto", "off") and "--speculative-algorithm" in _names(flags):
        reason = "chooses who drafts, and --drafting what our own worker does"
        yield Problem("--speculative-algorithm", reason, None, "leave one of them out")
    if flags and not flags[0].startswith("-"):
        yield Problem("--", "SGLang's flags begin with -", repr(flags[0]))


def model_bytes(model: str) -> int | None:
    """Bytes of a model's weights on disk; None if they are not there."""
    folder = Path(model)
    files = [*folder.glob("*.safetensors"), *folder.glob("*.bin")] if folder.is_dir() else []
    return sum(file.stat().st_size for file in files) or None
