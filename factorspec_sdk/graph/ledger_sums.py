"""What items can still add to one sum of a ledger, exactly, for any number of items.

A *need* is an interval ``(lo, hi)`` that the items still to come must add. Which numbers of items can meet
it is a bit mask (``counts``); which numbers one item may add, so that so many others can meet the rest, is a
set of intervals (``additions``), and, where a single other item must add one exact number, a question to the
``Sumsets``.

A sum is *loose* where needs are so wide that what items can add leaves no gap: then k items can add whatever
lies between k times the least and k times the most. It is *exact* where needs are single numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from factorspec_sdk.fields.asked import AskedSet, Spans
from factorspec_sdk.fields.domains import Domain
from factorspec_sdk.fields.intervals import Intervals, Progression, Span
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.fields.sumsets import WINDOW, Sumsets, TooRagged
from factorspec_sdk.graph.factors import bits
from factorspec_sdk.graph.ledger_shape import UNBOUNDED, NotLedger, Register

Need = tuple[int, int]
#: needs whose counts are remembered
MAX_REMEMBERED = 4_096


class RegisterSums:
    """The sums of one register.

    single_gaps: a single item's numbers are too many to list and have gaps, so that they are asked for.
    """

    def __init__(
        self, register: Register, added: Iterable[Progression], num_items: int, window: int = WINDOW
    ) -> None:
        """Raises ``NotLedger`` where needs are neither wide enough nor exact, or sums too ragged."""
        self.register = register
        try:
            self.sums = Sumsets(added, num_items, window)
        except TooRagged:
            raise NotLedger from None
        lo, hi = register.whole_need
        self.exact = register.op == "eq" and (register.head or register.layer is None)
        width = hi - lo if register.op == "eq" else UNBOUNDED
        if not self.exact and width + 1 < self.sums.largest_gap:
            raise NotLedger
        self.single_gaps = self.exact and self.sums.spans(1) is None
        self._counts: dict[Need, int] = {}

    def counts(self, need: Need) -> int:
        """Bit k is 1 if k items can meet the need (of an open target: for some value of it)."""
        found = self._counts.get(need)
        if found is None:
            if len(self._counts) >= MAX_REMEMBERED:
                self._counts.clear()
            found = sum(1 << k for k in range(self.sums.most_terms + 1) if self._meets(k, need))
            self._counts[need] = found
        return found

    def _meets(self, terms: int, need: Need) -> bool:
        if self.exact:
            return self.sums.meets(terms, *need)
        least, most = self.sums.hull(terms)
        return need[0] <= most and least <= need[1]

    def additions(self, need: Need, counts: int) -> Intervals:
        """Numbers after which the need can be met by one of so many (bit mask) other items.

        Leaves out what only a single other item could meet where ``single_gaps``. Within what one item adds.
        """
        (lo, hi), (least, most) = need, self.sums.hull(1)
        if self.exact:
            found = self.sums.within(bits(counts), lo - most, hi - least)
            return Intervals(tuple((lo - last, lo - first) for first, last in reversed(found)))
        hulls = (self.sums.hull(terms) for terms in bits(counts))
        return Intervals.union((max(lo - high, least), min(hi - low, most)) for low, high in hulls)

    # -- targets -----------------------------------------------------------------------------------

    def head_values(self, domain: Domain, counts: int) -> IndexSet:
        """Values of a target before the items, where so many (bit mask) items may add to the sum."""
        if not self.exact:
            return self._bounded(domain, counts)
        lo, hi = self.register.whole_need
        spans = [self._indices(domain, span) for span in self.sums.within(bits(counts), lo, hi)]
        known = IndexSet.union_of(spans)
        if not (self.single_gaps and counts >> 1 & 1):
            return known
        ask = partial(self._ask_head, domain, known)
        found = ask((self._indices(domain, (lo, hi)),))[0]
        return AskedSet(len(domain), ask, [] if found is None else [found])

    def tail_value(self, domain: Domain, need: Need) -> IndexSet:
        """The value of a target behind the items: what they made of it."""
        made = self.register.whole_need[0] - need[0]
        return IndexSet((self._indices(domain, (made, made)),))

    def _bounded(self, domain: Domain, counts: int) -> IndexSet:
        """factor·code + constant + the least that items can add is at most 0."""
        register = self.register
        most = -min(self.sums.hull(terms)[0] for terms in bits(counts)) - register.constant
        codes = register.codes
        kept = [
            at
            for at in (most // register.factor, -(most // -register.factor))
            if register.factor * at <= most
        ]
        lo, hi = (
            (codes.lo, min(codes.hi, max(kept)))
            if register.factor > 0
            else (max(codes.lo, min(kept)), codes.hi)
        )
        lo += (codes.lo - lo) % codes.step
        hi -= (hi - codes.lo) % codes.step
        first, last = domain.index_of_code(lo), domain.index_of_code(hi)
        return IndexSet(()) if first is None or last is None else IndexSet.union_of([(first, last)])

    def _indices(self, domain: Domain, span: Span) -> Span:
        """Indices of the target by what the items must add: one for each number."""
        register = self.register
        ends = [domain.index_of_code(-(number + register.constant) // register.factor) for number in span]
        assert ends[0] is not None and ends[1] is not None
        return min(ends[0], ends[1]), max(ends[0], ends[1])

    def _ask_head(self, domain: Domain, known: IndexSet, spans: Spans) -> tuple[int | None, bool]:
        """A feasible index within the spans: a listed one, or one whose number a single item adds."""
        lo, hi = self.register.whole_need
        for first, last in spans:
            index = known.first_in(first, last)
            if index is not None:
                return index, True
            codes = [domain.code(first), domain.code(last)]
            ends = sorted(self.register.need(code)[1] for code in codes if isinstance(code, int))
            number = self.sums.member_in(max(ends[0], lo), min(ends[1], hi))
            if number is not None:
                return self._indices(domain, (number, number))[0], True
        return None, True
