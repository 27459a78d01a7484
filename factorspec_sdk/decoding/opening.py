"""Opening a decision: from a place of the program to hypotheses, through tables of rows that are made once.

Two caches, both by content and bounded: the row of each candidate (site, held tail, index), and the sorted
table of a set of feasible candidates (site, held tail, set). Both are plain dictionaries whose every use is a
single operation, so that threads may share them; at worst something is made twice.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from factorspec_sdk.decoding.holes import Holes
from factorspec_sdk.decoding.hypotheses import (
    DONE,
    NARROWED,
    Hypothesis,
    NumberStep,
    Opening,
    RowWalk,
    Source,
)
from factorspec_sdk.decoding.layout import Layout, Site
from factorspec_sdk.decoding.parts import WholeTable
from factorspec_sdk.errors import Problem, TooLarge
from factorspec_sdk.fields.domains import Domain
from factorspec_sdk.fields.forms import Form, form_of
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph.feasibility import Feasibility
from factorspec_sdk.graph.program import Branch, End, Hole, Literal, Value
from factorspec_sdk.tokens import (
    Canonical,
    Continuation,
    DigitWalk,
    Held,
    RowTable,
    SteppedValues,
    certain,
    certain_by_last_cut,
    certain_rows,
    supports_form,
    supports_numbers,
    walk_of,
)
from factorspec_sdk.tokens.memo import Memo

CandidateRow = tuple[tuple[int, ...], Held]

# From this many candidates on, tables are parts of the whole domain's where that pays.
_SMALL = 64
# From this many feasible integers on, digits are walked instead of listing the values.
_LISTED_INTEGERS = 64
# The same where pre-tokens are single digits: those are walked at little cost.
_LISTED_BY_DIGITS = 16
# The same for decimals, dates and times.
_LISTED_TEXTS = 4096
MAX_CANDIDATES = 1 << 16
_NOT_WALKED = "Narrow the range, or use a tokenizer whose rule for digits is known"
_MAX_TABLES = 1 << 13
_MAX_WHOLES = 1 << 6
_MAX_CACHED_ROWS = 1 << 17
_MAX_TABLE_BYTES = 1 << 26
# What a table takes by itself, each of its rows there, and a row by itself: measured, in bytes.
_TABLE_BYTES = 1000
_TABLE_ROW_BYTES = 150
_ROW_BYTES = 450
_LITERAL = IndexSet(((0, 0),))


class Forced(NamedTuple):
    """Certain tokens, the place behind them, and the feasible values of the slot there if it was asked."""

    tokens: list[int]
    at: Opening
    feasible: IndexSet | None


class Opener:
    """Makes hypotheses for one program and vocabulary. Shared by sessions."""

    def __init__(
        self, layout: Layout, feasibility: Feasibility, canonical: Canonical, max_hypotheses: int
    ) -> None:
        self.layout = layout
        self.feasibility = feasibility
        self.canonical = canonical
        self.max_hypotheses = max_hypotheses
        self.holes = Holes(layout, feasibility, canonical)
        # A text may stand before the last of the values that are told, and what follows it is not known yet.
        self._tells = not layout.program.holes
        # Without pre-tokens a text is cut where a token's end is found to stay: soon, or not at all.
        self._has_late_cuts = canonical.cuts.joins is not None
        self._walks_numbers = supports_numbers(canonical)
        self._most_listed = _LISTED_BY_DIGITS if canonical.cuts.num_digits == 1 else _LISTED_INTEGERS
        self._rows: dict[tuple[int, Held], dict[int, CandidateRow]] = {}
        self._num_rows = 0
        self._tables: Memo[tuple[int, Held, IndexSet], RowTable] = Memo(
            max_entries=_MAX_TABLES, max_bytes=_MAX_TABLE_BYTES
        )
        self._wholes: dict[tuple[int, Held], WholeTable] = {}
        self._numbers: dict[tuple[Hashable, Held], DigitWalk] = {}
        self._forms: dict[Hashable, Form | None] = {}

    @property
    def num_bytes(self) -> int:
        """About the memory that remembered rows and tables take, in bytes."""
        return _ROW_BYTES * self._num_rows + self._tables.num_bytes

    def check(self) -> None:
        """Refuse decisions with too many candidates, before any record is begun.

        Raises:
            TooLarge: naming them.
        """
        problems = [
            Problem(slot.path, f"more than {MAX_CANDIDATES} candidates", str(len(slot.domain)), _NOT_WALKED)
            for slot in self.layout.program.slots
            if len(slot.domain) > MAX_CANDIDATES and not self._walks(slot.domain)
        ]
        if problems:
            raise TooLarge("too many candidates for this tokenizer", problems)

    def start(self) -> Opening:
        """The place before the first token."""
        return Opening(self.feasibility.start(), self.layout.program.start, self.canonical.start)

    def advance(self, hypotheses: Iterable[Hypothesis], token: int) -> tuple[Hypothesis, ...]:
        """The hypotheses after one token; empty if it is not allowed."""
        return self.close([after for hypothesis in hypotheses for after in hypothesis.advance(token)])

    def close(self, pending: list[Hypothesis | Opening]) -> tuple[Hypothesis, ...]:
        """Open whatever is fully written, until each hypothesis goes on by a token or is done.

        Texts of records are prefix-free: if the tokens so far are those of a complete record, nothing can go
        on. Beyond ``max_hypotheses`` the rest is left out, and ``NARROWED`` stands last; what is kept goes on
        to valid records all the same.
        """
        out: list[Hypothesis] = []
        narrowed = False
        opened: set[Opening] = set()
        while pending:
            item = pending.pop()
            if isinstance(item, Opening):
                if item not in opened:  # branches that share values meet again behind them
                    opened.add(item)
                    pending += self.open(item)
                continue
            if item is NARROWED:
                narrowed = True
                continue
            rest, openings = item.split()
            pending += openings
            if rest is DONE:
                return (DONE, NARROWED) if narrowed else (DONE,)
            if rest is not None:
                out.append(rest)
                if len(out) + len(pending) > self.max_hypotheses:
                    narrowed = True
                    break
        return (*out, NARROWED) if narrowed and out else tuple(out)

    def forced(self, at: Opening) -> Forced:
        """What follows from a place on while each decision has one value: told by the program and the oracle.

        The texts are put together and encoded at once. Opening each place would give the same tokens, by a
        table of one row for each.
        """
        nodes, literal = self.layout.program.nodes, self.layout.literal
        state, pc, held, offset = at
        tokens: list[int] = []
        told: Iterator[int] = iter(())
        text, feasible = "", None
        while True:
            node = nodes[pc]
            if isinstance(node, Literal):
                text += literal(pc)[offset:]
                pc, offset = node.next, 0
                continue
            if not isinstance(node, Value | Branch):
                break
            if text and self._has_late_cuts:
                held, text = self._encode(tokens, held, text, pc), ""
            index = next(told, None)
            if index is None and self._tells:
                indices, state = self.feasibility.forced(state, node.slot)
                told = iter(indices)
                index = next(told, None)
            if index is None:
                feasible = self.feasibility.values(state, node.slot)
                if not feasible.is_single:
                    break
                index, feasible = feasible.first, None
                state = self.feasibility.assign(state, node.slot, index)
            if isinstance(node, Value):
                text += self.layout.value_text(node.slot, index)
            pc = node.next if isinstance(node, Value) else node.targets[index]
        if text:
            held = self._encode(tokens, held, text, pc)
        return Forced(tokens, Opening(state, pc, held, offset), feasible)

    def _encode(self, tokens: list[int], held: Held, text: str, pc: int) -> Held:
        """Append the certain tokens of a text that the node at ``pc`` follows; what is held then."""
        after = Continuation("", self.layout.following(pc), isinstance(self.layout.node(pc), End))
        found, held = certain_by_last_cut(self.canonical, held, text, after)
        tokens += found
        return held

    def open(self, at: Opening, feasible: IndexSet | None = None) -> list[Hypothesis | Opening]:
        """What a place may go on as; ``feasible``: the values of its slot, if they are known."""
        node = self.layout.node(at.pc)
        if isinstance(node, End):
            assert not at.held.text, "a record's last tokens are given out with its last text"
            return [DONE]
        if isinstance(node, Hole):
            return list(self.holes.open(at, node))
        site = self.layout.site(at.pc, at.offset)
        source = Source(self.feasibility, at, site)
        if isinstance(node, Literal):
            return [self._walk(at.held, source, _LITERAL)]
        if feasible is None:
            feasible = self.feasibility.values(at.state, node.slot)
        if isinstance(node, Branch):
            out = self._open_branch(at, source, feasible)
        elif site.domain is not None and self._prefers_walk(site.domain, len(feasible)):
            out = [self._open_number(at, source, feasible)]
        else:
            feasible = feasible.listed()
            out = [self._walk(at.held, source, feasible)]
        return out if feasible.complete else [*out, NARROWED]

    def _walks(self, domain: Domain) -> bool:
        """True if the values can be decided along their characters."""
        codes, form = domain.stride, self._form(domain)
        if form is None or codes is None:
            return domain.integers is not None and self._walks_numbers
        return supports_form(self.canonical, form, (codes.lo, codes.hi, codes.code(len(codes) // 2)))

    def _prefers_walk(self, domain: Domain, count: int) -> bool:
        if domain.integers is not None:
            return count > self._most_listed and self._walks_numbers
        return domain.stride is not None and count > _LISTED_TEXTS and self._walks(domain)

    def _form(self, domain: Domain) -> Form | None:
        if domain.key not in self._forms:
            self._forms[domain.key] = form_of(domain)
        return self._forms[domain.key]

    def table(self, site: Site, held: Held, feasible: IndexSet) -> RowTable:
        """The sorted rows of the feasible candidates. Cached.

        Of a large domain most of which is feasible, the whole is made once and parts are taken of it.
        """
        key = (site.key, held, feasible)
        table = self._tables.get(key)
        if table is None:
            if len(feasible) > _SMALL and 2 * len(feasible) > site.size > len(feasible):
                table = self._whole(site, held).part(feasible)
            else:
                table = self._make_table(site, held, feasible)
            self._tables.keep(key, table, _TABLE_BYTES + _TABLE_ROW_BYTES * len(table))
        return table

    def _whole(self, site: Site, held: Held) -> WholeTable:
        key = (site.key, held)
        whole = self._wholes.get(key)
        if whole is None:
            whole = WholeTable(self.table(site, held, IndexSet.full(site.size)))
            if len(self._wholes) >= _MAX_WHOLES:
                self._wholes.clear()
            self._wholes[key] = whole
        return whole

    def _make_table(self, site: Site, held: Held, feasible: IndexSet) -> RowTable:
        rows = self._rows_of(site, held)
        missing = [index for index in feasible if index not in rows]
        if site.domain is not None and missing:  # what follows is the same for all
            texts = map(site.text, missing)
            found = certain_rows(self.canonical, held, texts, site.part(missing[0]).after)
            rows.update(zip(missing, found, strict=True))
        else:
            for index in missing:
                rows[index] = certain(self.canonical, held, site.text(index), site.part(index).after)
        self._num_rows += len(missing)
        made = [(*rows[index], index) for index in feasible]
        made.sort()
        return RowTable([row for row, _, _ in made], [i for _, _, i in made], [h for _, h, _ in made])

    def _rows_of(self, site: Site, held: Held) -> dict[int, CandidateRow]:
        """The rows made so far after one held tail."""
        key = (site.key, held)
        rows = self._rows.get(key)
        if rows is None:
            if self._num_rows > _MAX_CACHED_ROWS:
                self._rows.clear()
                self._num_rows = 0
            rows = self._rows.setdefault(key, {})
        return rows

    def _walk(self, held: Held, source: Source, feasible: IndexSet) -> RowWalk:
        table = self.table(source.site, held, feasible)
        return RowWalk(table, 0, len(table), 0, source)

    def _open_branch(self, at: Opening, source: Source, feasible: IndexSet) -> list[Hypothesis | Opening]:
        direct = [(index, target) for index in feasible if (target := source.site.direct(index)) is not None]
        out: list[Hypothesis | Opening] = [source.exit(index, at.held) for index, _ in direct]
        if len(direct) < len(feasible):
            written = IndexSet.of(set(feasible) - {index for index, _ in direct}) if direct else feasible
            out.append(self._walk(at.held, source, written))
        return out

    def _open_number(self, at: Opening, source: Source, feasible: IndexSet) -> NumberStep:
        domain = source.site.domain
        assert domain is not None and domain.stride is not None
        codes = domain.stride
        key = (domain.key, at.held)
        walk = self._numbers.get(key)
        if walk is None:
            if len(self._numbers) >= _MAX_TABLES:
                self._numbers.clear()
            form = self._form(domain)
            walk = self._numbers[key] = walk_of(self.canonical, at.held, form, codes.lo, codes.hi)
        values = SteppedValues(codes.lo, codes.step, len(codes), feasible)
        number, node = walk.start(), self.layout.node(at.pc)
        assert isinstance(node, Value)
        ids = frozenset(walk.allowed(number, values))
        return NumberStep(walk, number, values, feasible, source, node.next, ids)
