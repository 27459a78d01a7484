r"""Grammars in the EBNF that XGrammar reads and prints, as plain rules: alternatives of symbols.

Taken: one rule a line, ``name ::= alternatives``, of literals, classes, names, groups ``( )``, repetition
``* + ? {m, n}`` (n = -1: without end), ``""``, and look-ahead ``(= )``, which is a hint and left out. Groups
and repetitions become rules of their own, so that a symbol is one character of a class, or another rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

Span = tuple[int, int]
_TOKEN = re.compile(
    r'\s*("(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|\{\s*\d+\s*(?:,\s*-?\d+\s*)?\}|\(=|[()|*+?]|[A-Za-z_]\w*|\S)',
    re.DOTALL,
)
_CHARACTER = re.compile(r"\\x([0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|(\\?.)", re.DOTALL)
_ESCAPES = {"\\n": 10, "\\r": 13, "\\t": 9, "\\0": 0, "\\b": 8, "\\f": 12, "\\v": 11, "\\a": 7, "\\e": 27}
_LAST = 0x10FFFF
#: repetitions beyond this many are not written out
_MOST_REPEATED = 512


class Class(NamedTuple):
    """One character of the spans."""

    spans: tuple[Span, ...]

    def among(self, lo: int, hi: int) -> int | None:
        """The first character of the class from ``lo`` to ``hi``."""
        return next((max(a, lo) for a, b in self.spans if max(a, lo) <= min(b, hi)), None)


class Name(NamedTuple):
    """Another rule."""

    name: str


Symbol = Class | Name
Alternatives = list[tuple[Symbol, ...]]


class UnknownSyntax(Exception):
    """A grammar holds what is not read here, or repeats more than is written out."""


def rules_of(grammar: str) -> dict[str, Alternatives]:
    """The rules of a grammar by name.

    Raises:
        UnknownSyntax: it holds something else.
    """
    reader = _Reader()
    for line in grammar.strip().split("\n"):
        name, found, body = line.partition(" ::= ")
        if found:
            reader.rule(name, body)
        elif line.strip():
            raise UnknownSyntax(line)
    used = {s.name for made in reader.rules.values() for row in made for s in row if isinstance(s, Name)}
    if not used <= reader.rules.keys():
        raise UnknownSyntax(sorted(used - reader.rules.keys())[0])
    return reader.rules


class _Reader:
    def __init__(self) -> None:
        self.rules: dict[str, Alternatives] = {}
        self._tokens: list[str] = []
        self._at = 0

    def rule(self, name: str, body: str) -> None:
        self._tokens, self._at = _TOKEN.findall(body), 0
        self.rules[name] = self._alternatives()
        if self._at < len(self._tokens):
            raise UnknownSyntax(self._tokens[self._at])

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _alternatives(self) -> Alternatives:
        found: Alternatives = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            found.append(self._sequence())
        return found

    def _sequence(self) -> tuple[Symbol, ...]:
        symbols: list[Symbol] = []
        while self._peek() not in ("", "|", ")"):
            atom = self._atom()
            repeat = self._peek()
            if repeat[:1] in ("*", "+", "?", "{"):
                self._at += 1
                symbols += self._repeated(atom, *_counts(repeat))
            else:
                symbols += atom
        return tuple(symbols)

    def _atom(self) -> tuple[Symbol, ...]:
        token = self._peek()
        self._at += 1
        if token.startswith('"') and len(token) > 1:
            return tuple(Class(((code, code),)) for code in _codes(token[1:-1]))
        if token.startswith("[") and len(token) > 1:
            return (_class(token[1:-1]),)
        if token in ("(", "(="):
            inner = self._alternatives()
            if self._peek() != ")":
                raise UnknownSyntax(token)
            self._at += 1
            return () if token == "(=" else self._group(inner)
        if not (token[0].isalpha() or token[0] == "_"):
            raise UnknownSyntax(token)
        return (Name(token),)

    def _group(self, inner: Alternatives) -> tuple[Symbol, ...]:
        return inner[0] if len(inner) == 1 else (self._own(inner),)

    def _own(self, alternatives: Alternatives) -> Name:
        """A rule that has no name in the grammar."""
        name = Name(f"({len(self.rules)}")
        self.rules[name.name] = alternatives
        return name

    def _repeated(self, atom: tuple[Symbol, ...], least: int, most: int | None) -> tuple[Symbol, ...]:
        if max(least, most or 0) > _MOST_REPEATED:
            raise UnknownSyntax(f"{least} to {most} times")
        if most is None:
            rest = self._own([])
            self.rules[rest.name] += [(*atom, rest), ()]
            return (*atom * least, rest)
        tail: tuple[Symbol, ...] = ()
        for _ in range(most - least):
            tail = (self._own([(*atom, *tail), ()]),)
        return (*atom * least, *tail)


def _counts(repeat: str) -> tuple[int, int | None]:
    if repeat in ("*", "+", "?"):
        return int(repeat == "+"), 1 if repeat == "?" else None
    parts = [int(part) for part in repeat[1:-1].split(",")]
    return parts[0], None if parts[-1] < 0 else parts[-1]


def _codes(text: str) -> Iterator[int]:
    for match in _CHARACTER.finditer(text):
        number = match[1] or match[2] or match[3]
        yield int(number, 16) if number else _ESCAPES.get(match[4], ord(match[4][-1]))


def _class(text: str) -> Class:
    negated = text.startswith("^")
    spans: list[Span] = []
    matches = list(_CHARACTER.finditer(text, int(negated)))
    at = 0
    while at < len(matches):
        lo = hi = next(_codes(matches[at].group()))
        if at + 2 < len(matches) and matches[at + 1].group() == "-":
            hi = next(_codes(matches[at + 2].group()))
            at += 2
        spans.append((lo, hi))
        at += 1
    return Class(tuple(_others(spans) if negated else sorted(spans)))


def _others(spans: list[Span]) -> Iterator[Span]:
    at = 0
    for lo, hi in [*sorted(spans), (0xD800, 0xDFFF), (_LAST + 1, _LAST + 1)]:
        if at < lo:
            yield at, lo - 1
        at = max(at, hi + 1)
