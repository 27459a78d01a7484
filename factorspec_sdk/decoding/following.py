"""What may be written next, as texts: the continuations that tell how what stands before is encoded.

Not all of them, since in free text nearly anything may follow. Those given are legal, and differ in what
matters to a tokenizer: the text goes on with a space, a letter, a digit, a mark, a contraction, a letter that
is no token; or it ends, and what follows it does. Each runs on until a cut is likely.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from factorspec_sdk.decoding.holes import HoleStep, Lead
from factorspec_sdk.decoding.hypotheses import DONE, Hypothesis, NumberStep, Opening, RowWalk
from factorspec_sdk.decoding.json_strings import ESCAPE, OUTSIDE, PLAIN, finish
from factorspec_sdk.decoding.opening import Opener
from factorspec_sdk.decoding.runs import Hypotheses
from factorspec_sdk.decoding.text_places import TextPlace
from factorspec_sdk.decoding.text_rules import TextState
from factorspec_sdk.graph.program import End
from factorspec_sdk.tokens import Canonical, Held

#: inside a string, with the next cut behind; what is likely first
_GOING_ON = tuple(
    text.encode()
    for text in (
        " ", "1 ", " a ", ". ", "a ", "A ", " 1 ", " . ", "' ", "s ", "'s ", "t ", "ll ", "re ", "é ",
        "\U00010380 ", " \U00010380 ", "☃ ", "\u00a0a ", "\\n ",
    )
)  # fmt: skip
#: before the end of a string
_LAST = tuple(
    text.encode()
    for text in ("", " ", "a", "1", ".", " a", "'", "s", "é", "中", "\U00010380", "☃", "\\n", '\\"')
)
#: where a value is written, between and around its strings
_IN_VALUE = (
    b'"',
    b"1",
    b", ",
    b"}",
    b"]",
    b": ",
    b'"a ',
    b' "a ',
    b"true",
    b"null",
    b"{",
    b"[",
    b"-1",
    b".5",
    b" 1",
)
_AFTER_BACKSLASH = (b"n", b'"', b"\\", b"/", b"t", b"u00e9")
_MAX_ROWS = 1 << 12
_MAX_DEPTH = 2


class Ahead(NamedTuple):
    """A text that may follow; ``final``: the record ends with it."""

    data: bytes
    final: bool = False


class Following:
    """What may follow the hypotheses of one program. Without state."""

    def __init__(self, opener: Opener, canonical: Canonical) -> None:
        self._opener = opener
        self._canonical = canonical

    def texts(self, hypotheses: Hypotheses, depth: int = 0) -> Iterator[Ahead]:
        """Texts by which some hypothesis goes on. Lazy: the first one mostly settles what is asked."""
        for hypothesis in hypotheses:
            yield from self._of(hypothesis, depth)

    def _of(self, hypothesis: Hypothesis, depth: int) -> Iterator[Ahead]:
        vocabulary = self._canonical.vocabulary
        if isinstance(hypothesis, HoleStep):
            yield from self._of_text(hypothesis, depth)
        elif isinstance(hypothesis, Lead):
            begun = vocabulary.decode_bytes(hypothesis.tokens[hypothesis.at :])
            yield from _behind(begun, self._of(hypothesis.then, depth))
        elif isinstance(hypothesis, RowWalk):
            yield from self._of_rows(hypothesis, depth)
        elif isinstance(hypothesis, NumberStep):
            yield from (Ahead(vocabulary.token_bytes(token)) for token in hypothesis.ids())
        elif hypothesis is DONE:
            yield Ahead(b"", final=True)

    def within(self, step: HoleStep) -> Iterator[Ahead]:
        """Texts by which a text goes on without an end."""
        rules, prefix = step.place.rules, step.prefix
        mode = rules.mode(step.text)
        for begun in _finishes(mode):
            for more in _GOING_ON if mode != OUTSIDE else _IN_VALUE:
                if rules.walk(step.text, begun + more) is not None:
                    yield Ahead(prefix + begun + more)

    def _of_text(self, step: HoleStep, depth: int) -> Iterator[Ahead]:
        yield from self.within(step)
        rules, prefix = step.place.rules, step.prefix
        mode = rules.mode(step.text)
        way = rules.way_out(step.text)
        if way is not None:
            end = rules.walk(step.text, way)
            if end is not None and rules.complete(end):
                yield from _behind(prefix + way, self._of_endings(step.place, end, depth))
        for begun in _finishes(mode):
            for more in _LAST if mode != OUTSIDE else (b"",):
                end = rules.walk(step.text, begun + more)
                if end is not None and rules.complete(end):
                    yield from _behind(prefix + begun + more, self._of_endings(step.place, end, depth))

    def _of_endings(self, place: TextPlace, end: TextState, depth: int) -> Iterator[Ahead]:
        """What follows a text: the literal that it ends at, and more where that has no cut."""
        endings = place.endings_at(end)
        for ending, openings in endings.items():
            if any(other != ending and other.startswith(ending) for other in endings):
                continue
            for opening in openings:
                rest = self._opener.layout.literal(opening.pc)[opening.offset :] if opening.offset else ""
                yield from self._further(Ahead(ending + rest.encode()), ending, opening, depth)

    def _of_rows(self, walk: RowWalk, depth: int) -> Iterator[Ahead]:
        table, vocabulary = walk.table, self._canonical.vocabulary
        for at in range(walk.lo, min(walk.hi, walk.lo + _MAX_ROWS)):
            data = vocabulary.decode_bytes(table.rows[at][walk.depth :])
            opening = walk.source.exit(table.order[at], table.helds[at])
            final = isinstance(self._opener.layout.node(opening.pc), End)
            ahead = Ahead(data + self._rest(table.helds[at]), final)
            yield from self._further(ahead, data, opening, depth)

    def _further(self, ahead: Ahead, begun: bytes, opening: Opening, depth: int) -> Iterator[Ahead]:
        """A text, or where it has no cut, ``begun`` and what follows at the place behind it."""
        if ahead.final or depth == _MAX_DEPTH or self._has_cut(ahead.data):
            yield ahead
        else:
            yield from _behind(begun, self.texts(self._opener.close([opening]), depth + 1))

    def _has_cut(self, data: bytes) -> bool:
        return self._canonical.cuts.last_cut(data.decode(errors="ignore")) > 0

    def _rest(self, held: Held) -> bytes:
        """What of a held tail is not given out."""
        if not held.text:
            return b""
        given = self._canonical.encode_piece(held.text)[: held.emitted]
        return held.text.encode()[len(self._canonical.vocabulary.decode_bytes(given)) :]


def _behind(begun: bytes, texts: Iterator[Ahead]) -> Iterator[Ahead]:
    return (Ahead(begun + data, final) for data, final in texts)


def _finishes(mode: int) -> tuple[bytes, ...]:
    """Ways to end a character or an escape that is begun."""
    if mode in (PLAIN, OUTSIDE):
        return (b"",)
    return _AFTER_BACKSLASH if mode == ESCAPE else (finish(mode),)
