"""From the tokens of an answer to what a client sees: text, calls, a refusal; piece by piece as they come.

Reading an answer at its end and reading its commits give the same pieces joined, since both go this way::

    tokens ──► text | record | refusal | name and arguments of each call ──► pieces

Calls and records are read as what their session made them: a name ends at its quote, and arguments where
their outermost bracket closes. What strings inside hold, tags for example, does not matter.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from factorspec_sdk.tokens import Vocabulary
from factorspec_server.engines.answer_rules import AnswerRules
from factorspec_server.engines.chat import TextStream
from factorspec_server.engines.opener_watch import OpenerWatch
from factorspec_server.engines.seam import Wording
from factorspec_server.http.call_format import REASON, REFUSAL_OPENER, CallFormat


@dataclass(frozen=True, slots=True)
class Said:
    """Some of the answer's text, of its record, or the reason for a refusal."""

    kind: Literal["content", "refusal"]
    text: str


@dataclass(frozen=True, slots=True)
class CallBegun:
    """A call of a tool begins."""

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class CallArguments:
    """Some of a call's arguments, as JSON text."""

    index: int
    text: str


Piece = Said | CallBegun | CallArguments


@dataclass(frozen=True, slots=True)
class Reading:
    """What has to be known of an answer to read it.

    Attributes:
        vocabulary: the model's tokens.
        words: what its tokenizer says of them.
        form: how calls are written.
        watch: finds a call in the text with which the answer begins; None: it begins with no text.
        stop: strings that end the text.
    """

    vocabulary: Vocabulary
    words: Wording
    form: CallFormat
    watch: OpenerWatch | None = None
    stop: tuple[str, ...] = ()

    @classmethod
    def of(cls, rules: AnswerRules, words: Wording, form: CallFormat) -> Reading:
        """What ``rules`` say of it."""
        watch = rules.calls.watch if rules.text and rules.calls is not None else None
        return cls(rules.vocabulary, words, form, watch, rules.stop)


class AnswerReader:
    """Reads one answer. ``feed`` its tokens in order, then ``end``."""

    def __init__(self, reading: Reading) -> None:
        self._vocabulary = reading.vocabulary
        self._end_ids = frozenset(reading.words.end_ids)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._lead = reading.vocabulary.lead
        self._text = None if reading.watch is None else _Text(reading, reading.watch)
        self._records = _Records(reading.form)

    def feed(self, token_ids: Sequence[int]) -> list[Piece]:
        """What the next tokens say."""
        pieces: list[Piece] = []
        for token_id in token_ids:
            if self._text is not None:
                pieces += self._text.feed(token_id)
                if self._text.opened is not None:
                    pieces += self._records.feed(self._text.opened)
                    self._text = None
            elif token_id not in self._end_ids:
                text = self._decoder.decode(self._vocabulary.token_bytes(token_id))
                if text and self._lead:  # a leading mark is no part of the text
                    text, self._lead = text.removeprefix(self._lead), ""
                pieces += self._records.feed(text)
        return _joined(pieces)

    def end(self) -> list[Piece]:
        """What was held back."""
        return [] if self._text is None else _joined(self._text.end())


class _Text:
    """Free text, in which a call may be opened.

    White space, and what may be the opener's beginning, is held back until it is clear what follows: text
    before a call is given without the white space at its end.
    """

    def __init__(self, reading: Reading, watch: OpenerWatch) -> None:
        self._watch = watch
        self._stream = TextStream(reading.words.decode, reading.stop)
        self._end_ids = frozenset(reading.words.end_ids)
        self._begun = 0
        self._held = ""
        self._is_over = False
        self.opened: str | None = None

    def feed(self, token_id: int) -> list[Piece]:
        """The text that becomes final; ``opened``: the opener's text, once it is written."""
        if token_id in self._end_ids or self._is_over:
            return []
        opener = self._watch.opener
        begun = self._watch.after(self._begun, token_id)
        if begun is None and opener.token_id is not None:
            self._held += self._stream.flush()
            return self._open()
        self._held += self._stream.push(token_id)
        self._is_over = self._stream.stopped
        if self._is_over:
            return []
        if begun is None:
            self._held += self._stream.flush()
            self._held = self._held.removesuffix(opener.text.decode())
            return self._open()
        self._begun = begun
        final = self._held[: len(self._held) - begun].rstrip()
        self._held = self._held[len(final) :]
        return [Said("content", final)]

    def end(self) -> list[Piece]:
        """All that was held back: no call follows."""
        return [Said("content", self._held + self._stream.flush())]

    def _open(self) -> list[Piece]:
        self.opened = self._watch.opener.text.decode()
        return [Said("content", self._held.rstrip())]


class _Records:
    """Records, refusals and calls, one after the other, character by character."""

    def __init__(self, form: CallFormat) -> None:
        self._form = form
        self._begins_call = f'{form.opener}{form.before_name}"'
        self._held = ""
        self._num_calls = 0
        self._depth = _Depth()
        self._read: Callable[[str], Iterable[Piece]] = self._start

    def feed(self, text: str) -> list[Piece]:
        """What the next characters say."""
        return [piece for character in text for piece in self._read(character)]

    def _start(self, character: str) -> Iterable[Piece]:
        """What begins is not clear yet; of a call all before its name is passed over."""
        self._held += character
        if self._held == "{":
            self._read = self._record
            yield Said("content", character)
        elif self._held == REFUSAL_OPENER:
            self._begin(self._refusal)
        elif self._held.endswith(self._begins_call):
            self._begin(self._name)

    def _begin(self, read: Callable[[str], Iterable[Piece]]) -> None:
        self._held, self._read, self._depth = "", read, _Depth()

    def _record(self, character: str) -> Iterable[Piece]:
        yield Said("content", character)

    def _refusal(self, character: str) -> Iterable[Piece]:
        self._held += character
        if self._depth.closes(character):
            yield Said("refusal", json.loads(self._held)[REASON])
            self._begin(self._nothing)

    def _nothing(self, character: str) -> Iterable[Piece]:
        return ()

    def _name(self, character: str) -> Iterable[Piece]:
        if character != '"':
            self._held += character
            return
        yield CallBegun(self._num_calls, self._held)
        self._begin(self._before_arguments)

    def _before_arguments(self, character: str) -> Iterable[Piece]:
        self._held += character
        if self._held == self._form.before_arguments:
            self._begin(self._arguments)
        return ()

    def _arguments(self, character: str) -> Iterable[Piece]:
        yield CallArguments(self._num_calls, character)
        if self._depth.closes(character):
            self._num_calls += 1
            self._begin(self._start)


class _Depth:
    """Finds the end of a JSON object."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def closes(self, character: str) -> bool:
        """True for the bracket that closes the object."""
        if self._in_string:
            self._in_string = self._escaped or character != '"'
            self._escaped = character == "\\" and not self._escaped
        elif character == '"':
            self._in_string = True
        elif character in "{[":
            self._depth += 1
        elif character in "}]":
            self._depth -= 1
            return self._depth == 0
        return False


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces, those of one text that follow each other put together, empty ones left out."""
    found: list[Piece] = []
    for piece in pieces:
        last = found[-1] if found else None
        match piece, last:
            case (Said(kind, text), Said(before, said)) if kind == before:
                found[-1] = Said(kind, said + text)
            case (CallArguments(index, text), CallArguments(before, said)) if index == before:
                found[-1] = CallArguments(index, said + text)
            case _ if isinstance(piece, CallBegun) or piece.text:
                found.append(piece)
            case _:
                pass
    return found
