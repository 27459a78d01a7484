"""How deep the definitions of a document nest: ``max_depth`` at the root of ``x-factorspec``.

With it a definition is entered at most so many times on any way from the root; where it would be entered
once more stands no value (``NeverNode``). A definition that the root itself repeats counts as entered by the
root. The same definition at the same depths is read once, however many references lead to it::

    max_depth 2        Node#1 ── left ──► Node#2 ── left ──► no value: null is left
                          └──── right ──► (the same)

Without it a reference back into a definition is a free node, written by the grammar library (``free.py``).
"""

from __future__ import annotations

from collections import Counter
from urllib.parse import unquote

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.wire.keywords import ROOT_ONLY, VENDOR, Schema
from factorspec_sdk.wire.problems import Problems, pointer

DEFINITIONS = ("$defs", "definitions")
#: the largest ``max_depth``
MAX_DEPTH = 60
#: definition, and how often each definition that it leads to was entered before
Key = tuple[str, tuple[tuple[str, int], ...]]


class Depths:
    """The definitions that are being read, and how often each may be. ``most`` None: once."""

    def __init__(self, document: Schema, problems: Problems) -> None:
        self.most = _max_depth(document, problems)
        definitions = _definitions(document) if self.most is not None else {}
        self._leads_to = {name: _references(schema) for name, schema in definitions.items()}
        root = _bare(document)
        self._reading = [name for name, schema in definitions.items() if _bare(schema) == root]

    def is_read(self, name: str) -> bool:
        """True if the definition may not be entered once more here."""
        return self._reading.count(name) >= (self.most or 1)

    def key(self, name: str) -> Key:
        """Under equal keys a definition is read to the same node."""
        if self.most is None:
            return name, ()
        ahead, waiting = {name}, [name]
        while waiting:
            found = self._leads_to.get(waiting.pop(), frozenset()) - ahead
            ahead |= found
            waiting += found
        counted = Counter(entered for entered in self._reading if entered in ahead)
        return name, tuple(sorted(counted.items()))

    def enter(self, name: str) -> None:
        """The definition is being read from now on."""
        self._reading.append(name)

    def leave(self) -> None:
        """The definition entered last is read."""
        self._reading.pop()


def _max_depth(document: Schema, problems: Problems) -> int | None:
    vendor = document.get(VENDOR)
    if not isinstance(vendor, dict) or "max_depth" not in vendor:
        return None
    value = vendor["max_depth"]
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_DEPTH:
        return value
    problems.add(
        pointer("", VENDOR, "max_depth"), f"max_depth is a whole number from 1 to {MAX_DEPTH}", value
    )
    return 1


def _definitions(document: Schema) -> dict[str, JsonValue]:
    """Pointer -> schema of all definitions."""
    found: dict[str, JsonValue] = {}
    for key in DEFINITIONS:
        schemas = document.get(key)
        if isinstance(schemas, dict):
            found |= {pointer("", key, name): schema for name, schema in schemas.items()}
    return found


def _bare(schema: JsonValue) -> JsonValue:
    """A schema without what stands at the root only."""
    if not isinstance(schema, dict):
        return schema
    return {key: value for key, value in schema.items() if key != VENDOR and key not in ROOT_ONLY}


def _references(value: JsonValue) -> frozenset[str]:
    """The pointers that references anywhere in a schema go to."""
    if isinstance(value, list):
        return frozenset().union(*map(_references, value))
    if not isinstance(value, dict):
        return frozenset()
    found = frozenset().union(*map(_references, value.values()))
    reference = value.get("$ref")
    return found | {unquote(reference).removeprefix("#")} if isinstance(reference, str) else found
