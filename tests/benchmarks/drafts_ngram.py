"""A prompt n-gram drafter, as strong as its shape allows.

The text so far is the prompt and the record. Each earlier place whose last tokens are those of the text, one
to ``most`` of them, proposes what followed it there. The proposals make a tree of tokens: a branch has the
points of its places, ``4 ** n`` for a match of n tokens and a little more for a later place. The tokens with
most points are drafted, at most ``breadth`` behind one another; breadth 1 is a chain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush, nlargest
from itertools import product

from tests.benchmarks.drafts_gold import Gold
from tests.benchmarks.drafts_walk import Count

_MAX_PLACES = 64


@dataclass(frozen=True)
class Shape:
    """How n-grams are matched and how wide they branch."""

    most: int
    breadth: int

    @property
    def name(self) -> str:
        """As it stands in the report."""
        return f"ngram most {self.most} breadth {self.breadth}"


SHAPES = tuple(Shape(most, breadth) for most, breadth in product((1, 2, 3, 5), (1, 2, 8)))
#: those that also know earlier answers
RECALLING = tuple(Shape(most, breadth) for most, breadth in product((2, 5), (1, 8)))


@dataclass
class NgramDrafter:
    """Drafts from prompt and record; see the module. before: text that stands in front of the prompt."""

    shape: Shape
    width: int
    before: Sequence[int] = ()

    def count(self, gold: Gold) -> Count:
        """Walk along a record."""
        text = [*self.before, *gold.prompt, gold.record[0]]
        places: dict[int, list[int]] = defaultdict(list)
        for at, token in enumerate(text[:-1]):
            places[token].append(at)
        whole = [*self.before, *gold.prompt, *gold.record]
        end = len(whole)
        done = Count(tokens=len(gold.record) - 1)
        while len(text) < end:
            drafted, gained = self._draft(text, places, whole)
            done.drafted += drafted
            done.steps += 1
            known = min(end, len(text) + gained + 1)
            for at in range(len(text) - 1, known - 1):
                places[whole[at]].append(at)
            text += whole[len(text) : known]
        return done

    def _draft(
        self, text: Sequence[int], places: dict[int, list[int]], whole: Sequence[int]
    ) -> tuple[int, int]:
        """How many tokens are drafted, and how many of them the record goes on with."""
        roots = self._proposals(text, places)
        found: list[tuple[float, int, int, list[tuple[float, int]], bool]] = []
        room, drafted, gained, order = self.width - 1, 0, 0, 0

        def push(proposals: list[tuple[float, int]], depth: int, right: bool) -> None:
            nonlocal order
            points: dict[int, float] = defaultdict(float)
            behind: dict[int, list[tuple[float, int]]] = defaultdict(list)
            for score, at in proposals:
                if at < len(text):
                    points[text[at]] += score
                    behind[text[at]].append((score, at + 1))
            for token in nlargest(self.shape.breadth, points, key=points.__getitem__):
                place = len(text) + depth
                goes_on = right and place < len(whole) and whole[place] == token
                heappush(found, (-points[token], order, depth + 1, behind[token], goes_on))
                order += 1

        push(roots, 0, True)
        while found and drafted < room:
            _, _, depth, behind, right = heappop(found)
            drafted += 1
            gained = max(gained, depth if right else 0)
            push(behind, depth, right)
        return drafted, gained

    def _proposals(self, text: Sequence[int], places: dict[int, list[int]]) -> list[tuple[float, int]]:
        """Points and the index of the next token, of each earlier place that matches."""
        made = []
        for place in places.get(text[-1], ())[-_MAX_PLACES:]:
            length = 1
            while length < self.shape.most and length <= place and text[place - length] == text[-1 - length]:
                length += 1
            made.append((4.0**length * (1.0 + place / len(text) / 8), place + 1))
        return made
