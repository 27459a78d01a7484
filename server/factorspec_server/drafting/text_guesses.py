"""Guesses of free text: it goes on as the prompt or the record did after the same tokens, or it is closed.

At each position of a text the places of the history that went alike propose what came next there, the longest
match first; a guess behind a guess follows its place on. One more guess closes the text, behind which the
certain run goes on. How likely each is, is counted for the request at hand, by the length of the match.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from factorspec_sdk.tokens import Vocabulary
from factorspec_server.drafting.history import LONGEST_MATCH, History, Match
from factorspec_server.drafting.seam import Guess, Position

#: most places that propose something at one position
_MAX_PROPOSED = 3
#: what may close a string, the longest first
_CLOSINGS = (b'"}]}', b'"}]', b'"},', b'"}}', b'"],', b'"]', b'"}', b'",', b'"')
#: bytes with which a token ends a phrase of a prompt
_PHRASE_ENDS = b"\"'`,.;:?!)]}\n"


class Rate:
    """The share of tries that went well, from a prior worth ``prior_tries`` tries."""

    def __init__(self, prior: float, prior_tries: float = 4.0) -> None:
        self._good = prior * prior_tries
        self._tries = prior_tries

    @property
    def value(self) -> float:
        """The estimate now."""
        return self._good / self._tries

    def learn(self, good: bool) -> None:
        """Count a try. Old ones fade, so that the state stays small and current."""
        self._good = self._good * _FADE + good
        self._tries = self._tries * _FADE + 1.0


_FADE = 0.97


class TextNote(NamedTuple):
    """Of a guess in free text: why it was made."""

    match: Match | None
    closes: bool = False


class TextGuesses:
    """Guesses for the free texts of one request."""

    def __init__(self, vocabulary: Vocabulary, prompt_ids: Sequence[int]) -> None:
        self._vocabulary = vocabulary
        self._history = History(vocabulary.token_bytes)
        self._history.extend(prompt_ids)
        self._num_prompt = len(prompt_ids)
        self._closings = [i for data in _CLOSINGS if (i := vocabulary.token_id(data)) is not None]
        self._by_length = [Rate(min(0.9, 0.25 + 0.15 * length)) for length in range(LONGEST_MATCH + 1)]
        self._closing = Rate(0.12, 8.0)
        self._closing_at_phrase = Rate(0.5)

    def write(self, tokens: Sequence[int]) -> None:
        """Tell all tokens of the record so far."""
        self._history.extend(tokens[len(self._history) - self._num_prompt :])

    def guesses(self, position: Position) -> list[Guess]:
        """What may come at a position of a text, weighed."""
        found: list[Guess] = []
        left = 1.0
        matches = self._matches(position)
        closing = next((token for token in self._closings if token in position.allowed), None)
        if closing is not None:
            left -= (chance := self._closing_rate(matches).value)
            found.append(
                Guess(closing, chance, "text", TextNote(matches[0] if matches else None, closes=True))
            )
        for match in matches:
            token = self._history[match.at]
            if token in position.allowed and token != closing:
                chance = left * self._by_length[match.length].value
                left -= chance
                found.append(Guess(token, chance, "text", TextNote(match)))
        return found

    def learn(self, guesses: Sequence[Guess], taken: int) -> None:
        """What the model took at a position for which there were guesses."""
        tried = True
        for guess in guesses:
            note = guess.note
            if not isinstance(note, TextNote):
                continue
            if note.closes:
                matches = [note.match] if note.match is not None else []
                self._closing_rate(matches).learn(guess.token == taken)
                tried = guess.token != taken
            elif tried and note.match is not None:
                self._by_length[note.match.length].learn(guess.token == taken)
                tried = guess.token != taken

    def _matches(self, position: Position) -> list[Match]:
        note = position.note
        if isinstance(note, TextNote) and not note.closes and note.match is not None:
            at, length = note.match.at + 1, min(LONGEST_MATCH, note.match.length + 1)
            return [Match(at, length)] if at < len(self._history) else []
        tokens = position.tokens()
        return self._history.matches(tokens[-LONGEST_MATCH:])[:_MAX_PROPOSED] if tokens else []

    def _closing_rate(self, matches: Sequence[Match]) -> Rate:
        """Texts are likelier to end where the prompt's phrase does."""
        if matches:
            data = self._vocabulary.token_bytes(self._history[matches[0].at])
            if data[:1] and data[0] in _PHRASE_ENDS:
                return self._closing_at_phrase
        return self._closing
