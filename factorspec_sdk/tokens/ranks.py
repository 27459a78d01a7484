r"""Tokenizers in tiktoken's form: ranks of byte strings, a pattern, special tokens.

tiktoken encodes a pre-token like this: if it has a rank as a whole, that is its token; else, from single
bytes on, the two neighbours whose joined bytes have the lowest rank are joined, the leftmost first, until no
two have one. The twin that is built here works with *merges* instead, pairs with a rank of their own::

    ranks    "t" 3   "h" 5   "e" 4   "th" 9   "he" 8   "the" 12
    merges   (h, e) -> he      (t, he) -> the      (t, h) -> th

One merge a token is enough. Say two neighbours l, r are joined to t somewhere. Nothing was joined across the
ends of t before, and inside t the joins came in the order in which they come where t stands alone, since each
was the leftmost of the lowest rank in all of the text. So (l, r) is what is left of t alone just before its
last join: one pair for each t, or none, and then t is only ever taken as a whole (``ignore_merges``).

A pattern must be a known one: other engines read ``{1,3}+`` and ``$`` otherwise than tiktoken's does.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from factorspec_sdk.errors import EngineError, ModelNotFound, Problem
from factorspec_sdk.tokens.alphabet import to_alphabet
from factorspec_sdk.tokens.families import CL100K, CL100K_TO_END, GPT2, LLAMA3, O200K, QWEN, QWEN35, TEKKEN
from factorspec_sdk.tokens.spelling import MAX_ID

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Ranks = Mapping[bytes, int]

_NO_RANK = 1 << 62
_MAX_SHOWN = 8
# pattern: the same in the words of the tokenizers library
_PATTERNS = {
    GPT2: GPT2,
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s": GPT2,
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": GPT2,
    QWEN: QWEN,
    LLAMA3: LLAMA3,
    CL100K: CL100K,
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|"
    r"\s*[\r\n]|\s+(?!\S)|\s": CL100K_TO_END,
    O200K: O200K,
    TEKKEN: TEKKEN,
    QWEN35: QWEN35,
}


@runtime_checkable
class Encoding(Protocol):
    """What is read of a ``tiktoken.Encoding``."""

    name: str
    _pat_str: str
    _mergeable_ranks: dict[bytes, int]
    _special_tokens: dict[str, int]


def read_ranks(path: str | Path) -> dict[bytes, int]:
    """The ranks in a ``.tiktoken`` file: in each line a token in base64 and its rank.

    Raises:
        ModelNotFound: there is no such file.
        EngineError: a line is not of that form.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise ModelNotFound(
            f"no ranks file {str(path)!r}; give the path of a .tiktoken file, "
            "or the encoding itself: from_tiktoken(tiktoken.get_encoding(NAME))"
        )
    source = file.read_bytes()
    if source.lstrip()[:1] == b"{":  # no base64 begins so
        raise EngineError(f"{str(path)!r} is no ranks file but JSON; for a tokenizer.json, use from_file")
    ranks: dict[bytes, int] = {}
    problems: list[Problem] = []
    for number, line in enumerate(source.splitlines(), start=1):
        if line.strip():
            try:
                token, rank = line.split()
                data = base64.b64decode(token, validate=True)
                if data in ranks:
                    problems.append(
                        Problem(f"line {number}", "a token that stands there already", repr(data))
                    )
                ranks[data] = int(rank)
            except (ValueError, binascii.Error):
                shown = repr(line[:40].decode("utf-8", "replace"))
                problems.append(Problem(f"line {number}", "not a token in base64 and its rank", shown))
    if problems:
        raise _refused(str(path), problems)
    return ranks


def twin_of(
    source: Encoding | Ranks | str | Path, pattern: str | None, special_tokens: Mapping[str, int] | None
) -> tuple[Tokenizer, str]:
    """The tokenizer of an encoding, of ranks, or of a ranks file, and its name.

    Raises:
        ModelNotFound: there is no such file.
        EngineError: the ranks or the pattern are none that can be followed exactly.
    """
    name, ranks = "ranks", source
    if isinstance(source, str | Path):
        name, ranks = str(source), read_ranks(source)
    elif isinstance(source, Encoding):
        name, ranks = source.name, source._mergeable_ranks  # noqa: SLF001
        pattern = source._pat_str if pattern is None else pattern  # noqa: SLF001
        special_tokens = source._special_tokens if special_tokens is None else special_tokens  # noqa: SLF001
    if pattern is None:
        raise _refused(name, [Problem("pattern", "is needed where ranks are given without an encoding")])
    assert isinstance(ranks, Mapping)
    return tokenizer_of(ranks, pattern, special_tokens or {}, name), name


def tokenizer_of(ranks: Ranks, pattern: str, special_tokens: Mapping[str, int], name: str) -> Tokenizer:
    """A tokenizer with the same tokens for every text. About 5 µs a rank.

    Args:
        ranks: id of each token; not changed.
        pattern: the expression that splits text.
        special_tokens: id of each.
        name: what errors call it.

    Raises:
        EngineError: the ranks or the pattern are none that can be followed exactly.
    """
    from tokenizers import Tokenizer

    problems = [*_rank_problems(ranks), *_special_problems(ranks, special_tokens)]
    if pattern not in _PATTERNS:
        hint = "Give the model's tokenizer.json instead (Vocabulary.from_file)"
        problems.append(Problem("pattern", "none of the patterns that are known", repr(pattern), hint))
    if problems:
        raise _refused(name, problems)
    merges, all_are_made = _merges(ranks)
    definition = {
        "version": "1.0",
        "added_tokens": [_added(content, id_) for content, id_ in special_tokens.items()],
        "pre_tokenizer": _stages(_PATTERNS[pattern]),
        "decoder": _stages(GPT2),
        "model": {
            "type": "BPE",
            "ignore_merges": not all_are_made,
            "vocab": {to_alphabet(token): rank for token, rank in ranks.items()} | dict(special_tokens),
            "merges": merges,
        },
    }
    return Tokenizer.from_str(json.dumps(definition))


def _merges(ranks: Ranks) -> tuple[list[tuple[str, str]], bool]:
    """The merge of each token, by rank; and whether every longer token has one."""
    merges: list[tuple[str, str]] = []
    num_longer = 0
    for token in sorted(ranks, key=ranks.__getitem__):
        if len(token) > 1:
            num_longer += 1
            pair = _last_pair(token, ranks)
            if pair is not None:
                merges.append((to_alphabet(pair[0]), to_alphabet(pair[1])))
    return merges, len(merges) == num_longer


def _last_pair(token: bytes, ranks: Ranks) -> tuple[bytes, bytes] | None:
    """The two parts of a token that are left before its last join, or None if its joins end before."""
    rank_of = ranks.get
    parts = [token[at : at + 1] for at in range(len(token))]
    joined = [rank_of(token[at : at + 2], _NO_RANK) for at in range(len(token) - 1)]
    while len(parts) > 2:
        lowest = min(joined)
        if lowest == _NO_RANK:
            return None
        at = joined.index(lowest)
        whole = parts[at] + parts[at + 1]
        parts[at : at + 2] = [whole]
        del joined[at]
        if at:
            joined[at - 1] = rank_of(parts[at - 1] + whole, _NO_RANK)
        if at < len(joined):
            joined[at] = rank_of(whole + parts[at + 1], _NO_RANK)
    return parts[0], parts[1]


def _stages(pattern: str) -> dict[str, object]:
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    if pattern == GPT2:
        return byte_level | {"use_regex": True}
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [split, byte_level | {"use_regex": False}]}


def _added(content: str, token_id: int) -> dict[str, object]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": token_id, "content": content, "special": True} | flags


def _rank_problems(ranks: Mapping[bytes, object]) -> Iterator[Problem]:
    holders: dict[int, bytes] = {}
    for token, rank in ranks.items():
        if not token or type(token) is not bytes:
            yield Problem("ranks", "a token must be bytes, and not empty", repr(token))
        elif not isinstance(rank, int) or isinstance(rank, bool) or rank < 0:
            yield Problem(f"ranks[{token!r}]", "a rank must be an integer from 0 on", repr(rank))
        elif rank > MAX_ID:
            yield Problem(f"ranks[{token!r}]", f"a rank above {MAX_ID}", repr(rank))
        elif holders.setdefault(rank, token) != token:
            yield Problem(f"ranks[{token!r}]", f"the rank of {holders[rank]!r} too", repr(rank))
    missing = [byte for byte in range(256) if bytes([byte]) not in ranks]
    if missing:
        hint = "The file may be cut short, or of another kind"
        yield Problem("ranks", f"{len(missing)} single bytes have no rank", repr(bytes(missing[:8])), hint)


def _special_problems(ranks: Ranks, special_tokens: Mapping[str, object]) -> Iterator[Problem]:
    taken = {rank: token for token, rank in ranks.items()}
    holders: dict[int, str] = {}
    for content, id_ in special_tokens.items():
        place = f"special_tokens[{content!r}]"
        if not isinstance(id_, int) or isinstance(id_, bool) or not 0 <= id_ <= MAX_ID:
            yield Problem(place, f"an id must be an integer from 0 to {MAX_ID}", repr(id_))
        elif id_ in taken:
            yield Problem(place, f"the rank of {taken[id_]!r} too", repr(id_))
        elif holders.setdefault(id_, content) != content:
            yield Problem(place, f"the id of {holders[id_]!r} too", repr(id_))
        elif not content or content.encode("utf-8", "replace") in ranks:
            yield Problem(place, "a special token that is empty or has a rank of its own", repr(content))


def _refused(name: str, problems: list[Problem]) -> EngineError:
    left = len(problems) - _MAX_SHOWN
    shown = problems[:_MAX_SHOWN]
    more = f" ({left} more problems)" if left > 0 else ""
    return EngineError(f"ranks {name!r} cannot be followed exactly{more}", shown)
