"""Writing JSON strings so that the tokenizer takes them literally.

Some things would otherwise break ``decode(encode(text)) == text``: an added token's text inside a value
(it becomes that token), a normaliser that composes or reorders characters, a mark (it becomes a space), and a
byte without a token. In each case the offending character is written as ``\\uXXXX``, which is another JSON
text of the same value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from factorspec_sdk.errors import EngineError, Problem, shown
from factorspec_sdk.tokens.added import AddedTexts

_DELETE = "\x7f"  # the only ASCII control character that JSON texts hold as itself
_UNIT = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL)


class Escaper:
    """Rewrites JSON texts for one tokenizer. Does not change; safe to share."""

    def __init__(
        self, added: AddedTexts, has_tokens: Callable[[str], bool], normalize: Callable[[str], str]
    ) -> None:
        """Make one for a tokenizer.

        Args:
            added: its added tokens.
            has_tokens: whether a character has tokens that spell it.
            normalize: what it does to a text first.
        """
        self._added = added
        self._has_tokens = has_tokens
        self._normalize = normalize

    def escape(self, json_text: str) -> str:
        """A JSON text of the same value, whose encoding decodes to exactly that text.

        Equal to ``json_text`` if nothing in it offends; escaping twice changes nothing more.

        Raises:
            EngineError: an added token cannot be kept out by escaping characters of strings.
        """
        text = json_text
        if (not text.isascii() or _DELETE in text) and not self._all_stand(text):
            text = self._escape_characters(text)
        if self._added.may_begin_in(text):
            text = self._escape_added(text)
        return text

    def _all_stand(self, text: str) -> bool:
        """True if no character needs an escape: what a normaliser leaves alone has only such parts."""
        odd = {character for character in text if character >= _DELETE}
        if any("\ud800" <= character <= "\udfff" or not self._has_tokens(character) for character in odd):
            return False
        return self._normalize(text) == text

    def _escape_characters(self, text: str) -> str:
        """Escape what has no bytes, no byte tokens, or would be normalised.

        Normalisation acts on runs of non-ASCII characters and the ASCII character before them, so each
        character is tried at the end of such a run as it stands in the output.
        """
        out: list[str] = []
        run = ""
        for character in text:
            piece = character
            if character >= _DELETE and not self._stands(run, character):
                piece = _escaped(character)
            run = piece[-1] if piece[-1].isascii() else run + piece
            out.append(piece)
        return "".join(out)

    def _stands(self, run: str, character: str) -> bool:
        if "\ud800" <= character <= "\udfff":
            return False
        if not self._has_tokens(character):
            return False
        return self._normalize(run + character) == run + character

    def _escape_added(self, text: str) -> str:
        """Escape a character of each occurrence of an added token, until none is left."""
        for _ in range(len(text) + 1):
            found = self._added.find(text)
            if found is None:
                return text
            at = next((i for i in _plain_positions(text) if found[0] <= i < found[1]), None)
            if at is None:
                break
            text = text[:at] + _escaped(text[at]) + text[at + 1 :]
        problem = Problem("", "holds an added token that cannot be escaped", shown(text))
        raise EngineError("the text cannot be written for this tokenizer", [problem])


def _plain_positions(text: str) -> Iterator[int]:
    """Positions of the characters inside strings that are not part of an escape."""
    inside = False
    for match in _UNIT.finditer(text):
        unit = match.group()
        if unit == '"':
            inside = not inside
        elif inside and len(unit) == 1:
            yield match.start()


def _escaped(character: str) -> str:
    """The character as one ``\\uXXXX``, or two above U+FFFF."""
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
