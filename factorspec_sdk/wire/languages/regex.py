r"""Regular expressions (ECMA-262 with Unicode, as JSON Schema has them) as automata; a pattern is searched.

Taken: characters, classes, ``.``, ``\d \w \s`` and their complements, ``\p{…}`` for general categories,
escapes, groups, alternatives, quantifiers, ``^`` and ``$`` at the ends of (groups of) alternatives. Not
taken: lookarounds, back references, word boundaries, anchors elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from factorspec_sdk.wire.languages.automaton import CHARACTERS, LAST, Automaton, Span, explore
from factorspec_sdk.wire.languages.characters import Spans, category, complement, normal
from factorspec_sdk.wire.patterns import PatternProblem

_DEPTH = 32
_MOST_REPEATS = 1_000
_MOST_POSITIONS = 4_000
_QUANTIFIER = re.compile(r"[*+?]|\{(\d{1,5})(,(\d{0,5}))?\}")
_HEX = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}")
_CATEGORY = re.compile(r"[pP]\{(?:(?:General_Category|gc)=)?(\w+)\}")
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "0": 0}
_DIGITS: Spans = ((48, 57),)
_WORD: Spans = ((48, 57), (65, 90), (95, 95), (97, 122))
_SPACE: Spans = (
    (9, 13), (32, 32), (160, 160), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F),
    (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
_LINE_ENDS: Spans = ((10, 10), (13, 13), (0x2028, 0x2029))


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of the spans."""

    spans: Spans


@dataclass(frozen=True, slots=True)
class Anchor:
    """The start ("^") or the end ("$") of the text."""

    char: str


@dataclass(frozen=True, slots=True)
class Cat:
    """One after the other."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Alt:
    """One of them."""

    branches: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``least`` to ``most`` times."""

    inner: Expression
    least: int
    most: int | None


Expression = Chars | Anchor | Cat | Alt | Repeat
_ANY_TEXT = Repeat(Chars(CHARACTERS), 0, None)


@lru_cache(maxsize=128)
def search(pattern: str) -> Automaton:
    """The texts in which the pattern is found.

    Raises:
        PatternProblem: it is not taken.
        TooManyStates: it is too large.
    """
    reader = _Reader(pattern)
    found = reader.branches(0)
    if reader.at < len(pattern):
        raise PatternProblem(f"cannot read {pattern[reader.at : reader.at + 10]!r}")
    return _automaton(Alt(tuple(_anchored(branch) for branch in _branches(found))))


def _branches(found: Expression) -> Iterator[Expression]:
    """Alternatives of the whole text; groups that stand alone or hold an anchor at an end are spread out."""
    if isinstance(found, Alt):
        for branch in found.branches:
            yield from _branches(branch)
        return
    if isinstance(found, Cat):
        if len(found.parts) == 1:
            yield from _branches(found.parts[0])
            return
        for at in (0, -1):
            group = found.parts[at] if found.parts else None
            if isinstance(group, Alt) and _has_anchor(group):
                for branch in group.branches:
                    inner = branch.parts if isinstance(branch, Cat) else (branch,)
                    rest = found.parts[1:] if at == 0 else found.parts[:-1]
                    yield from _branches(Cat((*inner, *rest) if at == 0 else (*rest, *inner)))
                return
    yield found


def _anchored(branch: Expression) -> Expression:
    parts = list(branch.parts) if isinstance(branch, Cat) else [branch]
    before: list[Expression] = [_ANY_TEXT]
    after: list[Expression] = [_ANY_TEXT]
    while parts and parts[0] == Anchor("^"):
        before = []
        parts.pop(0)
    while parts and parts[-1] == Anchor("$"):
        after = []
        parts.pop()
    if any(map(_has_anchor, parts)):
        raise PatternProblem("'^' and '$' are enforced at the ends of a pattern only")
    return Cat((*before, *parts, *after))


def _has_anchor(found: Expression) -> bool:
    match found:
        case Anchor():
            return True
        case Chars():
            return False
        case Cat():
            return any(map(_has_anchor, found.parts))
        case Alt():
            return any(map(_has_anchor, found.branches))
        case Repeat():
            return _has_anchor(found.inner)


class _Nfa:
    """States with edges on characters and edges without."""

    def __init__(self) -> None:
        self.free: list[list[int]] = []
        self.edges: list[tuple[Spans, int] | None] = []

    def state(self) -> int:
        if len(self.free) >= _MOST_POSITIONS:
            raise PatternProblem(f"larger than {_MOST_POSITIONS} characters with its repetitions written out")
        self.free.append([])
        self.edges.append(None)
        return len(self.free) - 1

    def add(self, found: Expression, start: int) -> int:
        """The state after the expression."""
        match found:
            case Chars():
                end = self.state()
                self.edges[start] = (found.spans, end)
                return end
            case Cat():
                for part in found.parts:
                    start = self.add(part, self._entry(start))
                return start
            case Alt():
                end = self.state()
                for branch in found.branches:
                    self.free[self.add(branch, self._entry(start))].append(end)
                return end
            case Repeat():
                return self._repeated(found, start)
            case Anchor():
                raise PatternProblem("'^' and '$' are enforced at the ends of a pattern only")

    def _entry(self, start: int) -> int:
        entry = self.state()
        self.free[start].append(entry)
        return entry

    def _repeated(self, found: Repeat, start: int) -> int:
        for _ in range(found.least):
            start = self.add(found.inner, self._entry(start))
        end = self.state()
        self.free[start].append(end)
        if found.most is None:
            loop = self._entry(start)
            last = self.add(found.inner, loop)
            self.free[last] += (loop, end)
        else:
            for _ in range(found.most - found.least):
                start = self.add(found.inner, self._entry(start))
                self.free[start].append(end)
        return end

    def closed(self, states: Iterator[int] | frozenset[int]) -> frozenset[int]:
        """The states with all that are reached without a character."""
        found = set(states)
        stack = list(found)
        while stack:
            for target in self.free[stack.pop()]:
                if target not in found:
                    found.add(target)
                    stack.append(target)
        return frozenset(found)


def _automaton(found: Expression) -> Automaton:
    nfa = _Nfa()
    end = nfa.add(found, nfa.state())
    closed: dict[frozenset[int], frozenset[int]] = {}

    def step(states: frozenset[int]) -> Iterator[tuple[Span, frozenset[int]]]:
        edges = [edge for at in states if (edge := nfa.edges[at]) is not None]
        bounds = sorted({bound for spans, _ in edges for lo, hi in spans for bound in (lo, hi + 1)})
        for lo, above in pairwise(bounds):
            targets = frozenset(t for spans, t in edges if any(a <= lo <= b for a, b in spans))
            if targets:
                if targets not in closed:
                    closed[targets] = nfa.closed(targets)
                yield (lo, above - 1), closed[targets]

    return explore(nfa.closed(frozenset((0,))), step, lambda states: end in states)


class _Reader:
    """Recursive descent over a pattern."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def branches(self, depth: int) -> Expression:
        if depth > _DEPTH:
            raise PatternProblem(f"groups nested deeper than {_DEPTH}")
        branches: list[Expression] = []
        parts: list[Expression] = []
        while self.at < len(self.text) and self.text[self.at] != ")":
            if self.text[self.at] == "|":
                self.at += 1
                branches.append(Cat(tuple(parts)))
                parts = []
            else:
                parts.append(self._repeated(self._atom(depth)))
        return Alt((*branches, Cat(tuple(parts))))

    def _repeated(self, inner: Expression) -> Expression:
        match = _QUANTIFIER.match(self.text, self.at)
        if match is None:
            return inner
        self.at = match.end()
        if self.text[self.at : self.at + 1] == "?":
            self.at += 1  # a lazy quantifier admits the same texts
        if self.text[self.at : self.at + 1] and self.text[self.at] in "*+?":
            raise PatternProblem("two quantifiers in a row")
        if _has_anchor(inner):
            raise PatternProblem("an anchor is repeated")
        if match[1] is None:
            least = 1 if match.group() == "+" else 0
            return Repeat(inner, least, 1 if match.group() == "?" else None)
        least = int(match[1])
        most = int(match[3]) if match[3] else None if match[2] else least
        if most is not None and most < least:
            raise PatternProblem(f"{match.group()!r} is in the wrong order")
        if max(least, most or 0) > _MOST_REPEATS:
            raise PatternProblem(f"more than {_MOST_REPEATS} repetitions")
        return Repeat(inner, least, most)

    def _atom(self, depth: int) -> Expression:
        char = self.text[self.at]
        if char == "(":
            return self._group(depth)
        if char == "[":
            return Chars(self._class())
        if char == "\\":
            return Chars(self._escape())
        if char in "*+?{}])":
            raise PatternProblem(f"cannot read {self.text[self.at : self.at + 10]!r}")
        self.at += 1
        if char in "^$":
            return Anchor(char)
        return Chars(complement(_LINE_ENDS) if char == "." else ((ord(char), ord(char)),))

    def _group(self, depth: int) -> Expression:
        self.at += 1
        if self.text.startswith("?:", self.at):
            self.at += 2
        elif self.text.startswith("?<", self.at) and self.text[self.at + 2 : self.at + 3] not in "=!":
            self.at = self.text.find(">", self.at) + 1
        elif self.text.startswith("?", self.at):
            raise PatternProblem("lookarounds and flags are not enforced")
        found = self.branches(depth + 1)
        if not self.text.startswith(")", self.at):
            raise PatternProblem("a group is not closed")
        self.at += 1
        return found

    def _escape(self, *, in_class: bool = False) -> Spans:
        self.at += 1
        if (match := _HEX.match(self.text, self.at)) is not None:
            self.at = match.end()
            return self._code(int(match[1] or match[2] or match[3], 16))
        if (match := _CATEGORY.match(self.text, self.at)) is not None:
            self.at = match.end()
            spans = category(match[1])
            return complement(spans) if match.group()[0] == "P" else spans
        char = self.text[self.at : self.at + 1]
        self.at += 1
        if char and char in "dDwWsS":
            spans = {"d": _DIGITS, "w": _WORD, "s": _SPACE}[char.lower()]
            return complement(spans) if char.isupper() else spans
        if char in _CONTROLS and not self.text[self.at : self.at + 1].isdigit():
            return ((_CONTROLS[char], _CONTROLS[char]),)
        if char == "c" and self.text[self.at : self.at + 1].isascii() and self.text[self.at].isalpha():
            self.at += 1
            return ((ord(self.text[self.at - 1]) % 32,) * 2,)
        if char == "b" and in_class:
            return ((8, 8),)
        if not char or char.isalnum():
            raise PatternProblem(f"'\\{char}' is not enforced")
        return ((ord(char), ord(char)),)

    def _code(self, code: int) -> Spans:
        if 0xD800 <= code <= 0xDBFF and (match := _HEX.match(self.text, self.at + 1)) is not None:
            low = int(match[2] or "0", 16)
            if self.text[self.at] == "\\" and 0xDC00 <= low <= 0xDFFF:
                self.at = match.end()
                code = 0x10000 + ((code - 0xD800) << 10) + low - 0xDC00
        if 0xD800 <= code <= 0xDFFF or code > LAST:
            raise PatternProblem("a lone surrogate is no character")
        return ((code, code),)

    def _class(self) -> Spans:
        self.at += 1
        negated = self.text.startswith("^", self.at)
        self.at += negated
        spans: list[Span] = []
        while not self.text.startswith("]", self.at):
            if self.at >= len(self.text):
                raise PatternProblem("a class is not closed")
            spans += self._range()
        self.at += 1
        return complement(spans) if negated else normal(spans)

    def _range(self) -> Spans:
        lo = self._class_item()
        if not self.text.startswith("-", self.at) or self.text[self.at + 1 : self.at + 2] in ("]", ""):
            return lo
        self.at += 1
        hi = self._class_item()
        if len(lo) + len(hi) > 2 or lo[0][0] != lo[0][1] or hi[0][0] != hi[0][1] or hi[0][0] < lo[0][0]:
            raise PatternProblem("a range of characters goes from a lower to a higher one")
        return ((lo[0][0], hi[0][1]),)

    def _class_item(self) -> Spans:
        char = self.text[self.at : self.at + 1]
        if char == "\\":
            return self._escape(in_class=True)
        if not char:
            raise PatternProblem("a class is not closed")
        self.at += 1
        return ((ord(char), ord(char)),)
