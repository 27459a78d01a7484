"""The runs of one spec, remembered by the tokens that were chosen between them.

::

    root: c c c c *─41─ c c *─7── c c c c       c certain, * the model decides: a child for each token that
                  │         └─9── c *           some session has chosen there
                  └─12─ c c c *

All sessions of a spec walk this tree, so the second one that writes a record finds in dictionaries what the
first one worked out. Sessions refer to runs and never to the tree's shape, so the tree may be forgotten at
any time; that happens when it has grown too large.

Branches grow together again where records go on alike (``likeness.py``): a run that begins alike is the one
that is known, and one that ends alike has the same children. So behind what no relation reads the tree is no
larger than the program.

Within free text nothing is remembered, since texts differ (but within numbers: those have few states). A
token that closes a text leads to places of the program that do not depend on what the text says: the run
behind it is remembered by those.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from threading import Lock
from typing import TypeVar

from factorspec_sdk.decoding.holes import HoleStep
from factorspec_sdk.decoding.hypotheses import Hypothesis, NumberStep, Opening, RowWalk
from factorspec_sdk.decoding.likeness import likeness
from factorspec_sdk.decoding.number_runs import Behind, Keyed, NumberRuns
from factorspec_sdk.decoding.opening import Opener
from factorspec_sdk.decoding.runs import Exit, Run, run_from, run_in_text
from factorspec_sdk.tokens import Held

KeyT = TypeVar("KeyT")
# Measured: a child that begins as a known run does but has tokens of its own, and an entry among children.
_LINK_BYTES = 256
_ENTRY_BYTES = 64
_BYTES_OF_TOKEN = 48
# Values of a table whose runs are remembered together, and tokens that follow a number with its digits' runs.
_MAX_LINKED = 64
_MAX_EXITS = 4
# Endings of a text behind which runs are worked out before it ends.
_MAX_ENDINGS = 16


class RunTree:
    """Runs by the tokens chosen between them. Every method may be called from any thread.

    Attributes:
        num_bytes: about the memory that the remembered runs take.
    """

    def __init__(self, opener: Opener, max_bytes: int) -> None:
        """A tree of at most about ``max_bytes``; 0: nothing is remembered."""
        self._opener = opener
        self._max_bytes = max_bytes
        self._lock = Lock()
        self._root: Run | None = None
        self._beginning: dict[Hashable, Run] = {}
        self._ending: dict[tuple[Hashable, ...], Run] = {}
        self._texts: dict[HoleStep, Run] = {}
        self._numbers = NumberRuns(opener)
        self.num_bytes = 0

    def root(self) -> Run:
        """The run before the first decision."""
        if self._root is None:
            self._root = run_from(self._opener, [self._opener.start()])
        return self._root

    def after(self, run: Run, token: int) -> Run:
        """The run behind a token that is allowed after a run of this tree."""
        known = run.children.get(token)
        if known is not None:
            return known
        first = run.after[0]
        made = None
        if type(first) is RowWalk and len(run.after) == 1:
            made = self._behind_only_row(run, first, token)
        elif type(first) is NumberStep:
            made = self._in_number(run, first, token)
        if made is None:
            pending = [after for hypothesis in run.after for after in hypothesis.advance(token)]
            if any(map(_may_be_anything, run.after)):
                if not all(isinstance(item, Opening) for item in pending):
                    return run_from(self._opener, pending)
                return self._begun(pending)
            made = self._behind_row(pending)
        return self._keep(run.children, token, made, _LINK_BYTES + _BYTES_OF_TOKEN * len(made.tokens))

    def look_behind(self, step: HoleStep, is_over: Callable[[], bool]) -> None:
        """Work out the runs behind a text, as far as these do not depend on what it says, until ``is_over``;
        those behind endings that write most first.
        """
        place = step.place
        if place.is_looked_behind:
            return
        endings = place.fixed_endings()
        for ending in sorted(endings, key=len, reverse=True)[:_MAX_ENDINGS]:
            if is_over():
                return
            self._begun([*endings[ending]])
        place.is_looked_behind = True

    def _behind_only_row(self, run: Run, walk: RowWalk, token: int) -> Run | None:
        """The run behind a token of a table, if just one row goes on so."""
        table, first, end, depth, source = walk
        lo, hi = table.narrow(first, end, depth, token)
        if hi - lo != 1:
            return None
        held, slot = table.helds[lo], source.site.slot
        behind = self._begun([source.exit(table.order[lo], held)])
        if end - first <= _MAX_LINKED and source.site.domain is not None and slot is not None:
            if not source.feasibility.reads(slot):
                self._link_rows(run, walk, behind, held)
        return _with_row(table.rows[lo][depth + 1 :], behind)

    def _link_rows(self, run: Run, walk: RowWalk, behind: Run, held: Held) -> None:
        """Remember the runs behind all values of a table, where no relation reads which one it is."""
        table, lo, hi, depth, _ = walk
        rows, helds = table.rows, table.helds
        found, num_tokens = {}, 0
        for at in range(lo, hi):
            row = rows[at]
            if len(row) == depth or helds[at] != held:
                return
            # Behind a token that several rows go on by there is a choice.
            found[row[depth]] = None if row[depth] in found else row
            num_tokens += len(row) + len(behind.tokens)
        children = {
            token: _with_row(row[depth + 1 :], behind) for token, row in found.items() if row is not None
        }
        size = _LINK_BYTES * len(children) + _BYTES_OF_TOKEN * num_tokens
        with self._lock:
            if self.num_bytes + size <= self._max_bytes:
                self.num_bytes += size
                run.children.update({**children, **run.children})

    def _in_number(self, run: Run, step: NumberStep, token: int) -> Run | None:
        """The run behind a token of a number that no relation reads; of tokens alike it is remembered too."""
        after = self._numbers.exit_of(run) if self._max_bytes else None
        if after is None:
            return None
        if token not in step.next_ids:
            return self.after(after.run, token)
        behind = self._numbers.behind(step, token)
        known = self._beginning.get(behind.key)
        if known is None:
            for ending in after.ids if len(after.ids) <= _MAX_EXITS else ():
                self.after(after.run, ending)  # which the runs where the number may end take over
            known = self._new_in_number(step, token, behind, after)
        self._link(run, behind.alike, known)
        return known

    def _new_in_number(self, step: NumberStep, token: int, behind: Behind, after: Exit) -> Run:
        """The run behind a token of a number; where any digits may follow, those behind them are made too."""
        if behind.lengths is None:
            made = self._numbers.run_of(step, token, after)
            if made is None:
                made = self._behind_row([*after.run.after])
            elif made.allowed.count == 1:  # no choice: what is certain goes on
                made = self._behind_row([*step.advance(token)])
            return self._keep(self._beginning, behind.key, made, made.num_bytes)
        chain = self._numbers.chain(step, token, behind.lengths, after)
        run = self._behind_row([*after.run.after])  # where the number ends
        kept: list[Keyed] = []
        for key, before in reversed(chain):
            known = self._beginning.get(key)
            if known is None:
                digits = before.after[0].ids()
                before.children.update(dict.fromkeys(digits, run))
                kept.append(Keyed(key, before))
            run = before if known is None else known
        self._keep_all(kept)
        return run

    def _keep_all(self, runs: list[Keyed]) -> None:
        """Remember some runs with their children, if there is room."""
        size = sum(run.num_bytes + _ENTRY_BYTES * len(run.children) for _, run in runs)
        with self._lock:
            if self.num_bytes + size > self._max_bytes:
                self._forget()
            if size <= self._max_bytes:
                self.num_bytes += size
                self._beginning.update(runs)

    def in_text(self, step: HoleStep) -> Run:
        """The empty run where a text stands; kept where texts have few states."""
        if step.place.steps is None:
            return run_in_text(step)
        known = self._texts.get(step)
        if known is None:
            made = run_in_text(step)
            known = self._keep(self._texts, step, made, made.num_bytes)
        return known

    def _behind_row(self, pending: list[Hypothesis | Opening]) -> Run:
        """The run of what is left; of one row of a table, its tokens and the run behind it."""
        row = pending[0]
        if len(pending) > 1 or not isinstance(row, RowWalk) or row.hi - row.lo > 1:
            return self._begun(pending)
        table, at = row.table, row.lo
        behind = self._begun([row.source.exit(table.order[at], table.helds[at])])
        return _with_row(table.rows[at][row.depth :], behind)

    def _begun(self, pending: list[Hypothesis | Opening]) -> Run:
        """The run that begins so."""
        alike = tuple(map(likeness, pending))
        known = self._beginning.get(alike)
        if known is None:
            made = self._joined(run_from(self._opener, pending))
            known = self._keep(self._beginning, alike, made, made.num_bytes)
        return known

    def _joined(self, run: Run) -> Run:
        """The run; what follows it is shared with a run that ends alike, if there is one."""
        if run.num_bytes > self._max_bytes:
            return run
        known = self._ending.setdefault(tuple(map(likeness, run.after)), run)
        if known is run:
            return run
        allowed, text, children = known.allowed, known.text, known.children
        return Run(run.tokens, run.after, allowed, run.free, run.complete, text, children=children)

    def _keep(self, memo: dict[KeyT, Run], key: KeyT, run: Run, size: int) -> Run:
        """Remember a run, which takes so many bytes. If another thread was faster, its run is the one."""
        if size > self._max_bytes:
            return run
        with self._lock:
            if self.num_bytes + size > self._max_bytes:
                self._forget()
            self.num_bytes += size
            return memo.setdefault(key, run)

    def _link(self, run: Run, tokens: Collection[int], behind: Run) -> None:
        """Remember a run behind some more tokens, if there is room."""
        size = _ENTRY_BYTES * len(tokens)
        with self._lock:
            if self.num_bytes + size <= self._max_bytes:
                self.num_bytes += size
                for token in tokens:
                    run.children.setdefault(token, behind)

    def _forget(self) -> None:
        """Begin anew. Sessions keep the runs that they stand on, and what they add to those."""
        if self._root is not None:
            self._root.children.clear()
        self._beginning.clear()
        self._ending.clear()
        self._texts.clear()
        self._numbers.forget()
        self.num_bytes = 0


def _with_row(rest: tuple[int, ...], behind: Run) -> Run:
    """The run of the rest of a row and what is certain behind it."""
    tokens, children = (*rest, *behind.tokens), behind.children
    return Run(
        tokens, behind.after, behind.allowed, behind.free, behind.complete, behind.text, children=children
    )


def _may_be_anything(hypothesis: Hypothesis) -> bool:
    """True for a text of which nothing is remembered."""
    return isinstance(hypothesis, HoleStep) and not hypothesis.prefix and hypothesis.place.steps is None
