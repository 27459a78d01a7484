"""Free text between literals: opening it, going on, closing it with tokens that run into the next literal.

What is promised (*free split*): the text's tokens are the model's own; the decoded bytes are a text that the
hole's rules admit; and from the first cut after the closing quote on the tokens are canonical again. An added
token is never part of a text. The text stands as the model writes it, also where the tokenizer's normaliser
would join its characters (``e`` and U+0301 under NFC): the record's tokens spell it exactly, but no encoding
gives them, and canonical text admits none such.

::

    "note": "Hi there.", "day": 3
          ^^                         opening: held tail ' "' may merge with the text (' "(')
            ^^^^^^^^^                going on: any split
                     ^^              closing: '."', '.",' or '"', '",'; canonical from the cut before ' "day'

*Opening*. The held tail W is followed by text that is not known. A token may begin at byte q of W and reach
into the text, so for every such q there is a hypothesis: canonical tokens of W[:q], then a token of W[q:] and
some text. Beside them stands the plain one: all canonical tokens of W, then text. Whether the pre-token that
W[:q] ends in goes on there is not known, so there may be two of each (``Canonical.begun``).

*Closing*. A token may hold the end of the text and an *ending*: a beginning of what the program writes next,
up to the first cut (no canonical token reaches beyond one). What remains up to that cut is written as one
piece. An ending may pass decisions without text of their own ("one more item?"), so it is the oracle that
says which endings there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from factorspec_sdk.decoding.counted_rules import CountedRules, counted_rules
from factorspec_sdk.decoding.free_numbers import FreeNumbers
from factorspec_sdk.decoding.grammars import MAX_GRAMMAR_SIZE, GrammarRules, grammar_too_large
from factorspec_sdk.decoding.hypotheses import NARROWED, Hypothesis, Opening
from factorspec_sdk.decoding.json_bytes import TooManyBytes
from factorspec_sdk.decoding.layout import Layout
from factorspec_sdk.decoding.measured import MeasuredPlace
from factorspec_sdk.decoding.piece_rules import PieceRules
from factorspec_sdk.decoding.placed_rules import grammar_rules
from factorspec_sdk.decoding.string_rules import StringRules
from factorspec_sdk.decoding.text_places import HolePlace, TextPlace
from factorspec_sdk.decoding.text_rules import TextRules, TextState
from factorspec_sdk.graph.feasibility import Feasibility, State
from factorspec_sdk.graph.program import Branch, Hole, HoleSpec, Length, Literal
from factorspec_sdk.tokens import NOTHING_HELD, Allowed, Canonical, Vocabulary
from factorspec_sdk.tokens.masks import Row
from factorspec_sdk.wire.languages.automaton import TooManyStates
from factorspec_sdk.wire.languages.bounded import BOUNDED_FORMATS
from factorspec_sdk.wire.languages.lengths import LengthsTooMany
from factorspec_sdk.wire.patterns import PatternProblem

_MAX_ENDINGS = 1 << 10


class HoleStep(NamedTuple):
    """Free text part way through; ``prefix`` must be written by the next token, together with some text."""

    place: TextPlace
    prefix: bytes
    text: TextState

    @property
    def free(self) -> bool:
        """Always free text."""
        return True

    @property
    def row(self) -> Row | None:
        """Tokens by which the text goes on."""
        return None if self.prefix else self.place.rules.row(self.text)

    def ids(self) -> Sequence[int] | frozenset[int]:
        """Tokens that close the text; at the opening also those that go on."""
        place = self.place
        if self.prefix:
            return place.first_ids(self.prefix)
        return place.closing_ids(self.text)

    def allowed(self) -> Allowed:
        """``row`` and ``ids`` together. Shared: do not change."""
        return Allowed.of(self.ids()) if self.prefix else self.place.allowed(self.text)

    def on(self, token: int) -> HoleStep | None:
        """The step after a token that lies wholly inside the text; itself where that changes nothing."""
        place, prefix, text = self
        after = None if prefix else place.rules.after(text, token)
        if after is None:
            return None
        if after is text:
            return self
        steps = place.steps
        if steps is None:
            return HoleStep(place, b"", after)
        return steps.get(after) or steps.setdefault(after, HoleStep(place, b"", after))

    def advance(self, token: int) -> Iterator[Hypothesis | Opening]:
        """The text goes on, or it is closed."""
        if self.prefix:
            yield from self._begin(token)
            return
        on = self.on(token)
        if on is not None:
            yield on  # and no token closes a text that it goes on with
        else:
            data = self.place.rules.bytes_of(token)
            if data:
                yield from self.place.closed(self.text, data)

    def _begin(self, token: int) -> Iterator[Hypothesis | Opening]:
        """The prefix is written, and the text begun or written whole."""
        place, rules = self.place, self.place.rules
        data = rules.bytes_of(token)
        if not data.startswith(self.prefix) or len(data) == len(self.prefix):
            return
        data = data[len(self.prefix) :]
        after = rules.walk(self.text, data) if rules.may_go_on(self.text, data) else None
        if after is not None:
            yield HoleStep(place, b"", after)
        yield from place.closed(self.text, data)

    def split(self) -> tuple[Hypothesis | None, Sequence[Opening]]:
        """Stays: text is closed by tokens only."""
        return self, ()


class Lead(NamedTuple):
    """Fixed tokens before ``then``; ``at`` of them are written."""

    tokens: tuple[int, ...]
    at: int
    then: Hypothesis

    @property
    def free(self) -> bool:
        """These tokens are not text."""
        return False

    @property
    def row(self) -> Row | None:
        """Never a packed row."""
        return None

    def ids(self) -> Sequence[int]:
        """The next of the tokens."""
        return self.tokens[self.at : self.at + 1]

    def advance(self, token: int) -> Iterator[Hypothesis | Opening]:
        """One token further."""
        if self.tokens[self.at] == token:
            done = self.at + 1 == len(self.tokens)
            yield self.then if done else Lead(self.tokens, self.at + 1, self.then)

    def split(self) -> tuple[Hypothesis | None, Sequence[Opening]]:
        """Stays."""
        return self, ()


class Holes:
    """Opens holes of one program under one vocabulary."""

    def __init__(self, layout: Layout, feasibility: Feasibility, canonical: Canonical) -> None:
        self.layout = layout
        self._feasibility = feasibility
        self._canonical = canonical
        self._rules: dict[int, TextRules] = {}
        self._grammars: dict[int, GrammarRules | CountedRules] = {}

    def open(self, at: Opening, node: Hole) -> Iterator[Hypothesis]:
        """The ways in which a held tail and a text may be written."""
        place = self._place(at.state, node)
        text = at.held.text
        start = place.rules.start()
        given = self._canonical.encode_piece(text)[: at.held.emitted] if text else ()
        for split in range(len(text), -1, -1):
            prefix = text[split:].encode()
            if prefix and not place.first_ids(prefix):
                continue
            for before in self._canonical.begun(text[:split]):
                if before[: len(given)] == given:
                    yield _lead(before[len(given) :], HoleStep(place, prefix, start))
        if isinstance(place, MeasuredPlace) and not place.lengths.complete:
            yield NARROWED

    def _place(self, state: State, node: Hole) -> TextPlace:
        behind = self.layout.node(node.next)
        if not isinstance(behind, Length):
            return HolePlace(self.endings, state, node.next, self.rules(node.hole))
        domain, vocabulary = self.layout.program.slots[behind.slot].domain, self.layout.vocabulary
        return MeasuredPlace(self.endings, self._feasibility, vocabulary, state, node.next, behind, domain)

    @property
    def num_bytes(self) -> int:
        """About the memory that the texts' grammars take now, in bytes."""
        return sum(rules.num_bytes for rules in self._grammars.values())

    def check(self) -> None:
        """Compile the grammars of all texts, before any record is begun.

        Raises:
            DocumentError: XGrammar refuses one.
            TooLarge: they are too large together.
        """
        size = 0
        for hole, spec in enumerate(self.layout.program.holes):
            rules = self.rules(hole) if spec.schema is not None or spec.grammar is not None else None
            if isinstance(rules, GrammarRules | CountedRules) and id(rules) not in self._grammars:
                self._grammars[id(rules)] = rules
                size += rules.size if isinstance(rules, GrammarRules) else 0
                if size > MAX_GRAMMAR_SIZE:
                    raise grammar_too_large(spec.path)

    def rules(self, hole: int) -> TextRules:
        """The rules of a hole's text."""
        known = self._rules.get(hole)
        if known is None:
            spec, vocabulary = self.layout.program.holes[hole], self.layout.vocabulary
            if spec.sources is not None:
                known = PieceRules.of(vocabulary, spec.sources, spec.min_length, spec.max_length or 0)
            elif spec.kind == "string" and spec.schema is None:
                known = StringRules.of(vocabulary, spec.min_length, spec.max_length)
            else:
                known = FreeNumbers.of(vocabulary, spec) or _counted(spec, vocabulary)
                known = known or grammar_rules(spec, vocabulary)
            self._rules[hole] = known
        return known

    def endings(self, state: State, pc: int) -> dict[bytes, list[Opening]]:
        """Beginnings of what is written from ``pc`` on, up to the first cut or the next value."""
        found: dict[bytes, list[Opening]] = {}
        stack: list[tuple[str, State, int]] = [("", state, pc)]
        while stack and len(found) < _MAX_ENDINGS:
            text, here, pc = stack.pop()
            node = self.layout.node(pc)
            if isinstance(node, Branch):
                for index in self._feasibility.values(here, node.slot):
                    after = self._feasibility.assign(here, node.slot, index)
                    stack.append((text, after, node.targets[index]))
            elif isinstance(node, Literal):
                literal = self.layout.literal(pc)
                cut = self._canonical.cuts.first_cut_at_or_after(text + literal, 1)
                for end in range(1, (len(text + literal) if cut is None else cut) - len(text) + 1):
                    place = Opening(here, pc, NOTHING_HELD, end)
                    if end == len(literal):
                        place = Opening(here, node.next, NOTHING_HELD)
                    found.setdefault((text + literal[:end]).encode(), []).append(place)
                if cut is None:
                    stack.append((text + literal, here, node.next))
        return found


def _counted(spec: HoleSpec, vocabulary: Vocabulary) -> TextRules | None:
    """The rules of a string with bounds and a pattern or a format; None for any other hole."""
    if spec.kind != "string" or spec.schema is None or (spec.min_length, spec.max_length) == (0, None):
        return None
    pattern, name = spec.schema.get("pattern"), spec.schema.get("format")
    if not isinstance(pattern, str | None) or not isinstance(name, str | None):
        return None
    if (pattern, name) == (None, None) or (name is not None and name not in BOUNDED_FORMATS):
        return None
    try:
        return counted_rules(vocabulary, pattern, name, spec.min_length, spec.max_length)
    except (PatternProblem, TooManyStates):
        return None
    except (TooManyBytes, LengthsTooMany):
        raise grammar_too_large(spec.path) from None


def _lead(tokens: tuple[int, ...], then: Hypothesis) -> Hypothesis:
    return Lead(tokens, 0, then) if tokens else then
