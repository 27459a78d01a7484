"""What an operator decides about a server: access, budgets, defaults."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Literal

from factorspec_server.drafting import PolicyName

DraftingName = PolicyName | Literal["auto"]

MIB = 1 << 20
MOST_WIDTH = 256
"""Most tokens drafted in a step, also where the measured cost decides; more hardly ever pay."""
GUESSING_NOTHING: tuple[DraftingName, ...] = ("off", "certain")
LOOPBACK_NAMES = frozenset({"localhost", "ip6-localhost"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """Bounds on what requests may cost; one more than they allow is refused with a structured error.

    Attributes:
        body_bytes: largest request body.
        body_timeout_s: longest time for a body to arrive, in seconds.
        compile_workers: specs compiled at the same time.
        compile_waiting: requests that may wait for that.
        cached_specs: compiled specs that are kept.
        cached_bytes: and their approximate size together, in bytes; constraint workers share it equally.
        choices: most answers to one request (``n``).
        cached_tool_sets: sets of tools whose decoders are kept, beside the specs of the tools.
        cached_tool_bytes: and their approximate size together, in bytes.
        default_tokens: completion limit of a request that names none (raised to what its record needs).
        parallel_calls: tool calls of one answer.
    """

    body_bytes: int = 8 * MIB
    body_timeout_s: float = 30.0
    compile_workers: int = 2
    compile_waiting: int = 64
    cached_specs: int = 256
    cached_bytes: int = 512 * MIB
    choices: int = 16
    cached_tool_sets: int = 64
    cached_tool_bytes: int = 128 * MIB
    default_tokens: int = 2048
    parallel_calls: int = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How one server serves.

    Drafting changes speed, never output: ``auto`` drafts trees of branches and text, as wide as the measured
    cost of a step says; see ``drafting.drafting_policy`` for the other names.

    Attributes:
        api_key: what clients must send as a bearer token; None asks for nothing.
        allowed_hosts: host names that requests may ask for, against DNS rebinding; None allows all.
        drafting: what is drafted.
        width: most tokens drafted in a step: guesses and what is certain behind them, since what is certain
            before them runs in any case; None leaves it to the measured cost, where there is one. Not with
            ``off`` and ``certain``, which guess nothing.
        budgets: bounds on what requests may cost.
    """

    api_key: str | None = field(default=None, repr=False)
    allowed_hosts: tuple[str, ...] | None = None
    drafting: DraftingName = "auto"
    width: int | None = None
    budgets: Budgets = Budgets()

    def __post_init__(self) -> None:
        if self.width is not None and self.drafting in GUESSING_NOTHING:
            raise ValueError(
                f"drafting {self.drafting!r} guesses nothing and has no width, got {self.width!r}"
            )


def is_loopback(host: str) -> bool:
    """True if only programs on this machine can reach a server bound to ``host``."""
    if host.lower() in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
