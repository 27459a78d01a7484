"""The policy that drafts trees: branches at choices between values, guesses in free text, as wide as pays.

One object drafts for one request. It keeps what it asked of the last plan, and sees at the next one which of
its guesses the model took: the prompt's words, the weights of opinions and the rates of text guesses are all
that it remembers, so its state is bounded by the prompt and the record. What earlier records wrote is kept
with their spec (``earlier_guesses.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from time import perf_counter
from typing import NamedTuple

from factorspec_sdk.decoding import Earlier
from factorspec_sdk.tokens import Vocabulary
from factorspec_server.drafting.cost import StepCost, best_size
from factorspec_server.drafting.earlier_guesses import EarlierGuesses, mixed
from factorspec_server.drafting.experts import Opinions, Trust, opinions
from factorspec_server.drafting.prompt_words import PromptWords, claiming
from factorspec_server.drafting.seam import Guess, Plan, Position, Session
from factorspec_server.drafting.text_guesses import TextGuesses

#: a choice among more tokens than this is not drafted by its branches
MAX_BRANCHES = 16
#: tokens of a branch that are read, and tokens before it
_READ, _READ_BEFORE = 64, 24
#: trust in the opinions before the first choice: even, lowest, least, prompt
_FIRST_TRUST = (0.2, 0.05, 0.05, 0.7)
#: the same, where digits of a number are chosen
_FIRST_TRUST_IN_DIGITS = (0.2, 0.3, 0.4, 0.1)
#: where an earlier record is as likely to be followed nothing else is thought of: at all, or for one guess
_SURE, _LIKELIEST = 0.95, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeOptions:
    """What a tree drafts.

    Attributes:
        branches: draft choices between values.
        text: draft free text.
        breadth: most guesses at one position; 1 makes chains. Of free text that is guessed from the request
            itself there is then but the likeliest: others hardly ever stand, and take the time of what would.
        places: most positions of one plan that are guessed; None: any number.
        width: most tokens drafted behind the certain run; None: as many as the session allows.
        cost: seconds of a step by tokens; None: as many as the width has room for are worth running.
        patience_s: no more is guessed in a plan after so many seconds; None: however long it takes.
    """

    branches: bool = True
    text: bool = True
    breadth: int | None = None
    places: int | None = None
    width: int | None = None
    cost: StepCost | None = None
    patience_s: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("breadth", self.breadth), ("places", self.places), ("width", self.width)):
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value!r}")


class _Asked(NamedTuple):
    """A position for which there were guesses; ``found``: opinions, where it was a choice between values."""

    tokens: Sequence[int]
    guesses: Sequence[Guess]
    ids: Sequence[int]
    found: Opinions | None
    trust: Trust | None


class Tree:
    """Drafts trees for one request."""

    def __init__(
        self,
        options: TreeOptions,
        vocabulary: Vocabulary,
        prompt_ids: Sequence[int],
        earlier: Earlier | None = None,
    ) -> None:
        """``earlier``: what records of the spec wrote before; None: nobody remembers."""
        self.options = options
        self._vocabulary = vocabulary
        self._words = PromptWords(_text(vocabulary, prompt_ids))
        self._texts = TextGuesses(vocabulary, prompt_ids)
        self._earlier = None if earlier is None else EarlierGuesses(earlier, options.breadth)
        self._trust = Trust(_FIRST_TRUST)
        self._trust_in_digits = Trust(_FIRST_TRUST_IN_DIGITS)
        self._asked: list[_Asked] = []
        self._has_learnt = False
        self._num_guessed = 0

    def plan(self, session: Session) -> Plan:
        """The certain run and, behind it, what is worth drafting."""
        options = self.options
        self._has_learnt, self._num_guessed = False, 0
        until_s = inf if options.patience_s is None else perf_counter() + options.patience_s
        shape = None if options.cost is None else partial(best_size, cost=options.cost)
        return session.plan(options.width, self._guesses, shape, until_s=until_s)

    def _guesses(self, position: Position) -> Sequence[Guess]:
        if not self._has_learnt:
            self._learn(position.tokens())
            self._has_learnt = True
        if self._num_guessed == self.options.places:
            return ()
        told = self._of_earlier(position)
        if not told:
            guesses = self._of_request(position)
        else:
            guesses = told if self._is_enough(told) else mixed(told, self._of_request(position))
        self._num_guessed += bool(guesses)
        guesses.sort(key=lambda guess: -guess.weight)
        breadth = self.options.breadth
        return guesses[: 1 if breadth is not None and position.free and not told else breadth]

    def _of_earlier(self, position: Position) -> list[Guess]:
        is_drafted = self.options.text if position.free else self.options.branches
        return self._earlier.guesses(position) if self._earlier is not None and is_drafted else []

    def _is_enough(self, told: Sequence[Guess]) -> bool:
        """True if nothing that the request itself says could matter beside it."""
        if self.options.breadth == 1:
            return told[0].weight >= _LIKELIEST
        return sum(guess.weight for guess in told) >= _SURE

    def _of_request(self, position: Position) -> list[Guess]:
        if position.free or position.allowed.count > MAX_BRANCHES:
            return self._of_text(position)
        return self._of_values(position) if self.options.branches else []

    def _of_text(self, position: Position) -> list[Guess]:
        if not (self.options.text if position.free else self.options.branches):
            return []
        guesses = self._texts.guesses(position)
        self._asked.append(_Asked(position.tokens(), guesses, (), None, None))
        return guesses if position.free else [guess._replace(kind="branch") for guess in guesses]

    def _of_values(self, position: Position) -> list[Guess]:
        ids = position.allowed.ids().tolist()
        tokens = position.tokens()
        before = claiming(_text(self._vocabulary, tokens[-_READ_BEFORE:]))
        begins = [_text(self._vocabulary, (token,)) for token in ids]
        if any(begin.isdigit() for begin in begins):  # many, and each one's run may be dear to work out
            trust, branches = self._trust_in_digits, [before + begin for begin in begins]
        else:
            runs = [position.run(token) or () for token in ids]
            trust = self._trust
            branches = [
                before + begin + _text(self._vocabulary, run[:_READ])
                for begin, run in zip(begins, runs, strict=True)
            ]
        found = opinions(branches, self._words)
        self._asked.append(_Asked(tokens, (), ids, found, trust))
        return [Guess(token, weight) for token, weight in zip(ids, trust.mixed(found), strict=True)]

    def _learn(self, tokens: Sequence[int]) -> None:
        """See what the model took where the last plan had guesses; ``tokens``: the record so far."""
        self._texts.write(tokens)
        if self._earlier is not None:
            self._earlier.learn(tokens)
        for asked in self._asked:
            at = len(asked.tokens)
            if at < len(tokens) and tokens[:at] == asked.tokens:
                if asked.found is None or asked.trust is None:
                    self._texts.learn(asked.guesses, tokens[at])
                elif tokens[at] in asked.ids:
                    place = asked.ids.index(tokens[at])
                    asked.trust.learn([opinion[place] for opinion in asked.found])
        self._asked.clear()


def _text(vocabulary: Vocabulary, token_ids: Sequence[int]) -> str:
    return vocabulary.decode_bytes(token_ids).decode("utf-8", errors="replace")
