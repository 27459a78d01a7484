"""Guesses of free text: it goes on as the prompt or the record did after the same tokens, or it is closed.

At each position of a text the places of the history that went alike propose what came next there, the
longest match first; a guess behind a guess follows its place on. At a text's beginning the prompt's last
words propose themselves (``text_starts.py``). Further guesses close the text, behind which the certain run
goes on. How likely each is, is counted for the request at hand, by the length of the match.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from factorspec_sdk.decoding.earlier import Rate
from factorspec_sdk.tokens import Allowed, Vocabulary
from factorspec_server.drafting.history import LONGEST_MATCH, History, Match
from factorspec_server.drafting.seam import Guess, Position
from factorspec_server.drafting.text_starts import Starts

#: most places that propose something at one position
_MAX_PROPOSED = 3
#: what may close a string, by what it leads to: out of an object, out of a list, to what comes next
_CLOSINGS = ((b'"}]}', b'"}]', b'"},', b'"}}', b'"}'), (b'"],', b'"]'), (b'",',), (b'"',))
#: what may end a free number, the same way
_ENDS = ((b"}]}", b"}]", b"},", b"}}", b"}"), (b"],", b"]"), (b",",))
#: more tokens than this may come inside a string, and fewer inside a number
_MOST_IN_NUMBERS = 256
#: bytes with which a token ends a phrase of a prompt
_PHRASE_ENDS = b"\"'`,.;:?!)]}\n"


class TextNote(NamedTuple):
    """Of a guess in free text: why it was made.

    Attributes:
        match: the place that proposes it; of a closing, the best place there.
        closes: which kind of closing it is, None if the text goes on.
        ends_number: it closes a number rather than a string.
        starts: it begins a text.
        rest: tokens of a word that follow it before the place does.
    """

    match: Match | None
    closes: int | None = None
    ends_number: bool = False
    starts: bool = False
    rest: tuple[int, ...] = ()


class TextGuesses:
    """Guesses for the free texts of one request."""

    def __init__(self, vocabulary: Vocabulary, prompt_ids: Sequence[int]) -> None:
        self._vocabulary = vocabulary
        self._history = History(vocabulary.token_bytes)
        self._history.extend(prompt_ids)
        self._num_prompt = len(prompt_ids)
        self._starts = Starts(vocabulary, prompt_ids)
        self._starting = Rate(0.4)
        self._closings = [_known(vocabulary, kind) for kind in _CLOSINGS]
        self._ends = [_known(vocabulary, kind) for kind in _ENDS]
        self._last_closings: tuple[Allowed | None, dict[int, int]] = None, {}
        self._shares = [1.0, 1.0, 2.0, 1.0]
        self._by_length = [Rate(min(0.9, 0.25 + 0.15 * length)) for length in range(LONGEST_MATCH + 1)]
        self._closing = Rate(0.12, 8.0)
        self._closing_at_phrase = Rate(0.5)
        self._ending_numbers = Rate(0.5)

    def write(self, tokens: Sequence[int]) -> None:
        """Tell all tokens of the record so far."""
        self._history.extend(tokens[len(self._history) - self._num_prompt :])

    def guesses(self, position: Position) -> list[Guess]:
        """What may come at a position of a text, weighed."""
        note = position.note
        if isinstance(note, TextNote) and note.rest:
            return self._rest_of_word(position, note)
        tokens = position.tokens()
        if tokens and self._vocabulary.token_bytes(tokens[-1]).endswith(b'"'):
            return self._first_words(position)
        matches = self._matches(position)
        found = self._closing_guesses(position, matches)
        left = 1.0 - sum(guess.weight for guess in found)
        seen = {guess.token for guess in found}
        for match in matches:
            token = self._history[match.at]
            if token in position.allowed and token not in seen:
                chance = left * self._by_length[match.length].value
                left -= chance
                found.append(Guess(token, chance, "text", TextNote(match)))
        return found

    def _rest_of_word(self, position: Position, note: TextNote) -> list[Guess]:
        token, *rest = note.rest
        if token not in position.allowed:
            return []
        return [Guess(token, self._by_length[3].value, "text", note._replace(rest=tuple(rest)))]

    def _first_words(self, position: Position) -> list[Guess]:
        found = [start for start in self._starts.words if start.tokens[0] in position.allowed]
        total = sum(start.weight for start in found)
        return [
            Guess(
                start.tokens[0],
                self._starting.value * start.weight / total,
                "text",
                TextNote(Match(start.behind - 1, 2), starts=True, rest=start.tokens[1:]),
            )
            for start in found
        ]

    def _closing_guesses(self, position: Position, matches: Sequence[Match]) -> list[Guess]:
        found = self._closing_tokens(position.allowed)
        total = sum(self._shares[kind] for kind in found)
        in_number = position.allowed.count <= _MOST_IN_NUMBERS
        chance = (self._ending_numbers if in_number else self._closing_rate(matches)).value
        best = matches[0] if matches else None
        note = TextNote(best, ends_number=in_number)
        return [
            Guess(token, chance * self._shares[kind] / total, "text", note._replace(closes=kind))
            for kind, token in found.items()
        ]

    def _closing_tokens(self, allowed: Allowed) -> dict[int, int]:
        """The longest token of each kind that may close a text; texts share masks from place to place."""
        known, found = self._last_closings
        if known is allowed:
            return found
        found = {
            kind: token
            for kind, tokens in enumerate(self._ends if allowed.count <= _MOST_IN_NUMBERS else self._closings)
            if (token := next((token for token in tokens if token in allowed), None)) is not None
        }
        if len(found) > 1:
            found.pop(len(_CLOSINGS) - 1, None)  # the mark alone, where it may come with what follows
        self._last_closings = allowed, found
        return found

    def learn(self, guesses: Sequence[Guess], taken: int) -> None:
        """What the model took at a position for which there were guesses."""
        noted = [(guess.token == taken, guess.note) for guess in guesses if isinstance(guess.note, TextNote)]
        if any(note.starts for _, note in noted):
            self._starting.learn(any(right for right, _ in noted))
            return
        closings = [(right, note) for right, note in noted if note.closes is not None]
        for right, note in closings:
            self._shares[note.closes or 0] += right
        if closings:
            match = closings[0][1].match
            closed = any(right for right, _ in closings)
            in_number = closings[0][1].ends_number
            rate = self._closing_rate([] if match is None else [match])
            (self._ending_numbers if in_number else rate).learn(closed)
            if closed:
                return
        for right, note in noted:
            if note.closes is None and note.match is not None and not note.rest:
                self._by_length[note.match.length].learn(right)
                if right:
                    return

    def _matches(self, position: Position) -> list[Match]:
        note = position.note
        if isinstance(note, TextNote) and note.closes is None and note.match is not None:
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


def _known(vocabulary: Vocabulary, texts: Sequence[bytes]) -> list[int]:
    """The tokens of these texts, as far as there are such."""
    return [token for text in texts if (token := vocabulary.token_id(text)) is not None]
