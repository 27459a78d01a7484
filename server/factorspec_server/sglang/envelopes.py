"""Envelopes of requests, where documents come again and again with other options behind them.

A document that came lately is not read again: the text in front of the options is looked up, and the options
alone are read::

    {"type": "object", …    , "x-factorspec-request":     {"id": "…"}}
    ───── looked up ─────   ──────────── mark ─────────   ── read ──

Opening is done on threads of the scheduler's process; what they save, the scheduler has.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from dataclasses import replace

from factorspec_sdk.errors import JsonValue
from factorspec_server.sglang.envelope import OPTIONS, Envelope, KeptDocument, open_envelope, options_of

_MARK = f', "{OPTIONS}": '
_MOST_KEPT, _MOST_CHARS = 512, 8 << 20
#: a document's text, and whether it came without options
_Key = tuple[str, bool]


class Envelopes:
    """Opens envelopes as ``open_envelope`` does. Any thread; keeps at most 512 documents, 8 MB of text."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Key, KeptDocument] = OrderedDict()
        self._chars = 0

    def open(self, text: str) -> Envelope | None:
        """The envelope; None if no relations are asked for. Raises as ``open_envelope``."""
        alone, options = split_text(text)
        kept = self._kept.get((alone, alone == text))  # without options it may ask for no relations
        if kept is not None and options is not None:
            return Envelope(kept.document, options_of(options), kept)
        envelope = open_envelope(text)
        if envelope is None:
            return None
        kept = KeptDocument(envelope.document)
        if options is not None and _read(alone) == envelope.document:
            self._keep((alone, alone == text), kept)
        return replace(envelope, kept=kept)

    def _keep(self, key: _Key, kept: KeptDocument) -> None:
        size = len(key[0])
        with self._lock:
            if key in self._kept or size > _MOST_CHARS:
                return
            self._kept[key] = kept
            self._chars += size
            while len(self._kept) > _MOST_KEPT or self._chars > _MOST_CHARS:
                oldest, _ = self._kept.popitem(last=False)
                self._chars -= len(oldest[0])


def split_text(text: str) -> tuple[str, dict[str, JsonValue] | None]:
    """The document by itself, and the options; None if the text has some and does not end with them."""
    if OPTIONS not in text:
        return text, {}
    before, mark, behind = text.rpartition(_MARK)
    options = _read(behind[:-1]) if mark and behind.endswith("}}") else None
    return f"{before}}}", options if isinstance(options, dict) else None


def _read(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
