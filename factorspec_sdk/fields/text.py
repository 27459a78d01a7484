"""The one spelling of a JSON value: the canonical text that records are written in."""

from __future__ import annotations

import json

ITEM_SEPARATOR = ", "
KEY_SEPARATOR = ": "


def json_text(value: object) -> str:
    """Canonical JSON text of a value: non-ASCII as itself, fixed separators, keys in given order.

    Lone surrogates, which UTF-8 cannot carry, are written as ``\\udXXX`` escapes.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(ITEM_SEPARATOR, KEY_SEPARATOR))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = "".join(f"\\u{ord(c):04x}" if 0xD800 <= ord(c) <= 0xDFFF else c for c in text)
    return text
