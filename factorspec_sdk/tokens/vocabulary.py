"""A tokenizer as the token layer sees it: ids, their exact bytes, and the encoding of text.

Taken are byte-level BPE (GPT-2, SmolLM2, Qwen, Llama 3, gpt-oss and their like) and SentencePiece-style BPE
(Llama 2, Mistral, Gemma: ``marks.py``). Anything else is refused when the vocabulary is made, with the
reason: a mask that is nearly right is wrong.

*The leading mark.* A tokenizer such as Llama 2's puts a mark, so a space, before every text. A record follows
a prompt, and its tokens must be those that the model has seen there, which the chat template tells:

    [INST] Plan a trip. [/INST] {"city": "Rome"}     ▁{" city ": …    a space, or an own encoding, precedes
    <|assistant|>\n{"city": "Rome"}                   {" city ": …    the answer follows a line break at once

Canonical is the first. With ``leading_mark=False`` it is the second: the tokens of a record are those that
its text has in the middle of another. ``Vocabulary.lead`` is what the first token spells beyond the record, a
space or nothing. JSON parsers take no notice of it, and ``decode`` drops it, as the tokenizer's own decoder
does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from factorspec_sdk.errors import EngineError, MissingExtra, ModelNotFound, Problem
from factorspec_sdk.tokens.added import AddedTexts
from factorspec_sdk.tokens.definition import Definition, parse, problems_of
from factorspec_sdk.tokens.escaping import Escaper
from factorspec_sdk.tokens.marks import MARK, Marks, tokenizer_inside
from factorspec_sdk.tokens.prepared import Prepared, PreparedFiles, outline_of
from factorspec_sdk.tokens.ranks import Encoding, Ranks, twin_of
from factorspec_sdk.tokens.spelling import MAX_ID, id_problems, read_table

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_WORD_BITS = 32
# Bytes that no UTF-8 text holds; a vocabulary may lack them.
_NEVER_IN_UTF8 = frozenset({0xC0, 0xC1, *range(0xF5, 0x100)})


class Vocabulary:
    """The tokens of one tokenizer, by id.

    Equal and hashable by content. Holds no mutable state that a caller can see.

    Attributes:
        name: what errors call it.
        tokenizer: the library's tokenizer, without truncation and padding.
        definition: its definition (``tokenizer.json``), read.
        lead: what the tokens of a record spell before its text: a space for a leading mark, else nothing.
        hash: SHA-256 (hex) of the definition, the logit width, the end ids and the lead.
        logit_width: columns of the model's logits; ids without a token lie in it.
        end_ids: ids that end a completion, in the given order.
        is_checked: it has passed its self-check, now or in an earlier process (``cache``).
        added_ids: ids of added tokens, special or not. They are no part of values or of free text.
        added: their contents.
        special_ids: those of ``added_ids`` that the tokenizer calls special.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        logit_width: int | None = None,
        end_ids: Iterable[int] = (),
        name: str = "tokenizer",
        leading_mark: bool | None = None,
        cache: str | Path | None = None,
        source: bytes | None = None,
    ) -> None:
        """``source``: the bytes that the tokenizer was read from; the rest as for ``from_tokenizer``."""
        self.name = name
        files = None if cache is None else PreparedFiles(Path(cache))
        self._entry = None if files is None else files.entry(source or self._text_of(tokenizer).encode())
        prepared = None if self._entry is None else self._entry.read()
        self.is_checked = prepared is not None
        if prepared is None:
            num_names = tokenizer.get_vocab_size(with_added_tokens=False)
            prepared = self._prepare(self._text_of(tokenizer), num_names)
        if tokenizer.truncation is not None or tokenizer.padding is not None:
            tokenizer = type(tokenizer).from_str(tokenizer.to_str())
            tokenizer.no_truncation()
            tokenizer.no_padding()
        self.tokenizer = tokenizer
        self._prepared = prepared
        self.definition = Definition.read(prepared.definition)
        self.end_ids = tuple(end_ids)
        self.lead = self._lead(self.definition.marks, leading_mark)
        self._inside = tokenizer_inside(tokenizer, self.definition.marks)
        self.added = AddedTexts(self._added_texts())
        self.added_ids = frozenset(token.id for token in self.definition.added)
        self.special_ids = frozenset(token.id for token in self.definition.added if token.special)
        self._bytes = list(prepared.table)
        num_ids = len(self._bytes)
        self.logit_width = num_ids if logit_width is None else logit_width
        self._refuse(self._width_problems(num_ids))
        self._bytes.extend([b""] * (self.logit_width - num_ids))
        seed = f"{self.logit_width} {self.end_ids} {prepared.hash}{self.lead}"
        self.hash = hashlib.sha256(seed.encode()).hexdigest()
        self._missing_bytes = self._find_missing_bytes()
        self._escaper = Escaper(self.added, self._has_tokens, self._normalize)

    @classmethod
    def from_tokenizer(
        cls,
        tokenizer: Tokenizer,
        logit_width: int | None = None,
        end_ids: Iterable[int] = (),
        *,
        name: str = "tokenizer",
        leading_mark: bool | None = None,
        cache: str | Path | None = None,
    ) -> Vocabulary:
        """The vocabulary of a ``tokenizers.Tokenizer``.

        Args:
            tokenizer: not changed; must not be changed by the caller afterwards.
            logit_width: columns of the model's logits, at least the number of ids; None: the number of ids.
            end_ids: ids that end a completion.
            name: what errors call it.
            leading_mark: whether a record's first token carries the mark that the tokenizer puts before a
                text (see the top of the file); None: if the tokenizer puts one.
            cache: a directory for what is worked out of a tokenizer (``prepared.py``); None: nothing is kept
                on disk.

        Raises:
            EngineError: the tokenizer is of a kind whose tokens cannot be predicted exactly.
        """
        return cls(
            tokenizer,
            logit_width=logit_width,
            end_ids=end_ids,
            name=name,
            leading_mark=leading_mark,
            cache=cache,
        )

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        logit_width: int | None = None,
        end_ids: Iterable[int] = (),
        *,
        name: str | None = None,
        leading_mark: bool | None = None,
        cache: str | Path | None = None,
    ) -> Vocabulary:
        """The vocabulary of a ``tokenizer.json``. Arguments as for ``from_tokenizer``.

        Raises:
            MissingExtra: the package ``tokenizers`` is not installed.
            ModelNotFound: there is no such file.
            EngineError: the file is no ``tokenizer.json``, or as for ``from_tokenizer``.
        """
        _require_tokenizers()
        from tokenizers import Tokenizer

        path = str(path)
        file = Path(path).expanduser()
        if not file.is_file():
            raise _no_file(path, file)
        source = file.read_bytes()
        try:
            tokenizer = Tokenizer.from_buffer(source)
        except BaseException as error:
            if not _is_of_reading(error):
                raise
            raise EngineError(f"tokenizer {path!r} cannot be read", [_unreadable(error)]) from error
        return cls(
            tokenizer,
            logit_width=logit_width,
            end_ids=end_ids,
            name=name or path,
            leading_mark=leading_mark,
            cache=cache,
            source=source,
        )

    @classmethod
    def from_tiktoken(
        cls,
        source: Encoding | Ranks | str | Path,
        *,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        logit_width: int | None = None,
        end_ids: Iterable[int] = (),
        name: str | None = None,
    ) -> Vocabulary:
        """The vocabulary of a tiktoken encoding. Its tokens are those of tiktoken for every text.

        Args:
            source: a ``tiktoken.Encoding``, the ranks (bytes to id), or the path of a ``.tiktoken`` file.
            pattern: the expression that splits text; of an encoding, its own.
            special_tokens: id of each; of an encoding, its own.
            logit_width: columns of the model's logits, at least the number of ids; None: the number of ids.
            end_ids: ids that end a completion.
            name: what errors call it.

        Raises:
            MissingExtra: the package ``tokenizers`` is not installed.
            ModelNotFound: there is no such file.
            EngineError: the ranks are broken, or the pattern is none that is known.
        """
        _require_tokenizers()
        tokenizer, own_name = twin_of(source, pattern, special_tokens)
        return cls(tokenizer, logit_width=logit_width, end_ids=end_ids, name=name or own_name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)

    def __repr__(self) -> str:
        return f"Vocabulary({self.name!r}, logit_width={self.logit_width}, hash={self.hash[:12]!r})"

    @property
    def row_words(self) -> int:
        """Words of 32 bits in a packed mask row."""
        return -(-self.logit_width // _WORD_BITS)

    @cached_property
    def text_ids(self) -> tuple[int, ...]:
        """Ids that may be part of text: neither added tokens nor columns without a token. Ascending."""
        return tuple(i for i, data in enumerate(self._bytes) if data and i not in self.added_ids)

    @cached_property
    def sorted_ids(self) -> Sequence[int]:
        """``text_ids`` in the order of their bytes, those of equal bytes ascending. Do not change."""
        if self._prepared.order is not None:
            return self._prepared.order
        return sorted(self.text_ids, key=self._bytes.__getitem__)

    def mark_checked(self) -> None:
        """The self-check has been passed; that is kept on disk where there is a cache."""
        self.is_checked = True
        if self._entry is not None:
            self._entry.write(replace(self._prepared, order=self.sorted_ids))

    @property
    def all_bytes(self) -> Sequence[bytes]:
        """The bytes of each id below ``logit_width``; ``b""`` where a column has no token. Do not change."""
        return self._bytes

    def token_bytes(self, token_id: int) -> bytes:
        """The exact bytes of a token (of an added token: its content); a column without a token has none."""
        return self._bytes[token_id]

    def token_id(self, data: bytes) -> int | None:
        """The id of the ordinary token with exactly these bytes (of several, the one of BPE), or None."""
        for name in self.definition.spelling.names_of(data):
            token_id = self.tokenizer.token_to_id(name)
            if token_id is not None and token_id not in self.added_ids and self._bytes[token_id] == data:
                return int(token_id)
        return None

    def encode(self, text: str) -> tuple[int, ...]:
        """The tokenizer's own encoding of a whole text, without special tokens put around it.

        Its bytes are ``lead`` and the text.
        """
        tokenizer = self.tokenizer if self.lead else self._inside
        return tuple(tokenizer.encode(text, add_special_tokens=False).ids)

    def encode_inside(self, text: str) -> tuple[int, ...]:
        """The tokenizer's own encoding of a text in the middle of another: no mark is put before it."""
        return tuple(self._inside.encode(text, add_special_tokens=False).ids)

    def decode_bytes(self, token_ids: Iterable[int]) -> bytes:
        """The tokens' bytes, joined."""
        table = self._bytes
        return b"".join([table[token_id] for token_id in token_ids])

    def decode(self, token_ids: Iterable[int], *, errors: Literal["strict", "replace"] = "strict") -> str:
        """The text of a record's tokens, exactly (no clean-up, nothing skipped but ``lead``).

        Raises:
            UnicodeDecodeError: the bytes are not UTF-8 (a token may end inside a character) and ``errors`` is
                "strict".
        """
        return self.decode_bytes(token_ids).decode("utf-8", errors).removeprefix(self.lead)

    def escape(self, json_text: str) -> str:
        """A JSON text of the same value that the tokenizer takes literally. See ``Escaper``."""
        return self._escaper.escape(json_text)

    def _text_of(self, tokenizer: Tokenizer) -> str:
        """The definition. The library looks at each id up to the highest, so that one is looked at before."""
        self._refuse(id_problems(max(tokenizer.get_vocab().values(), default=-1)))
        return tokenizer.to_str()

    def _prepare(self, text: str, num_names: int) -> Prepared:
        """What the definition comes to, worked out anew; the model knows ``num_names`` tokens."""
        raw = parse(text)
        definition = Definition.read(raw)
        self._refuse(problems_of(definition))
        table, problems = read_table(raw["model"]["vocab"], definition)
        if num_names != len(raw["model"]["vocab"]):  # written by id, so each id has kept one of its names
            problems.append(Problem("model.vocab", "two tokens of one id", f"{num_names} tokens"))
        self._refuse(problems)
        return Prepared(hashlib.sha256(text.encode()).hexdigest(), outline_of(raw), table)

    def _lead(self, marks: Marks | None, leading_mark: bool | None) -> str:
        leads = marks is not None and marks.leads
        if leading_mark and not leads:
            self._refuse([Problem("leading_mark", "this tokenizer puts no mark before a text", "True")])
        return " " if leads and leading_mark is not False else ""

    def _has_tokens(self, character: str) -> bool:
        """True if tokens spell a character exactly."""
        if self.definition.marks is not None and character == MARK:
            return False  # it would be read as a space
        data = character.encode()
        return self._missing_bytes.isdisjoint(data) or self.token_id(data) is not None

    def _added_texts(self) -> Iterator[str]:
        """What is looked for in a text: contents, and what the normaliser makes of them if it comes first."""
        for token in self.definition.added:
            yield token.content
            if token.normalized and self.definition.marks is None:
                yield self._normalize(token.content) or token.content

    def _normalize(self, text: str) -> str:
        """What the normaliser makes of a text, marks apart."""
        normalizer = self.tokenizer.normalizer
        return text if normalizer is None or self.definition.marks else str(normalizer.normalize_str(text))

    def _find_missing_bytes(self) -> frozenset[int]:
        present = {self._bytes[i][0] for i in self.text_ids if len(self._bytes[i]) == 1}
        missing = frozenset(range(256)) - present - _NEVER_IN_UTF8
        ascii_text = {byte for byte in missing if 0x20 <= byte < 0x7F}
        if ascii_text:
            characters = "".join(map(chr, sorted(ascii_text)))
            self._refuse([Problem("model.vocab", "no token for these ASCII characters", repr(characters))])
        return missing

    def _width_problems(self, num_ids: int) -> list[Problem]:
        problems = []
        if self.logit_width < num_ids:
            problems.append(Problem("logit_width", f"smaller than the {num_ids} ids", repr(self.logit_width)))
        if self.logit_width > MAX_ID:
            problems.append(Problem("logit_width", f"above {MAX_ID}", repr(self.logit_width)))
        for end_id in self.end_ids:
            if not 0 <= end_id < self.logit_width:
                problems.append(Problem("end_ids", f"outside the {self.logit_width} columns", repr(end_id)))
            elif end_id not in self.added_ids:
                problems.append(Problem("end_ids", "an end token must be an added token", repr(end_id)))
        return problems

    def _refuse(self, problems: list[Problem]) -> None:
        if problems:
            raise EngineError(f"tokenizer {self.name!r} is not supported", problems)


def _is_of_reading(error: BaseException) -> bool:
    """True if that is how the library says that it cannot read a definition: some it panics at."""
    return isinstance(error, ValueError) or type(error).__name__ == "PanicException"


def _unreadable(error: BaseException) -> Problem:
    hint = (
        "Of a SentencePiece model (tokenizer.model), transformers makes a tokenizer.json: "
        "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)"
    )
    return Problem("", "not a tokenizer.json", str(error), hint)


def _no_file(path: str, file: Path) -> ModelNotFound:
    if not file.is_dir():
        return ModelNotFound(f"no tokenizer file {path!r}")
    inside = file / "tokenizer.json"
    hint = f"give {str(inside)!r}" if inside.is_file() else "and it holds no tokenizer.json"
    return ModelNotFound(f"no tokenizer file: {path!r} is a directory; {hint}")


def _require_tokenizers() -> None:
    try:
        import tokenizers  # noqa: F401
    except ImportError as error:
        raise MissingExtra("tokenizers is not installed; run: pip install 'factorspec[tokens]'") from error
