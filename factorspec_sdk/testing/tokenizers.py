r"""Small real tokenizers, trained in a moment and the same on every machine.

Each splits text as a known family does, or in a way that no family knows, and merges across every boundary
that occurs in records. All have the end token ``<|end|>`` (special), the added token ``<think>`` (not
special), and a few columns of logits without a token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from factorspec_sdk.testing.corpus import texts
from factorspec_sdk.tokens.families import CL100K, DEEPSEEK, LLAMA3, O200K, QWEN
from factorspec_sdk.tokens.marks import MARK
from factorspec_sdk.tokens.vocabulary import Vocabulary

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from tokenizers.pre_tokenizers import PreTokenizer

END = "<|end|>"
THINK = "<think>"
_PADDING = 3


def byte_vocabulary() -> Vocabulary:
    """The 256 bytes as ids 0 to 255, and the end token 256. No token is longer than a byte."""
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

    from factorspec_sdk.tokens.alphabet import characters

    vocab = {character: byte for byte, character in enumerate(characters())}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.add_special_tokens([AddedToken(END, special=True, normalized=False)])
    return Vocabulary.from_tokenizer(tokenizer, end_ids=(256,), name="bytes")


def tricky_tokenizer(seed: int = 0) -> Tokenizer:
    """Look-ahead at white space, numbers in groups of up to three, punctuation and quotes that join words
    (Llama 3).

    ``seed`` varies the texts it is trained on, and with them the merges.
    """
    return _trained(_split(LLAMA3), 700, seed)


def whole_word_tokenizer(seed: int = 0) -> Tokenizer:
    """The tricky tokenizer, but a word that is a token is taken whole whatever the merges say (Llama 3).

    Some tokens cannot be made by merges.
    """
    import json

    from tokenizers import Tokenizer

    raw = json.loads(tricky_tokenizer(seed).to_str())
    raw["model"]["ignore_merges"] = True
    raw["model"]["merges"] = [pair for at, pair in enumerate(raw["model"]["merges"]) if at % 5]
    return Tokenizer.from_str(json.dumps(raw))


def gpt2_like_tokenizer(seed: int = 0) -> Tokenizer:
    """Splits as GPT-2: runs of digits are one pre-token, and a space joins what follows."""
    from tokenizers import pre_tokenizers

    return _trained(pre_tokenizers.ByteLevel(add_prefix_space=False), 600, seed)


def smollm2_like_tokenizer(seed: int = 0) -> Tokenizer:
    """Splits as SmolLM2: every digit by itself first, then as GPT-2."""
    from tokenizers import pre_tokenizers

    stages = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    return _trained(pre_tokenizers.Sequence(stages), 600, seed)


def qwen_like_tokenizer(seed: int = 0) -> Tokenizer:
    """Splits as Qwen: every digit by itself, with its normaliser NFC."""
    from tokenizers import normalizers

    tokenizer = _trained(_split(QWEN), 600, seed)
    tokenizer.normalizer = normalizers.NFC()
    return tokenizer


def cl100k_like_tokenizer(seed: int = 0) -> Tokenizer:
    """Splits as OpenAI's cl100k."""
    return _trained(_split(CL100K), 600, seed)


def o200k_like_tokenizer(seed: int = 0) -> Tokenizer:
    """Splits as OpenAI's o200k (gpt-oss): words end where a capital follows, and take their contraction."""
    return _trained(_split(O200K), 600, seed)


def deepseek_like_tokenizer(seed: int = 0) -> Tokenizer:
    """Splits as DeepSeek-V3, in three stages: numbers, ideographs, the rest."""
    return _trained(_split(*DEEPSEEK), 600, seed)


def unfamiliar_tokenizer(seed: int = 0) -> Tokenizer:
    """Splits in a way that no family knows: words with their marks, single digits, punctuation."""
    return _trained(_split(r" ?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+"), 600, seed)


def sentencepiece_like_tokenizer(seed: int = 0) -> Tokenizer:
    """SentencePiece style as in Llama 2: a mark before the text and for each space, single digits.

    Rare characters have no token of their own and are spelled in bytes.
    """
    from tokenizers import decoders, normalizers

    tokenizer = _marked(seed, words_apart=True, first=())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)])
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace(MARK, " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    return _with_added(tokenizer)


def gemma_like_tokenizer(seed: int = 0) -> Tokenizer:
    """SentencePiece style as in Gemma: no mark before the text, tags as added tokens, runs of marks and of
    line breaks that are both added and BPE tokens. Here tokens span words (``",▁"``); Gemma's seldom do.
    """
    from tokenizers import AddedToken, decoders, normalizers, pre_tokenizers

    runs = [character * count for character in (MARK, "\n") for count in (2, 3, 4)]
    tokenizer = _marked(seed, words_apart=False, first=runs)
    tokenizer.normalizer = normalizers.Replace(" ", MARK)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    added = ["\n", *runs, "<b>", "</b>", "[multi]"]
    tokenizer.add_tokens([AddedToken(content, special=False, normalized=False) for content in added])
    return _with_added(tokenizer)


ALL: dict[str, Callable[[int], Tokenizer]] = {
    "tricky": tricky_tokenizer,
    "whole_word": whole_word_tokenizer,
    "gpt2": gpt2_like_tokenizer,
    "smollm2": smollm2_like_tokenizer,
    "qwen": qwen_like_tokenizer,
    "cl100k": cl100k_like_tokenizer,
    "o200k": o200k_like_tokenizer,
    "deepseek": deepseek_like_tokenizer,
    "unfamiliar": unfamiliar_tokenizer,
    "sentencepiece": sentencepiece_like_tokenizer,
    "gemma": gemma_like_tokenizer,
}


@cache
def vocabulary_like(name: str, seed: int = 0) -> Vocabulary:
    """The vocabulary of one of ``ALL``, with its end token and padded logits. Made once."""
    tokenizer = ALL[name](seed)
    end_id = tokenizer.token_to_id(END)
    assert end_id is not None
    width = tokenizer.get_vocab_size() + _PADDING
    return Vocabulary.from_tokenizer(tokenizer, width, (end_id,), name=f"{name} {seed}")


def _split(*patterns: str) -> PreTokenizer:
    from tokenizers import Regex, pre_tokenizers

    splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
    return pre_tokenizers.Sequence(
        [*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )


def _trained(pre_tokenizer: PreTokenizer, size: int, seed: int) -> Tokenizer:
    from tokenizers import Tokenizer, models, trainers
    from tokenizers.pre_tokenizers import ByteLevel

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    alphabet = sorted(ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts(seed), trainer)
    return _with_added(tokenizer)


def _with_added(tokenizer: Tokenizer) -> Tokenizer:
    from tokenizers import AddedToken

    tokenizer.add_special_tokens([AddedToken(END, special=True, normalized=False)])
    tokenizer.add_tokens([AddedToken(THINK, special=False, normalized=False)])
    return tokenizer


def _marked(seed: int, *, words_apart: bool, first: Sequence[str]) -> Tokenizer:
    """BPE over characters with marks for spaces and byte tokens; ``first`` are runs that are merged first."""
    import json

    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

    learner = Tokenizer(models.BPE())
    learner.normalizer = normalizers.Replace(" ", MARK)
    words = f"[0-9]|{MARK}*[^{MARK}0-9]+|{MARK}+" if words_apart else "[0-9]|[^0-9]+"
    learner.pre_tokenizer = pre_tokenizers.Split(Regex(words), "isolated")
    others = sorted({character for text in texts(seed) for character in text if not character.isascii()})
    alphabet = [MARK, "\n", *map(chr, range(0x21, 0x7F)), *others[::2]]
    trainer = trainers.BpeTrainer(
        vocab_size=500, initial_alphabet=alphabet, limit_alphabet=len(alphabet), show_progress=False
    )
    learner.train_from_iterator(texts(seed), trainer)
    raw = json.loads(learner.to_str())
    model = raw["model"]
    learned = sorted(model["vocab"], key=model["vocab"].__getitem__)
    tokens = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), *first, *learned]
    model["vocab"] = {token: at for at, token in enumerate(dict.fromkeys(tokens))}
    model["merges"] = [*((run[:-1], run[-1]) for run in first), *model["merges"]]
    model.update(unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    raw.update(normalizer=None, pre_tokenizer=None)
    return Tokenizer.from_str(json.dumps(raw))
