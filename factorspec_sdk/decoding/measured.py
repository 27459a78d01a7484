"""Free text whose length relations read: at which lengths it may end, and by which endings at each.

::

    "note": "abc", "size": 3           note has as many characters as size says: 2, or 4 to 6
             ^                         1: no token closes the text
              ^                        2: it may be closed, and what follows is what goes with a length of 2
               ^                       3: only by a token that holds one to three characters more ('d"': 4)

The text is closed only at a length that is feasible given what stands before; a token that goes on leaves
room for the longest feasible one. So there is never a dead end: characters can be added one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from factorspec_sdk.decoding.hypotheses import Opening
from factorspec_sdk.decoding.json_strings import LONGEST_FINISH, PLAIN, StringState, finish
from factorspec_sdk.decoding.string_masks import StringMasks
from factorspec_sdk.decoding.string_rules import StringRules
from factorspec_sdk.decoding.text_places import Endings, FindEndings, TextPlace
from factorspec_sdk.decoding.text_rules import TextState
from factorspec_sdk.fields.domains import Domain
from factorspec_sdk.graph.feasibility import UNBOUNDED, Feasibility, State
from factorspec_sdk.graph.program import Length
from factorspec_sdk.tokens import Allowed, Vocabulary
from factorspec_sdk.tokens.masks import Row

Sure = Callable[[Opening], int]
_MAX_KEPT = 16


class MeasuredPlace(TextPlace):
    """A text of one of the feasible lengths. Endings are found length by length, when they are needed.

    Attributes:
        lengths: the feasible lengths, as indices of the length's slot.
    """

    def __init__(
        self,
        find_endings: FindEndings,
        feasibility: Feasibility,
        vocabulary: Vocabulary,
        state: State,
        behind: int,
        node: Length,
        domain: Domain,
    ) -> None:
        """``node``: the Length node, which stands at ``behind``; ``domain``: of its slot."""
        assert domain.integers is not None
        self.lengths = feasibility.values(state, node.slot)
        self._least = domain.integers.lo
        self._most = self._least + self.lengths.last
        super().__init__(find_endings, state, behind, StringRules.of(vocabulary, self._most, self._most))
        self._masks = StringMasks.of(vocabulary)
        self._vocabulary = vocabulary
        self._feasibility = feasibility
        self._node = node
        self._endings: dict[int, Endings] = {}
        self._sures: dict[int, dict[bytes, int]] = {}
        self._rests: dict[int, int] = {}
        self._allowed: dict[TextState, Allowed] = {}
        self._first: dict[bytes, frozenset[int]] = {}

    def endings(self, length: int) -> Endings:
        """Beginnings of what follows a text of this length; none where it may not be so long."""
        known = self._endings.get(length)
        if known is None:
            known, index = {}, length - self._least
            if index in self.lengths:
                after = self._feasibility.assign(self.state, self._node.slot, index)
                known = self._find_endings(after, self._node.next)
            self._endings[length] = known
        return known

    def allowed(self, text: TextState) -> Allowed:
        """Tokens by which a text goes on, and ``closing_ids``."""
        known = self._allowed.get(text)
        if known is None:
            known = Allowed.from_row(self.rules.row(text), self.closing_ids(text))
            if len(self._allowed) >= _MAX_KEPT:
                self._allowed.clear()
            self._allowed[text] = known
        return known

    def closing_ids(self, text: TextState) -> Sequence[int]:
        """Tokens that hold the rest of a text and an ending that goes with its length."""
        return [i for length, ending in self._ends(text) for i in self._closing(text, length, ending)]

    def closed(self, text: TextState, data: bytes) -> Iterator[Opening]:
        """The places that a token with these bytes leads to, if it closes the text."""
        at = data.find(b'"')
        while at >= 0:
            end = self.rules.walk(text, data[:at])
            if end is None:
                return
            assert isinstance(end, StringState)
            if end.mode == PLAIN:
                yield from self.endings(end.length).get(data[at:], ())
                return
            at = data.find(b'"', at + 1)

    def endings_at(self, end: TextState) -> Endings:
        """Beginnings of what follows a text of this length."""
        assert isinstance(end, StringState)
        return self.endings(end.length)

    def first_ids(self, prefix: bytes) -> frozenset[int]:
        """Tokens that begin with ``prefix`` and go on into the text, or through it into what follows."""
        known = self._first.get(prefix)
        if known is None:
            start = self.rules.start()
            closing = (
                token
                for data, token in self.rules.beginning_with(prefix)
                if next(self.closed(start, data), None) is not None
            )
            known = self._first[prefix] = self.rules.first_ids(prefix, ()).union(closing)
        return known

    def _ends(self, text: TextState) -> Iterator[tuple[int, bytes]]:
        """Lengths and endings that one token may reach."""
        assert isinstance(text, StringState)
        last = min(self._most, text.length + self._masks.longest_closing)
        for length in range(max(text.length, self._least), last + 1):
            for ending in self.endings(length):
                yield length, ending

    def _closing(self, text: TextState, length: int, ending: bytes) -> Sequence[int]:
        assert isinstance(text, StringState)
        return self._masks.closing_with(text.mode, ending, length - text.length)

    # -- near the token limit ---------------------------------------------------------------------

    def sure(self, text: TextState, sure: Sure) -> int:
        """Tokens by which a text and what follows it can surely be written; ``sure``: those from a place."""
        assert isinstance(text, StringState)
        return min(UNBOUNDED, len(finish(text.mode)) + self._rest(text.length, sure))

    def keep(self, text: TextState, left: int, sure: Sure, ids: set[int]) -> Row:
        """The tokens of ``row`` after which the record still fits; those that close go to ``ids``."""
        assert isinstance(text, StringState)
        for length, ending in self._ends(text):
            if self._sure_behind(length, sure)[ending] < left:
                ids.update(self._closing(text, length, ending))
        rows = [
            self._masks.row(text.mode, most, room, least)
            for least, most, room in self._rooms(text, left - 1, sure)
        ]
        if not rows:
            return self._masks.row(text.mode, 0, -1)
        whole: Row = np.bitwise_or.reduce(rows)
        return whole

    def _rooms(self, text: StringState, left: int, sure: Sure) -> Iterator[tuple[int, int, int]]:
        """(least, most, room): tokens that begin so many characters may leave ``room`` bytes to finish."""
        last = min(self._masks.longest(text.mode), self._most - text.length)
        rooms = [min(LONGEST_FINISH, left - self._rest(text.length + k, sure)) for k in range(last + 1)]
        begin = 0
        for at in range(1, last + 2):
            if at > last or rooms[at] != rooms[begin]:
                if rooms[begin] >= 0:
                    yield begin, at - 1, rooms[begin]
                begin = at

    def _rest(self, length: int, sure: Sure) -> int:
        """Tokens that surely suffice behind so many characters: one for each more, and those of the end."""
        known = self._rests.get(length)
        if known is None:
            known = UNBOUNDED
            for end in range(max(length, self._least), self._most + 1):
                if end - length + 1 >= known:
                    break
                known = min(known, end - length + self._closing_cost(end, sure))
            self._rests[length] = known
        return known

    def _closing_cost(self, length: int, sure: Sure) -> int:
        """Tokens that surely suffice behind a finished text of this length, with the one that closes it."""
        costs = self._sure_behind(length, sure)
        single = (1 + cost for ending, cost in costs.items() if self._vocabulary.token_id(ending) is not None)
        return min(single, default=UNBOUNDED)

    def _sure_behind(self, length: int, sure: Sure) -> dict[bytes, int]:
        known = self._sures.get(length)
        if known is None:
            endings = self.endings(length).items()
            known = self._sures[length] = {ending: min(map(sure, places)) for ending, places in endings}
        return known
