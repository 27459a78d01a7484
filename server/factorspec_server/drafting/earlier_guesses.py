"""Guesses from what earlier records of the same spec wrote (``factorspec_sdk.decoding.earlier``).

Where a record is asked for again, one place is found at its first decision and followed to its end. How
likely that is, is learnt for the spec: by how much went alike, and by whether the last proposal for the
record was right. Specs whose records never repeat soon propose nothing; a record in so many is looked at
all the same, so that they may begin to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from factorspec_sdk.decoding.earlier import NOTHING_YET, WAS_RIGHT, WAS_WRONG, Earlier, Place
from factorspec_server.drafting.seam import Guess, Position

#: what is less likely is not guessed
_LEAST_CHANCE = 0.1
#: nor is anything where verification hardly ever gets: behind a place that is followed, behind other guesses
_LEAST_TO_FOLLOW, _LEAST_TO_LOOK = 0.05, 0.25
#: a record in so many is looked at from end to end, whatever was learnt
_LOOKED_AT = 16
#: places with different tokens that propose something at one position
_MOST_PLACES = 3


class EarlierNote(NamedTuple):
    """Of a guess: the place that proposes it.

    Attributes:
        place: of an earlier record.
        num_tokens: of the record at hand, before the guess.
        last: what had become of the proposal before.
    """

    place: Place
    num_tokens: int
    last: int


class EarlierGuesses:
    """Guesses for one request."""

    def __init__(self, earlier: Earlier, breadth: int | None) -> None:
        """``breadth``: most guesses at one position; None: any number."""
        self._earlier = earlier
        self._most = _MOST_PLACES if breadth is None else min(breadth, _MOST_PLACES)
        self._asked: list[tuple[Sequence[int], list[Guess]]] = []
        self._last = NOTHING_YET
        self._looks_on = earlier.readers % _LOOKED_AT == 0
        self._has_used = False
        earlier.readers += 1

    def guesses(self, position: Position) -> list[Guess]:
        """What may come at a position, weighed."""
        is_followed = isinstance(position.note, EarlierNote)
        if not len(self._earlier) or position.chance < (_LEAST_TO_FOLLOW if is_followed else _LEAST_TO_LOOK):
            return []
        tokens = position.tokens()
        places, last = self._places(position, tokens)
        found: list[Guess] = []
        left = 1.0
        for place in places:
            if place.token in position.allowed:
                chance = left * self._earlier.rate(place, WAS_WRONG if found else last).value
                left -= chance
                found.append(Guess(place.token, chance, "earlier", EarlierNote(place, len(tokens), last)))
        if found:
            self._asked.append((tokens, found))
        return [guess for guess in found if guess.weight >= _LEAST_CHANCE]

    def _places(self, position: Position, tokens: Sequence[int]) -> tuple[Sequence[Place], int]:
        """The places that propose something, and what became of the proposal before."""
        note, last = position.note, self._last
        if isinstance(note, EarlierNote):
            behind = note.place.behind(tokens[note.num_tokens :])
            if behind is not None:
                return (behind,), WAS_RIGHT
            last = WAS_RIGHT
        if not self._looks_on and self._earlier.most_likely(last) < _LEAST_CHANCE:
            return (), last
        return self._earlier.places(tokens, self._most), last

    def learn(self, tokens: Sequence[int]) -> None:
        """See what was taken where there were proposals; ``tokens``: the record so far."""
        for asked, guesses in self._asked:
            at = len(asked)
            if at < len(tokens) and tokens[:at] == asked:
                self._learn(guesses, tokens[at])
        self._asked.clear()

    def _learn(self, guesses: Sequence[Guess], taken: int) -> None:
        for number, guess in enumerate(guesses):
            note, is_right = guess.note, guess.token == taken
            assert isinstance(note, EarlierNote), "made here"
            self._earlier.rate(note.place, WAS_WRONG if number else note.last).learn(is_right)
            if is_right:
                if self._last == WAS_RIGHT and not self._has_used:
                    self._has_used = True
                    self._earlier.use(note.place)
                self._last = WAS_RIGHT
                return
        self._last = WAS_WRONG


def mixed(earlier: Sequence[Guess], others: Sequence[Guess]) -> list[Guess]:
    """Both: what others say counts where no earlier record is followed."""
    left = max(0.0, 1.0 - sum(guess.weight for guess in earlier))
    found = {guess.token: guess for guess in earlier}
    for guess in others:
        weight, known = left * guess.weight, found.get(guess.token)
        if known is None:
            found[guess.token] = guess._replace(weight=weight)
        elif known.kind == "earlier":
            found[guess.token] = known._replace(weight=known.weight + weight)
    return [*found.values()]
