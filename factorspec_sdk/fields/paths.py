"""Paths that name fields of a record.

Two spellings of one thing: ``stops[*].city`` in Python, ``$.stops[*].city`` in documents (RFC 9535
segments after ``$`` or after a binder's name). Segments are names, indices (negative from the
end) and ``[*]`` for every item. A name that is no identifier is written ``['like this']``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from factorspec_sdk.errors import DeclarationError, Problem, shown


class Every(Enum):
    """The segment ``[*]``."""

    ITEM = "*"


EVERY = Every.ITEM
Segment = str | int | Every

_LONGEST_KEPT = 256
_NAME = re.compile(r"[^\W\d]\w*")
_SEGMENT = re.compile(
    r"""\.(?P<name>[^\W\d]\w*)|\[(?P<index>-?\d{1,9})\]|\[(?P<every>\*)\]"""
    r"""|\['(?P<single>(?:[^'\\]|\\.)*)'\]|\["(?P<double>(?:[^"\\]|\\.)*)"\]"""
)


class PathSyntaxError(DeclarationError):
    """A text is no path."""

    code = "path_syntax"


@dataclass(frozen=True, slots=True)
class FieldPath:
    """A root ("$" or a binder's name) and the segments below it."""

    root: str
    segments: tuple[Segment, ...]

    def __str__(self) -> str:
        return self.root + "".join(_segment_text(segment) for segment in self.segments)

    @property
    def display(self) -> str:
        """The path as people write it: without ``$.`` in front."""
        text = "".join(_segment_text(segment) for segment in self.segments)
        if self.root != "$":
            return self.root + text
        return text[1:] if text.startswith(".") else text or "$"

    @property
    def stars(self) -> int:
        """Number of ``[*]`` segments."""
        return sum(segment is EVERY for segment in self.segments)

    def under(self, prefix: FieldPath) -> FieldPath:
        """This path with its root replaced by ``prefix``."""
        return FieldPath(prefix.root, prefix.segments + self.segments)


def parse_path(text: str, roots: tuple[str, ...] = ("$",)) -> FieldPath:
    """Read a path; without a known root in front it is relative to ``$``. Kept, but for very long ones.

    Raises:
        PathSyntaxError: naming the text and the position.
    """
    return _kept_path(text, roots) if len(text) <= _LONGEST_KEPT else _read_path(text, roots)


@lru_cache(maxsize=4096)
def _kept_path(text: str, roots: tuple[str, ...]) -> FieldPath:
    return _read_path(text, roots)


def _read_path(text: str, roots: tuple[str, ...]) -> FieldPath:
    root, rest = "$", text
    if text.startswith("$"):
        rest = text[1:]
    else:
        name = _NAME.match(text)
        if name is not None:
            if name.group() in roots:
                root, rest = name.group(), text[name.end() :]
            else:
                rest = "." + text
    segments: list[Segment] = []
    at = 0
    while at < len(rest):
        match = _SEGMENT.match(rest, at)
        if match is None:
            raise PathSyntaxError(
                "not a field path",
                [
                    Problem(
                        text,
                        f"cannot read {rest[at : at + 20]!r}",
                        shown(text),
                        "write it like stops[*].city",
                    )
                ],
            )
        segments.append(_segment(match))
        at = match.end()
    return FieldPath(root, tuple(segments))


def below(path: str, name: str) -> str:
    """The path, as people write it, of the field ``name`` of the object at ``path`` ("" for the root)."""
    step = FieldPath("$", (name,)).display
    return step if not path else path + (step if step.startswith("[") else f".{step}")


def _segment(match: re.Match[str]) -> Segment:
    if match["name"] is not None:
        return match["name"]
    if match["index"] is not None:
        return int(match["index"])
    if match["every"] is not None:
        return EVERY
    quoted = match["single"] if match["single"] is not None else match["double"]
    return re.sub(r"\\(.)", r"\1", quoted)


def _segment_text(segment: Segment) -> str:
    if segment is EVERY:
        return "[*]"
    if isinstance(segment, int):
        return f"[{segment}]"
    assert isinstance(segment, str)
    if _NAME.fullmatch(segment):
        return f".{segment}"
    escaped = segment.replace("\\", "\\\\").replace("'", "\\'")
    return f"['{escaped}']"
