"""What speculation did for one record, by the names of the report (``http/report.py``).

A step is counted once the device has answered: then it is known what became of guesses, and whether the step
before has ended the request already.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from factorspec_sdk.errors import JsonValue
from factorspec_server.drafting.seam import DraftKind
from factorspec_server.sglang.chains import Chain


@dataclass(slots=True)
class StepCounts:
    """Counts of one record; see ``engines.Usage`` for their meaning."""

    model_steps: int = 0
    fill_steps: int = 0
    certain_in_vain: int = 0
    tokens_run: int = 0
    in_vain: int = 0
    widest: int = 0
    #: by kind: drafted, accepted
    guesses: dict[DraftKind, tuple[int, int]] = field(default_factory=dict)

    def count(self, chain: Chain, num_accepted: int, entry: int = 0) -> None:
        """A chain ran, and so many tokens stand, the one behind it included.

        Args:
            chain: with its branches.
            num_accepted: tokens.
            entry: what they end in: 0 the chain, else one of its branches.
        """
        drafted, decisions = chain.num_drafted, chain.decisions
        if decisions:
            self.model_steps += 1
        else:
            self.fill_steps += 1
        self.tokens_run += drafted + 1
        if drafted + 1 > self.widest:
            self.widest = drafted + 1
        stands = num_accepted - 1
        in_vain = self.certain_in_vain + drafted - stands
        for kind, is_right in _guesses(chain, stands, entry):
            guessed, right = self.guesses.get(kind, (0, 0))
            self.guesses = {**self.guesses, kind: (guessed + 1, right + is_right)}  # a copy may share the old
            in_vain -= not is_right
        self.certain_in_vain = in_vain
        self.in_vain += drafted - stands

    def report(self, certain: int) -> dict[str, JsonValue]:
        """As the report has them.

        ``certain``: tokens of the record that its spec determined; the model draws none of them.
        """
        drafted_certain: JsonValue = {"drafted": certain + self.certain_in_vain, "accepted": certain}
        drafts: dict[str, JsonValue] = {"certain": drafted_certain}
        for kind, (drafted, accepted) in self.guesses.items():
            drafts[kind] = {"drafted": drafted, "accepted": accepted}
        return {
            "model_steps": self.model_steps,
            "fill_steps": self.fill_steps,
            "guessed": sum(drafted for drafted, _ in self.guesses.values()),
            "accepted": sum(accepted for _, accepted in self.guesses.values()),
            "drafts": drafts,
            "tokens_run": self.tokens_run,
            "in_vain": self.in_vain,
            "widest": self.widest,
        }


def _guesses(chain: Chain, stands: int, entry: int) -> Iterator[tuple[DraftKind, bool]]:
    """The kind of each guess, and whether it stands.

    Args:
        chain: with its branches.
        stands: tokens of the path that stand.
        entry: what it ends in.
    """
    left: dict[int, int] = {}  # the entries on the path, and the decision that each was left at
    at = entry
    while at:
        branch = chain.branches[at - 1]
        left[branch.parent] = branch.decision
        at = branch.parent
    for number, (each, before) in enumerate(zip(chain.entries, chain.befores, strict=True)):
        is_on_path = number == entry or number in left
        if number:
            yield chain.branches[number - 1].kind, is_on_path
        for at, decision in enumerate(each.decisions):
            if decision.offset < len(each.tokens):
                stood = before + decision.offset < stands and at < left.get(number, at + 1)
                yield decision.kind, is_on_path and stood
