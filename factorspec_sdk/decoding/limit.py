"""The rule near the token limit (P2): a mask keeps only tokens after which the record still fits.

With ``left`` tokens to go, a token is kept if a completion within ``left - 1`` is proven: by the bound
``sure`` of the place behind it, or by a search. While more tokens are left than any completion can take,
nothing is left out.

Why a mask is never empty: ``sure`` is the least, over all values, of a value's cost and the ``sure`` behind
it, so the value where it is reached is kept. Where the limit is below ``sure`` a search has found a witness,
which is followed until a token is proven again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy

from factorspec_sdk.decoding.costs import Bounds
from factorspec_sdk.decoding.holes import HoleStep, Lead
from factorspec_sdk.decoding.hypotheses import Hypothesis, NumberStep, Opening, RowWalk
from factorspec_sdk.decoding.json_strings import LONGEST_FINISH
from factorspec_sdk.decoding.measured import MeasuredPlace
from factorspec_sdk.decoding.opening import Opener
from factorspec_sdk.decoding.run_tree import RunTree
from factorspec_sdk.decoding.runs import Hypotheses, Run, allowed_tokens, union_of
from factorspec_sdk.decoding.search import shortest
from factorspec_sdk.decoding.text_places import ClosingCosts, HolePlace, TextPlace
from factorspec_sdk.errors import Problem, TooLarge
from factorspec_sdk.fields.asked import AskedSet
from factorspec_sdk.graph.feasibility import UNBOUNDED
from factorspec_sdk.tokens import NOTHING_HELD, Allowed
from factorspec_sdk.tokens.masks import Row


class TokenLimit:
    """The token limit of one session.

    Attributes:
        ample: with so many tokens left nothing is left out.
        near_limit: some token has been left out.
    """

    def __init__(
        self,
        opener: Opener,
        bounds: Bounds,
        runs: RunTree,
        limit: int,
        *,
        witness: tuple[int, ...] | None = None,
    ) -> None:
        """``witness``: all tokens of a record that fits; needed where the bounds do not show one."""
        self._opener = opener
        self._bounds = bounds
        self._runs = runs
        self._limit = limit
        self._witness = witness
        start = opener.layout.program.start
        # A leading mark is held before the first node.
        lead = len(opener.canonical.start.text)
        self.ample = min(UNBOUNDED, lead + bounds.costs.most(opener.feasibility.start(), start))
        self.near_limit = False

    def copy(self) -> TokenLimit:
        """One for a copy of the session, which meets things of its own from here on."""
        return copy(self)

    def limited(self, run: Run, before: Sequence[int]) -> Run:
        """What the limit leaves of a run of the tree that begins after the tokens ``before``.

        The run itself where nothing is left out. Where one token is left at its end, what is certain goes on.

        Raises:
            TooLarge: a budget left out everything that fits.
        """
        tokens = run.tokens
        while not run.complete:
            kept = None
            if not self.leaves_all(run, self._limit - len(before) - len(tokens)):
                kept = self._allowed(run.after, (*before, *tokens))
            if kept is None:
                kept = run.allowed
            elif kept.count == 1:
                token = int(kept.ids()[0])
                run = self._runs.after(run, token)
                tokens = (*tokens, token, *run.tokens)
                continue
            if kept is run.allowed and tokens is run.tokens:
                return run
            return Run(tokens, run.after, kept, run.free, complete=False, shared=run)
        return run if tokens is run.tokens else Run(tokens, run.after, run.allowed, False, True, shared=run)

    def leaves_all(self, run: Run, left: int) -> bool:
        """True if surely no token is left out at the end of a run, with ``left`` tokens to go. Cheap."""
        ample = run.ample
        if ample is None:
            needed = [self._needed(hypothesis) for hypothesis in run.after]
            ample = run.ample = min(self.ample, max(needed, default=0))
        return left >= ample

    def leaves_all_text(self, run: Run, step: HoleStep, num_tokens: int) -> bool:
        """True if surely no token is left out where a text stands that began behind a run. Cheap."""
        left = self._limit - num_tokens
        return self.leaves_all(run, left) or self._leaves_all(step, left)

    def _allowed(self, hypotheses: Hypotheses, tokens: Sequence[int]) -> Allowed | None:
        """The tokens after which the record still fits; None if no token is left out."""
        left = self._limit - len(tokens)
        if all(self._leaves_all(hypothesis, left) for hypothesis in hypotheses):
            return None
        kept = self._kept(hypotheses, left)
        if not kept.count:
            kept = Allowed.of(self._from_witness(hypotheses, tokens, left))
        if kept.count < allowed_tokens(hypotheses).count:
            self.near_limit = True
        return kept

    def _kept(self, hypotheses: Hypotheses, left: int) -> Allowed:
        ids: set[int] = set()
        rows: list[Row] = []
        for hypothesis in hypotheses:
            row = self._keep(hypothesis, left, ids)
            if row is not None:
                rows.append(row)
        return union_of(ids, rows)

    def _leaves_all(self, hypothesis: Hypothesis, left: int) -> bool:
        """True if any token of the hypothesis surely leaves room for a record with short texts. Cheap."""
        if isinstance(hypothesis, Lead):
            return self._leaves_all(hypothesis.then, left - len(hypothesis.tokens))
        if isinstance(hypothesis, HoleStep) and isinstance(hypothesis.place, HolePlace):
            brief = self._brief(hypothesis.place)
            return left > brief and hypothesis.place.rules.leaves_all(hypothesis.text, left - 2 - brief)
        return left >= self._needed(hypothesis)

    def _needed(self, hypothesis: Hypothesis) -> int:
        """With so many tokens left ``_leaves_all`` is sure to hold, here and later in the same text;
        ``UNBOUNDED`` where no such number is known.
        """
        if isinstance(hypothesis, RowWalk):
            return self._bounds.brief(hypothesis.source.at) - hypothesis.depth
        if isinstance(hypothesis, NumberStep):
            return self._bounds.brief(hypothesis.source.at)
        if isinstance(hypothesis, Lead):
            return len(hypothesis.tokens) + self._needed(hypothesis.then)
        if not isinstance(hypothesis, HoleStep):
            return 0
        # After the next token: the text's end, a token that closes it, and what comes behind.
        behind = 2 + self._brief(hypothesis.place)
        if isinstance(hypothesis.place, MeasuredPlace):  # ``brief`` is enough for the longest text
            return behind + LONGEST_FINISH
        needed = hypothesis.place.rules.needed(hypothesis.text)
        return UNBOUNDED if needed is None else behind + needed

    def _brief(self, place: TextPlace) -> int:
        if place.brief is None and isinstance(place, MeasuredPlace):
            # A token that closes the text may leave more tokens of the first piece behind it than it has.
            whole = self._bounds.brief(Opening(place.state, place.behind, NOTHING_HELD))
            place.brief = whole + self._bounds.cost.region(place.behind)
        elif place.brief is None:
            assert isinstance(place, HolePlace)
            openings = [opening for found in place.endings.values() for opening in found]
            place.brief = max(map(self._bounds.brief, openings), default=UNBOUNDED)
        return place.brief

    def _keep(self, hypothesis: Hypothesis, left: int, ids: set[int]) -> Row | None:
        """Add the tokens of a hypothesis after which the record still fits."""
        if isinstance(hypothesis, RowWalk):
            self._keep_rows(hypothesis, left, ids)
        elif isinstance(hypothesis, HoleStep) and not hypothesis.prefix:
            return self._keep_text(hypothesis, left, ids)
        elif isinstance(hypothesis, HoleStep):
            for token in hypothesis.ids():
                if self._fits(hypothesis.advance(token), left - 1):
                    ids.add(token)
        elif isinstance(hypothesis, Lead):
            if self._sure(hypothesis) <= left:
                ids.update(hypothesis.ids())
        elif isinstance(hypothesis, NumberStep):
            self._keep_numbers(hypothesis, left, ids)
        return None

    def _keep_rows(self, walk: RowWalk, left: int, ids: set[int]) -> None:
        table, depth = walk.table, walk.depth
        for at in range(walk.lo, walk.hi):
            row = table.rows[at]
            if row[depth] not in ids and len(row) - depth <= left:
                exit_place = walk.source.exit(table.order[at], table.helds[at])
                if self._bounds.fits(exit_place, left - len(row) + depth):
                    ids.add(row[depth])

    def _keep_text(self, step: HoleStep, left: int, ids: set[int]) -> Row:
        """Text goes on while it can be finished and closed; tokens that close it must lead to what fits."""
        if isinstance(step.place, MeasuredPlace):
            return step.place.keep(step.text, left, self._bounds.sure, ids)
        rules, costs = step.place.rules, self._closing(step)
        for ending, sure in costs.sure.items():
            if sure < left:
                ids.update(rules.closing(step.text, ending))
        return rules.row_within(step.text, left - 1 - costs.cheapest)

    def _keep_numbers(self, step: NumberStep, left: int, ids: set[int]) -> None:
        """Tokens towards the first value of each number of digits and towards the likely one (the bound
        ``sure`` is that of one of them, so one is kept), and others for which a few tries find a way. Where
        values are found by questions, those at hand are enough.
        """
        asked = step.feasible if isinstance(step.feasible, AskedSet) else None
        values = step.walk.shortest(step.number, step.values) if asked is None else self._at_hand(step, asked)
        for value in (*values, *self._likely(step)):
            rest, index = step.walk.rest(step.number, value), step.index_of(value)
            if rest and index is not None and rest[0] not in ids and len(rest) <= left:
                if self._bounds.fits(step.exit(index), left - len(rest)):
                    ids.add(rest[0])
        if asked is not None:
            return
        for token in step.ids() - ids:
            after = next(iter(step.advance(token)))
            if isinstance(after, NumberStep) and self._number_fits(after, left - 1):
                ids.add(token)

    def _likely(self, step: NumberStep) -> Iterator[int]:
        """The number by which the completion at hand goes on, if there is one."""
        slot, stride = step.source.site.slot, step.source.site.stride
        assert slot is not None and stride is not None
        index = self._bounds.costs.likely(step.source.at.state, slot)
        if index is not None:
            yield stride.code(index)

    def _at_hand(self, step: NumberStep, asked: AskedSet) -> Iterator[int]:
        """The numbers that are known to be feasible."""
        return (step.values.start + step.values.step * index for index in asked.at_hand)

    def _number_fits(self, step: NumberStep, left: int) -> bool:
        """True if the number may end here, or go on by its shortest ways, and the record fits then."""
        pending = [(step, left)]
        tried = 0
        while pending and tried < _MAX_NUMBERS:
            tried += 1
            here, room = pending.pop()
            _, openings = here.split()
            if self._fits(openings, room):
                return True
            if room > 0:
                for token in sorted(here.next_ids)[:_MAX_BRANCHES]:
                    pending += [(n, room - 1) for n in here.advance(token) if isinstance(n, NumberStep)]
        return False

    def _fits(self, items: Iterable[Hypothesis | Opening], left: int) -> bool:
        bounds = self._bounds
        return any(
            bounds.fits(item, left) if isinstance(item, Opening) else self._sure(item) <= left
            for item in items
        )

    def _sure(self, item: Hypothesis | Opening) -> int:
        """Tokens by which an item can surely be completed."""
        if isinstance(item, Opening):
            return self._bounds.sure(item)
        if isinstance(item, Lead):
            return len(item.tokens) - item.at + self._sure(item.then)
        if isinstance(item, HoleStep) and not item.prefix:
            if isinstance(item.place, MeasuredPlace):
                return item.place.sure(item.text, self._bounds.sure)
            return item.place.rules.finish_cost(item.text) + self._closing(item).cheapest
        return UNBOUNDED

    def _closing(self, step: HoleStep) -> ClosingCosts:
        place, vocabulary = step.place, self._opener.layout.vocabulary
        assert isinstance(place, HolePlace)
        if place.closing is None:
            bounds, endings = self._bounds, place.endings
            sure = {ending: min(map(bounds.sure, openings)) for ending, openings in endings.items()}
            cheapest = [1 + cost for ending, cost in sure.items() if vocabulary.token_id(ending) is not None]
            place.closing = ClosingCosts(sure, min(cheapest, default=UNBOUNDED))
        return place.closing

    def _from_witness(self, hypotheses: Hypotheses, tokens: Sequence[int], left: int) -> tuple[int, ...]:
        """The next token of a witness, which is searched for if the one at hand has been left."""
        done = len(tokens)
        if not self._follows_witness(hypotheses, tokens):
            found = shortest(self._opener, self._bounds, hypotheses, left)
            if found.tokens is None:
                raise TooLarge(
                    "the record may not fit into the tokens left",
                    [Problem("", f"no completion with {left} tokens was found within the budget")],
                )
            self._witness = (*tokens, *found.tokens)
        assert self._witness is not None
        return self._witness[done : done + 1]

    def _follows_witness(self, hypotheses: Hypotheses, tokens: Sequence[int]) -> bool:
        """True if the witness at hand goes on from here; a budget may have left out its reading."""
        witness, done = self._witness, len(tokens)
        if witness is None or len(witness) <= done or witness[:done] != tuple(tokens):
            return False
        return witness[done] in allowed_tokens(hypotheses)


_MAX_NUMBERS = 64
_MAX_BRANCHES = 12
