"""Settings of the constraint service beside SGLang: how many workers, and how long anybody waits for them.

Environment variables, read when the server starts; ``speculation.py`` lists them with the others.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from factorspec_sdk.errors import shown
from factorspec_server.engines.threads import usable_cores
from factorspec_server.sglang import compat

WORKERS_VARIABLE = "FACTORSPEC_WORKERS"
DEADLINE_VARIABLE = "FACTORSPEC_DEADLINE_S"

MOST_WORKERS = 64
_MOST_DIGITS = 4
_ON_CUDA = 8
DEADLINE_S = 10.0
_MOST_DEADLINE_S = 600.0


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """See above.

    Attributes:
        workers: processes that keep records; 0: the scheduler's process keeps them.
        deadline_s: longest wait for a worker, in seconds.
    """

    workers: int
    deadline_s: float = DEADLINE_S

    @classmethod
    def read(cls, environment: Mapping[str, str], device: str) -> ServiceSettings:
        """From environment variables.

        Args:
            environment: the variables.
            device: of the model: where that is a GPU the cores have time for workers.

        Raises:
            ValueError: one has no value that there is.
        """
        text = environment.get(WORKERS_VARIABLE, "")
        if text and not (text.isdecimal() and len(text) <= _MOST_DIGITS and int(text) <= MOST_WORKERS):
            raise ValueError(
                f"{WORKERS_VARIABLE} must be a number from 0 to {MOST_WORKERS}, got {shown(text)}"
            )
        workers = int(text) if text else _usual_workers(device)
        return cls(workers if can_serve() else 0, _deadline_s(environment.get(DEADLINE_VARIABLE, "")))


def keeps_records(settings: ServiceSettings, setting: Callable[[str], Any]) -> bool:
    """True if workers keep the records: of the first rank, where the others follow it (``ranks.py``).

    Args:
        settings: of the server.
        setting: SGLang's settings by their names.
    """
    return settings.workers > 0 and ((setting("tp_size") or 1) == 1 or is_shared(setting))


def is_shared(setting: Callable[[str], Any]) -> bool:
    """True if there are several ranks, all with the same requests and tokens, so that one may lead them.

    Beside other speculative algorithms they do not: those ask grammars for more than a row a step.
    """
    is_ours = setting("speculative_algorithm") in (None, compat.ALGORITHM_NAME)
    others = any((setting(name) or 1) > 1 for name in ("pp_size", "attn_cp_size"))
    return (setting("tp_size") or 1) > 1 and is_ours and not others and not setting("enable_dp_attention")


def can_serve() -> bool:
    """True if the system has what the service is made of: memory without a name, and ends with its parent."""
    return sys.platform == "linux" and hasattr(os, "memfd_create")


def _usual_workers(device: str) -> int:
    return max(1, min(_ON_CUDA, usable_cores() // 2)) if device == "cuda" else 1


def _deadline_s(text: str) -> float:
    try:
        found = float(text) if text else DEADLINE_S
    except ValueError:
        found = 0.0
    if not 0 < found <= _MOST_DEADLINE_S:  # NaN too
        raise ValueError(
            f"{DEADLINE_VARIABLE} must be seconds above 0 up to {_MOST_DEADLINE_S:g}, got {shown(text)}"
        )
    return found
