r"""The grammar of a free part, in the EBNF that XGrammar reads.

Rules that no finite text comes of are left out. Texts have one spelling: JSON's short escapes, ``\u00xx`` for
other control characters, all others as themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache

from factorspec_sdk.wire.languages.automaton import ANYTHING, Automaton, Edge, Span
from factorspec_sdk.wire.languages.regex import search
from factorspec_sdk.wire.languages.resources import NotFree
from factorspec_sdk.wire.languages.rules import RuleKey, Symbol, Symbols, Text, ValueKey
from factorspec_sdk.wire.languages.value_rules import Rules

#: rules of one free part, and alternatives of all of them
MAX_RULES = 5_000
MAX_ALTERNATIVES = 50_000
_ESCAPED: tuple[Span, ...] = ((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C))


def grammar_of(rules: Rules, root: ValueKey | None, place: str) -> str | None:
    """The grammar of a rule's values (None: there are none), for the schema at ``place``.

    Raises:
        NotFree: a keyword cannot be enforced exactly, or the grammar is too large.
    """
    if root is None:
        return None
    made = _reached(rules, root, place)
    alive = _productive(made)
    return _Writer(made, alive, place).text(root) if root in alive else None


@lru_cache(maxsize=32)
def pattern_grammar(pattern: str) -> str:
    """The grammar of the JSON strings in whose text a pattern is found. Kept: formats are patterns, too.

    Raises:
        PatternProblem: the pattern is not taken.
        TooManyStates: it is too large.
    """
    writer = _Writer({}, set(), "")
    root = writer.symbol(Text(search(pattern), True))
    return "\n".join([f"root ::= {root}", *writer.lines, *_COMMON]) + "\n"


def _reached(rules: Rules, root: RuleKey, place: str) -> dict[RuleKey, list[Symbols]]:
    made: dict[RuleKey, list[Symbols]] = {}
    stack, size = [root], 0
    while stack:
        key = stack.pop()
        if key in made:
            continue
        made[key] = rules.alternatives(key)
        size += len(made[key])
        if len(made) > MAX_RULES or size > MAX_ALTERNATIVES:
            raise NotFree(
                place, "this part is too large to be enforced", hint="narrow its counts and choices"
            )
        stack += (s for symbols in made[key] for s in symbols if not isinstance(s, str | Text))
    return made


def _productive(made: dict[RuleKey, list[Symbols]]) -> set[RuleKey]:
    """The rules of which some finite text comes: a least fixed point. O(symbols)."""
    waiting: dict[RuleKey, list[tuple[RuleKey, list[int]]]] = {}
    alive: set[RuleKey] = set()
    stack: list[RuleKey] = []
    for key, alternatives in made.items():
        for symbols in alternatives:
            needed = {s for s in symbols if not isinstance(s, str | Text)}
            left = [len(needed)]
            for symbol in needed:
                waiting.setdefault(symbol, []).append((key, left))
            if not needed:
                stack.append(key)
    while stack:
        key = stack.pop()
        if key in alive:
            continue
        alive.add(key)
        for owner, left in waiting.get(key, ()):
            left[0] -= 1
            if left[0] == 0:
                stack.append(owner)
    return alive


class _Writer:
    def __init__(self, made: dict[RuleKey, list[Symbols]], alive: set[RuleKey], place: str) -> None:
        self._made = made
        self._alive = alive
        self._place = place
        self._names: dict[RuleKey, str] = {}
        self._pending: list[RuleKey] = []
        self._texts: dict[tuple[Automaton, bool], str] = {}
        self.lines: list[str] = []

    def text(self, root: RuleKey) -> str:
        """All rules, the root first."""
        self.lines.append(f"root ::= {self._name(root)}")
        while self._pending:
            key = self._pending.pop()
            alternatives = [
                " ".join(map(self.symbol, symbols)) for symbols in self._made[key] if self._lives(symbols)
            ]
            self.lines.append(f"{self._names[key]} ::= {' | '.join(dict.fromkeys(alternatives))}")
        if len(self.lines) > MAX_RULES:
            raise NotFree(self._place, "this part is too large to be enforced")
        return "\n".join([*self.lines, *_COMMON]) + "\n"

    def _lives(self, symbols: Symbols) -> bool:
        return all(isinstance(s, str | Text) or s in self._alive for s in symbols)

    def _name(self, key: RuleKey) -> str:
        if key not in self._names:
            self._names[key] = f"r{len(self._names)}"
            self._pending.append(key)
        return self._names[key]

    def symbol(self, symbol: Symbol) -> str:
        """How a symbol is written; what it needs is among the lines or pending."""
        if isinstance(symbol, str):
            return _literal(symbol)
        if isinstance(symbol, Text):
            text = self._automaton(symbol.automaton, symbol.quoted)
            return f'"\\"" {text} "\\""' if symbol.quoted else text
        return self._name(symbol)

    def _automaton(self, automaton: Automaton, quoted: bool) -> str:
        if automaton is ANYTHING and quoted:
            return "character*"
        key = (automaton, quoted)
        if key not in self._texts:
            name = self._texts[key] = f"t{len(self._texts)}"
            for state, edges in enumerate(automaton.edges):
                branches = [*_branches(edges, quoted, name), *(['""'] if automaton.accepting[state] else [])]
                self.lines.append(f"{name}_{state} ::= {' | '.join(branches)}")
        return f"{self._texts[key]}_0"


_COMMON = (
    'character ::= [^"\\\\\\x00-\\x1f] | escape',
    'escape ::= "\\\\" ["\\\\bfnrt] | "\\\\u00" control',
    'control ::= "0" [0-7be-f] | "1" [0-9a-f]',
)


def _branches(edges: Iterable[Edge], quoted: bool, name: str) -> Iterator[str]:
    """The ways on from one state of an automaton."""
    by_target: dict[int, list[Span]] = {}
    for lo, hi, target in edges:
        by_target.setdefault(target, []).append((lo, hi))
    for target, spans in by_target.items():
        for first in _characters(spans) if quoted else [_class(spans)]:
            yield f"{first} {name}_{target}"


def _characters(spans: list[Span]) -> Iterator[str]:
    """One character of the spans inside a JSON string."""
    plain = [part for span in spans for part in _without(span, _ESCAPED)]
    if plain:
        yield _class(plain)
    escaped = [code for lo, hi in _ESCAPED for code in range(lo, hi + 1) if _in(code, spans)]
    if len(escaped) == sum(hi + 1 - lo for lo, hi in _ESCAPED):
        yield "escape"
    else:
        yield from (_literal(json.dumps(chr(code))[1:-1]) for code in escaped)


def _in(code: int, spans: list[Span]) -> bool:
    return any(lo <= code <= hi for lo, hi in spans)


def _without(span: Span, others: Iterable[Span]) -> Iterator[Span]:
    at, last = span
    for lo, hi in others:
        if at < lo and at <= last:
            yield at, min(lo - 1, last)
        at = max(at, hi + 1)
    if at <= last:
        yield at, last


def _class(spans: Iterable[Span]) -> str:
    return "[" + "".join(_code(lo) if lo == hi else f"{_code(lo)}-{_code(hi)}" for lo, hi in spans) + "]"


def _code(code: int) -> str:
    if chr(code).isascii() and chr(code).isalnum():
        return chr(code)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _literal(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
