"""Following a plan token by token: what a record may write next, as far as its last plan tells."""

from __future__ import annotations

from collections.abc import Sequence

from factorspec_sdk.decoding import Choice, Plan
from factorspec_sdk.tokens import Allowed

_NOTHING = Allowed.of(())


class PlanWalk:
    """A place in a plan.

    Attributes:
        plan: followed.
        node: the last token that was written; -1: none of the plan.
        is_off: the last token was chosen and is not in the plan, or the plan's width ended: nothing is known.
    """

    __slots__ = ("_certain", "_choices", "is_off", "node", "plan")

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.node = -1
        #: behind each node its choice, or the certain node; None: all are certain, each behind the one before
        self._choices: dict[int, Choice] | None = None
        self._certain: dict[int, int] | None = None
        if False in plan.certain:
            self._choices = {choice.node: choice for choice in plan.choices}
            self._certain = {
                plan.parents[node]: node for node, is_certain in enumerate(plan.certain) if is_certain
            }
        self.is_off = not (plan.tokens or plan.choices or plan.complete)

    @property
    def is_complete(self) -> bool:
        """The record is complete."""
        plan, node = self.plan, self.node
        return (plan.complete and node == len(plan.tokens) - 1) or node in plan.ends

    def next_certain(self) -> int | None:
        """The certain node that comes next."""
        if self._certain is not None:
            return self._certain.get(self.node)
        node = self.node + 1
        return node if node < len(self.plan.tokens) else None

    @property
    def choice(self) -> Choice | None:
        """What is decided here."""
        if self._choices is not None:
            return self._choices.get(self.node)
        choices = self.plan.choices
        return choices[0] if choices and choices[0].node == self.node else None

    def allowed(self) -> Allowed:
        """What may come next."""
        node = self.next_certain()
        if node is not None:
            return Allowed.of(self.plan.tokens[node : node + 1])
        choice = self.choice
        return _NOTHING if choice is None else choice.allowed

    def write_run(self, tokens: Sequence[int]) -> bool:
        """Write all these tokens if they are just what is certain now; else nothing."""
        if self._certain is not None:
            return False
        start = self.node + 1
        if tuple(tokens) != self.plan.tokens[start : start + len(tokens)]:
            return False
        self.node += len(tokens)
        self._look_whether_off()
        return True

    def write(self, token: int) -> bool:
        """Write a token; False, and nothing is written, if it is not allowed."""
        node = self.next_certain()
        if node is not None:
            if self.plan.tokens[node] != token:
                return False
        else:
            choice = self.choice
            if choice is None or token not in choice.allowed:
                return False
            node = next((child for child in choice.children if self.plan.tokens[child] == token), None)
        if node is None:
            self.is_off = True
        else:
            self.node = node
            self._look_whether_off()
        return True

    def _look_whether_off(self) -> None:
        self.is_off = self.next_certain() is None and self.choice is None and not self.is_complete
