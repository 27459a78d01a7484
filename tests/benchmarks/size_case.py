"""What a case of the sizes benchmark is. Each has a file ``sizes_<name>.py`` with ``case() -> SizeCase``."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel


@dataclass(frozen=True)
class SizeCase:
    """A model at a size that people meet.

    model: bound, where it takes parameters. check: what is wrong with a parsed record, by code that shares
    nothing with the project; empty where it is right. open_p99_us: the bar, None where there is none.
    num_records: how many are decoded, each within ``token_limit`` tokens.
    """

    name: str
    model: type[BaseModel]
    check: Callable[[Any], list[str]]
    open_p99_us: float | None = None
    num_records: int = 20
    token_limit: int = 20_000
