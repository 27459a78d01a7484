"""What speculation did for one record, by the names of the report (``http/report.py``).

Certain tokens are accepted whenever they are drafted. What became of guesses is known once the device has
answered, and told then (``settle``).
"""

from __future__ import annotations

from dataclasses import dataclass

from factorspec_sdk.errors import JsonValue
from factorspec_server.sglang.chains import Chain


@dataclass(slots=True)
class StepCounts:
    """Counts of one record; see ``engines.Usage`` for their meaning."""

    model_steps: int = 0
    fill_steps: int = 0
    certain: int = 0
    guessed: int = 0
    accepted: int = 0
    tokens_run: int = 0
    in_vain: int = 0
    widest: int = 0
    _running: Chain | None = None

    def run(self, chain: Chain) -> None:
        """A chain runs in this step."""
        inputs = len(chain.tokens) + 1
        decides = bool(chain.decisions)
        self.model_steps += decides
        self.fill_steps += not decides
        self.certain += chain.num_certain
        self.tokens_run += inputs
        self.widest = max(self.widest, inputs)
        self._running = chain

    def settle(self, num_accepted: int) -> None:
        """So many tokens stand of the step that ran last, the one behind the chain included."""
        chain, self._running = self._running, None
        if chain is None:
            return
        stands = num_accepted - 1
        guesses = [offset for offset, _ in chain.decisions if offset < len(chain.tokens)]
        self.guessed += len(guesses)
        self.accepted += sum(offset < stands for offset in guesses)
        self.in_vain += len(chain.tokens) - stands

    def report(self) -> dict[str, JsonValue]:
        """As the report has them. What is certain behind a guess counts with it."""
        drafts: dict[str, JsonValue] = {"certain": {"drafted": self.certain, "accepted": self.certain}}
        if self.guessed:
            drafts["branch"] = {"drafted": self.guessed, "accepted": self.accepted}
        return {
            "model_steps": self.model_steps,
            "fill_steps": self.fill_steps,
            "guessed": self.guessed,
            "accepted": self.accepted,
            "drafts": drafts,
            "tokens_run": self.tokens_run,
            "in_vain": self.in_vain,
            "widest": self.widest,
        }
