r"""Formats as automata: those whose every valid text can be told by a finite automaton of a moderate size.

Not among them: ``time`` and ``date-time`` of RFC 3339 (a leap second is valid at one moment of each offset),
host names and what holds them (Punycode), ``regex``.
"""

from __future__ import annotations

from functools import cache

from factorspec_sdk.wire.languages.automaton import Automaton
from factorspec_sdk.wire.languages.regex import search
from factorspec_sdk.wire.strings import FORMATS


def _duration() -> str:
    second = "[0-9]+S"
    minute = f"[0-9]+M(?:{second})?"
    time = f"T(?:[0-9]+H(?:{minute})?|{minute}|{second})"
    day = "[0-9]+D"
    month = f"[0-9]+M(?:{day})?"
    return f"(?:{day}|{month}|[0-9]+Y(?:{month})?)(?:{time})?|{time}|[0-9]+W"


def _ipv6() -> str:
    group = "[0-9A-Fa-f]{1,4}"
    last = f"(?:{group}:{group}|{_IPV4})"
    branches = [f"(?:{group}:){{6}}{last}", f"::(?:{group}:){{5}}{last}"]
    for before in range(5):
        head = f"(?:(?:{group}:){{0,{before}}}{group})?"
        branches.append(f"{head}::(?:{group}:){{{4 - before}}}{last}")
    branches += [f"(?:(?:{group}:){{0,5}}{group})?::{group}", f"(?:(?:{group}:){{0,6}}{group})?::"]
    return "|".join(branches)


def _uri(letters: str, private: str, *, relative: bool) -> str:
    percent = "%[0-9A-Fa-f]{2}"
    name = f"A-Za-z0-9._~{letters}\\-"
    delimiters = "!$&'()*+,;="
    character = f"(?:[{name}{delimiters}:@]|{percent})"
    future = f"[vV][0-9A-Fa-f]+\\.[{name}{delimiters}:]+"
    host = f"(?:\\[(?:{_ipv6()}|{future})\\]|(?:[{name}{delimiters}]|{percent})*)"
    authority = f"(?:(?:[{name}{delimiters}:]|{percent})*@)?{host}(?::[0-9]*)?"
    segments = f"(?:/{character}*)*"
    rest = f"(?:\\?(?:[{name}{delimiters}:@/?{private}]|{percent})*)?(?:#(?:{character}|[/?])*)?"
    rooted = f"//{authority}{segments}|/(?:{character}+{segments})?"
    absolute = f"[A-Za-z][A-Za-z0-9+.\\-]*:(?:{rooted}|{character}+{segments}|){rest}"
    first = f"(?:[{name}{delimiters}@]|{percent})+"
    return f"(?:{rooted}|{first}{segments}|){rest}" if relative else absolute


def _uri_template() -> str:
    percent = "%[0-9A-Fa-f]{2}"
    literal = f"[!#$&-;=?-\\[\\]_a-z~{_INTERNATIONAL}{_PRIVATE}]|{percent}"
    letter = f"(?:[A-Za-z0-9_]|{percent})"
    variable = f"{letter}(?:\\.?{letter})*(?::[1-9][0-9]{{0,3}}|\\*)?"
    return f"(?:{literal}|\\{{[+#./;?&=,!@|]?{variable}(?:,{variable})*\\}})*"


_IPV4 = "(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_INTERNATIONAL = (
    "\\u00a0-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\uffef"
    + "".join(f"\\u{{{plane:x}0000}}-\\u{{{plane:x}fffd}}" for plane in range(1, 14))
    + "\\u{e1000}-\\u{efffd}"
)
_PRIVATE = "\\ue000-\\uf8ff\\u{f0000}-\\u{ffffd}\\u{100000}-\\u{10fffd}"
_POINTER = "(?:/(?:[^/~]|~[01])*)*"
_PATTERNS = {
    "date": FORMATS["date"]["pattern"],
    "ipv4": f"^(?:{_IPV4})$",
    "ipv6": f"^(?:{_ipv6()})$",
    "uuid": "^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$",
    "duration": f"^P(?:{_duration()})$",
    "json-pointer": f"^{_POINTER}$",
    "relative-json-pointer": f"^(?:0|[1-9][0-9]*)(?:#|{_POINTER})$",
    "uri": f"^(?:{_uri('', '', relative=False)})$",
    "iri": f"^(?:{_uri(_INTERNATIONAL, _PRIVATE, relative=False)})$",
    "uri-template": f"^(?:{_uri_template()})$",
}
_RELATIVE = {
    "uri-reference": ("uri", f"^(?:{_uri('', '', relative=True)})$"),
    "iri-reference": ("iri", f"^(?:{_uri(_INTERNATIONAL, _PRIVATE, relative=True)})$"),
}
#: the formats that are enforced in open values
OPEN_FORMATS = frozenset((*_PATTERNS, *_RELATIVE))


@cache
def format_texts(name: str) -> Automaton:
    """The texts of a format (one of ``OPEN_FORMATS``)."""
    if name in _RELATIVE:
        absolute, relative = _RELATIVE[name]
        return format_texts(absolute) | search(relative)
    pattern = _PATTERNS[name]
    assert isinstance(pattern, str)
    return search(pattern)
