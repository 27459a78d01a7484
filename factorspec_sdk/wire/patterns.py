r"""The part of regular expressions that the grammar library enforces exactly.

XGrammar 0.2.9 takes a ``pattern`` for the whole text (JSON Schema searches it), writes its characters
into the JSON text without escapes, and ignores lookarounds. So a pattern is taken only if it is anchored
at both ends, has no lookaround, back reference or word boundary, and cannot match a character that JSON
escapes: double quote, backslash, control characters. Grammar of what is taken::

    pattern  = "^" branches "$"            branches inside a group if there is more than one
    branches = branch ("|" branch)*        branch = (atom quantifier?)*
    atom     = character | escape | class | "(" branches ")" | "(?:" branches ")"
    class    = "[" "^"? (item ("-" item)?)+ "]"
    quantifier = ("*" | "+" | "?" | "{n}" | "{n,}" | "{n,m}") "?"?

XGrammar reads the ``a`` in ``\x1fa`` as a third hexadecimal digit, so it gets the pattern rewritten: escapes
as characters, classes as plain ranges, control characters last in their class.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_SPECIAL = set("\\^$.|?*+()[]{}")
_QUANTIFIER = re.compile(r"[*+?]|\{(\d{1,5})(,(\d{0,5}))?\}")
_HEX = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})")
_ESCAPED = 'write "[^\\"\\\\\\x00-\\x1f]" for any character that JSON writes as itself'
_DEPTH = 32
_DIGITS = ((48, 57),)
_WORD = ((48, 57), (65, 90), (95, 95), (97, 122))

Span = tuple[int, int]


class PatternProblem(Exception):
    """Why a pattern is not taken; ``hint`` says what to do."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        self.reason = reason
        self.hint = hint
        super().__init__(reason)


def enforced_pattern(pattern: str, max_states: int) -> str:
    """The pattern as the grammar library gets it.

    Raises:
        PatternProblem: it would not be enforced exactly.
    """
    if not pattern.startswith("^") or not pattern.endswith("$") or _ends_escaped(pattern):
        hint = "write '^(?:...)$' around it; JSON Schema searches a pattern anywhere in the text"
        raise PatternProblem("only patterns of the whole text are enforced", hint)
    reader = _Reader(pattern[1:-1])
    size = reader.branches(0)
    if reader.at < len(reader.text):
        raise PatternProblem(f"cannot read {reader.text[reader.at : reader.at + 10]!r}")
    if reader.top_branches:
        raise PatternProblem("'^' and '$' belong to the outer branches only", "write '^(?:a|b)$'")
    if size > max_states:
        raise PatternProblem(f"larger than {max_states} characters with its repetitions written out")
    return f"^{''.join(reader.written)}$"


def pattern_size(pattern: str) -> int:
    """Characters of a pattern that is enforced, its repetitions written out."""
    return _Reader(pattern[1:-1]).branches(0)


def _ends_escaped(pattern: str) -> bool:
    body = pattern[:-1]
    return (len(body) - len(body.rstrip("\\"))) % 2 == 1


class _Reader:
    """Recursive descent; each method returns the size of what it read, repetitions written out."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.top_branches = False
        self.written: list[str] = []

    def branches(self, depth: int) -> int:
        if depth > _DEPTH:
            raise PatternProblem(f"groups nested deeper than {_DEPTH}")
        size = 1
        while self.at < len(self.text) and self.text[self.at] != ")":
            if self.text[self.at] == "|":
                self.top_branches = self.top_branches or depth == 0
                self.at += 1
                self.written.append("|")
                continue
            size += self._repeated(self._atom(depth))
        return size

    def _repeated(self, size: int) -> int:
        match = _QUANTIFIER.match(self.text, self.at)
        if match is None:
            return size
        self.at = match.end()
        self.written.append(match.group())
        if self.text[self.at : self.at + 1] == "?":
            self.at += 1  # a lazy quantifier admits the same texts
        if self.text[self.at : self.at + 1] and self.text[self.at] in "*+?{":
            raise PatternProblem("two quantifiers in a row")
        if match[1] is None:
            return size
        most = int(match[3]) if match[3] else int(match[1])
        if match[3] and most < int(match[1]):
            raise PatternProblem(f"{match.group()!r} is in the wrong order")
        return size * max(most, 1)

    def _atom(self, depth: int) -> int:
        char = self.text[self.at]
        if char == "(":
            return self._group(depth)
        if char == "[":
            self.written.append(self._class())
        elif char == "\\":
            self.written.append(_atom_text(self._escape()))
        elif char == ".":
            raise PatternProblem("'.' also matches characters that JSON escapes", _ESCAPED)
        elif char in _SPECIAL:
            raise PatternProblem(f"cannot read {self.text[self.at : self.at + 10]!r}")
        else:
            self.at += 1
            self.written.append(_atom_text(_plain(char, char)))
        return 1

    def _group(self, depth: int) -> int:
        self.at += 1
        if self.text.startswith("?:", self.at):
            self.at += 2
        elif self.text.startswith("?", self.at):
            raise PatternProblem("lookarounds, flags and named groups are not enforced")
        self.written.append("(?:")
        size = self.branches(depth + 1)
        if not self.text.startswith(")", self.at):
            raise PatternProblem("a group is not closed")
        self.at += 1
        self.written.append(")")
        return size

    def _escape(self, *, negated: bool = False) -> tuple[Span, ...]:
        """What an escape matches; in a negated class, characters that JSON escapes may stand."""
        self.at += 1
        char = self.text[self.at : self.at + 1]
        match = _HEX.match(self.text, self.at)
        if match is not None:
            self.at = match.end()
            found = chr(int(match[1] or match[2], 16))
            return ((ord(found), ord(found)),) if negated else _plain(found, "\\" + match.group())
        if char and char in "dw":
            self.at += 1
            return _DIGITS if char == "d" else _WORD
        if char and char in "DWsSbBpPk0123456789cnrtfvux":
            hint = {"s": "write a space", "D": "write '[^...]'", "W": "write '[^...]'", "S": _ESCAPED}
            raise PatternProblem(f"'\\{char}' is not enforced exactly", hint.get(char))
        if not char or char.isalnum():
            raise PatternProblem(f"unknown escape '\\{char}'")
        self.at += 1
        return ((ord(char), ord(char)),) if negated else _plain(char, "\\" + char)

    def _class(self) -> str:
        start = self.at
        self.at += 1
        negated = self.text.startswith("^", self.at)
        self.at += negated
        spans: list[Span] = []
        while not self.text.startswith("]", self.at):
            if self.at >= len(self.text):
                raise PatternProblem("a class is not closed")
            spans += self._range(negated)
        self.at += 1
        if not spans:
            raise PatternProblem("a class is empty")
        if not negated:
            return f"[{_class_text(spans)}]"
        if not all(_covered(code, spans) for code in (*range(32), ord('"'), ord("\\"))):
            text = self.text[start : self.at]
            raise PatternProblem(f"{text!r} also matches characters that JSON escapes", _ESCAPED)
        return f"[^{_class_text(spans)}\\x00-\\x1f]"

    def _range(self, negated: bool) -> tuple[Span, ...]:
        lo = self._class_item(negated)
        if not self.text.startswith("-", self.at) or self.text[self.at + 1 : self.at + 2] in ("]", ""):
            return lo
        self.at += 1
        hi = self._class_item(negated)
        first, last = lo[0][0], hi[0][1]
        if len(lo) + len(hi) > 2 or lo == _DIGITS or hi == _DIGITS or last < first:
            raise PatternProblem("a range of characters goes from a lower to a higher one")
        if not negated and (first < 32 or any(first <= ord(c) <= last for c in '"\\')):
            text = f"{chr(first)}-{chr(last)}"
            raise PatternProblem(f"{text!r} holds characters that JSON escapes", "leave them out")
        return ((first, last),)

    def _class_item(self, negated: bool) -> tuple[Span, ...]:
        char = self.text[self.at : self.at + 1]
        if char == "\\":
            return self._escape(negated=negated)
        if not char or char == "[":
            raise PatternProblem("cannot read a class of characters", "escape '['")
        self.at += 1
        return ((ord(char), ord(char)),) if negated else _plain(char, char)


def _plain(char: str, written: str) -> tuple[Span, ...]:
    if char in '"\\' or ord(char) < 32 or "\ud800" <= char <= "\udfff":
        raise PatternProblem(f"{written!r} is a character that JSON escapes", "leave it out of the pattern")
    return ((ord(char), ord(char)),)


def _covered(code: int, spans: list[Span]) -> bool:
    return any(lo <= code <= hi for lo, hi in spans)


def _atom_text(spans: tuple[Span, ...]) -> str:
    lo, hi = spans[0]
    if len(spans) > 1 or lo != hi:
        return f"[{_class_text(spans)}]"
    return "\\" + chr(lo) if chr(lo) in _SPECIAL else chr(lo)


def _class_text(spans: Iterable[Span]) -> str:
    """Ranges without their control characters, which must not stand as themselves."""
    above = [(max(lo, 32), hi) for lo, hi in spans if hi >= 32]
    return "".join(
        _class_char(lo) if lo == hi else f"{_class_char(lo)}-{_class_char(hi)}" for lo, hi in above
    )


def _class_char(code: int) -> str:
    return "\\" + chr(code) if chr(code) in "\\]^-[" else chr(code)
