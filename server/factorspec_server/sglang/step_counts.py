"""What speculation did for one record, by the names of the report (``http/report.py``).

A step is counted once the device has answered: then it is known what became of guesses, and whether the step
before has ended the request already.
"""

from __future__ import annotations

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

    def count(self, chain: Chain, num_accepted: int) -> None:
        """A chain ran, and so many tokens stand, the one behind it included."""
        inputs, decisions = len(chain.tokens) + 1, chain.decisions
        if decisions:
            self.model_steps += 1
        else:
            self.fill_steps += 1
        self.tokens_run += inputs
        if inputs > self.widest:
            self.widest = inputs
        stands = num_accepted - 1
        in_vain = self.certain_in_vain + len(chain.tokens) - stands
        for decision in decisions:
            if decision.offset < len(chain.tokens):
                drafted, accepted = self.guesses.get(decision.kind, (0, 0))
                counted = drafted + 1, accepted + (decision.offset < stands)
                self.guesses = {**self.guesses, decision.kind: counted}  # a copy may share the old ones
                in_vain -= decision.offset >= stands
        self.certain_in_vain = in_vain
        self.in_vain += len(chain.tokens) - stands

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
