"""A step among the ranks of one model: what the first one tells, and when all of them end a request.

A step is planned before SGLang looks at the results of the last one, so a request that cannot go on may have
ended already, by a stop string say. It is ended when the step's own tokens come: SGLang has looked by then::

    tokens of step 1 ─► plan of step 2: it cannot go on ─► results of step 1: finished? ─► tokens of step 2
                                                                                no: ended here ┘
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from factorspec_server.sglang import compat
from factorspec_server.sglang.chains import Chain
from factorspec_server.sglang.ranks import Ranks
from factorspec_server.sglang.session_grammar import session_grammar_of
from factorspec_server.sglang.shapes import Shape
from factorspec_server.sglang.shared_grammar import GIVEN_UP
from factorspec_server.sglang.shared_step import SharedStep


class StepSharing:
    """This rank's part; used by the scheduler's thread alone.

    Args:
        ranks: of the model; None: this one is alone.
    """

    def __init__(self, ranks: Ranks | None = None) -> None:
        self._ranks = ranks
        #: given up in this step, to be told
        self._ended: list[Any] = []
        #: to be ended with it, and why
        self._ending: list[tuple[Any, str]] = []

    @property
    def is_alone(self) -> bool:
        """There are no other ranks."""
        return self._ranks is None

    @property
    def follows(self) -> bool:
        """Another rank plans, masks and draws."""
        return self._ranks is not None and not self._ranks.is_first

    def end(self, request: Any, reason: str) -> None:
        """End a request with the step that is planned now: the others do, too."""
        if self._ranks is not None:
            self._ended.append(request)
        self._ending.append((request, reason))

    def end_soon(self, request: Any, reason: str) -> None:
        """End a request at another time: with the step whose tokens come next, or by its grammar, which is
        asked on all ranks alike.

        Ours has the next step end it (``LeadingGrammar``); another that allows no token refuses whatever is
        drawn.
        """
        if self._ranks is None:
            self._ending.append((request, reason))

    def tokens_come(self) -> None:
        """A step's tokens are known, and not written yet: end the requests that were to end with it."""
        ending, self._ending = self._ending, []
        for request, reason in ending:
            if not (request.finished() or request.to_finish is not None):
                _end(request, reason)

    def tell(self, chains: Sequence[Chain], shape: Shape, requests: Sequence[Any]) -> None:
        """Let the others know the step of these requests."""
        if self._ranks is not None:
            assert not any(chain.branches for chain in chains), "other ranks hear of chains alone"
            ended = {id(request) for request in self._ended}
            places = [at for at, request in enumerate(requests) if id(request) in ended]
            self._ended = []
            self._ranks.tell(SharedStep(chains, shape, places).numbers)

    def hear(self, requests: Sequence[Any]) -> tuple[list[Chain], Shape]:
        """The step of these requests as the first rank tells it; ends those that it gives up."""
        assert self._ranks is not None
        step = SharedStep.of(self._ranks.hear())
        for at in step.ended:
            self._ending.append((requests[at], GIVEN_UP))
        return [*step.chains], step.shape

    def agree(self, drawn: torch.Tensor) -> None:
        """Overwrite what was drawn with what the first rank drew."""
        if self._ranks is not None:
            self._ranks.share(drawn)


def _end(request: Any, reason: str) -> None:
    """End a request at the end of this step; nothing is asked of its grammar any more."""
    grammar = session_grammar_of(request.grammar)
    if grammar is not None and grammar.error is not None:
        grammar.give_up(grammar.error)
    request.to_finish = compat.FINISH_ABORT(reason)
    request.grammar = None
