"""Canonical JSON text and hash of a document.

Keys are sorted: no order of keys has a meaning, because the order in which a record's fields are written
stands explicitly in ``x-factorspec.order``. ``parse_document`` puts it there where the sender left it out.
"""

from __future__ import annotations

import hashlib
import json


def canonical_json(value: object) -> str:
    """The one JSON text of a value: sorted keys, no white space, non-ASCII characters as themselves."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def hash_of(text: str) -> str:
    """SHA-256 (hex) of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def spec_hash(document: object) -> str:
    """Hash of a document's canonical JSON; of ``Spec.document`` it is ``Spec.hash``."""
    return hash_of(canonical_json(document))
