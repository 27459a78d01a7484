"""What the ranks of one model tell each other.

Under tensor parallelism each rank has a scheduler of its own, and all do the same steps with the same
requests. The first one alone keeps records, plans steps and draws tokens; the others follow::

    first rank                                           the others
    opens a record, or refuses it    ── outcome ──►      a grammar that follows, or the same refusal
    chains and shape of a step       ── one message ──►  the same forward pass
    masks, draws                     ── tokens ──►       the same tokens stand
    first row of a record            ── row ──►          the same row, drawn from by SGLang

Each call below is made by all ranks, in the same order: it waits until the first one has come to it.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from factorspec_server.sglang import compat
from factorspec_server.sglang.service_settings import is_shared

Numbers = NDArray[np.int32]

#: numbers of a message that go at once, its size included; longer ones take a second turn for the rest
_AT_ONCE = 4096


class Ranks(Protocol):
    """One rank among those of a model."""

    @property
    def is_first(self) -> bool:
        """This is the one that the others follow."""

    def tell(self, numbers: Numbers, /) -> None:
        """Of the first rank: let the others have these numbers, (any,) int32."""

    def hear(self) -> Numbers:
        """Of the others: what the first rank tells."""

    def share(self, tensor: torch.Tensor, /) -> None:
        """Overwrite a tensor with that of the first rank, which has the same shape and type."""


class GroupRanks:
    """Ranks that are processes of a group of ``torch.distributed``; see ``Ranks``.

    Attributes:
        is_first: see ``Ranks``.
    """

    def __init__(self, *, is_first: bool, source: int, host_group: Any, device_group: Any) -> None:
        """``source``: global number of the first rank; the groups: for tensors on the host, and elsewhere."""
        self.is_first = is_first
        self._source = source
        self._host_group = host_group
        self._device_group = device_group
        self._message = torch.zeros(_AT_ONCE, dtype=torch.int32)

    def tell(self, numbers: Numbers, /) -> None:
        """See ``Ranks``."""
        message, size = self._message.numpy(), len(numbers)
        message[0] = size
        fits = numbers[: _AT_ONCE - 1]
        message[1 : 1 + len(fits)] = fits
        self.share(self._message)
        if size > len(fits):
            self.share(torch.from_numpy(numbers[len(fits) :].copy()))

    def hear(self) -> Numbers:
        """See ``Ranks``."""
        self.share(self._message)
        message = self._message.numpy()
        size = int(message[0])
        if size < _AT_ONCE:
            return message[1 : 1 + size].copy()
        rest = torch.zeros(size - (_AT_ONCE - 1), dtype=torch.int32)
        self.share(rest)
        return np.concatenate((message[1:], rest.numpy()))

    def share(self, tensor: torch.Tensor, /) -> None:
        """See ``Ranks``."""
        group = self._host_group if tensor.device.type == "cpu" else self._device_group
        torch.distributed.broadcast(tensor, src=self._source, group=group)


def ranks_of(server_args: Any) -> Ranks | None:
    """The ranks of this process's model; None where there is one, or where each works for itself."""
    if not is_shared(partial(compat.setting, server_args)):
        return None
    group = compat.tensor_ranks()
    return GroupRanks(
        is_first=group.is_first_rank,
        source=group.first_rank,
        host_group=group.cpu_group,
        device_group=group.device_group,
    )
