"""Free completions: end tokens, stop strings, text as it streams."""

from collections.abc import Sequence
from random import Random

import pytest

from factorspec_sdk.testing.scripted_model import ScriptedModel
from factorspec_server.engines import Commit, Request, Sampling, generate_batch
from factorspec_server.engines.chat import ChatSession, TextStream


def decode(token_ids: Sequence[int]) -> str:
    return bytes(token_ids).decode("utf-8", errors="replace")


def pushed(text: str, stop: Sequence[str] = ()) -> tuple[list[str], TextStream]:
    stream = TextStream(decode, stop)
    return [stream.push(byte) for byte in text.encode()], stream


def test_text_comes_in_whole_characters() -> None:
    parts, stream = pushed("aé😀b")
    assert parts == ["a", "", "é", "", "", "", "😀", "b"]
    assert stream.flush() == ""


def test_an_unfinished_character_comes_out_at_the_end() -> None:
    stream = TextStream(decode)
    assert stream.push(0xC3) == ""
    assert stream.flush() == "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("text", "want"), [("one END two", "one "), ("EEND", "E"), ("ENEN", "ENEN"), ("a\n\nb", "a")]
)
def test_stop_strings_are_left_out_and_their_beginnings_held_back(text: str, want: str) -> None:
    stop = ("END", "\n\n")
    stream = TextStream(decode, stop)
    shown = ""
    for byte in text.encode():
        if not stream.stopped:
            shown += stream.push(byte)
            assert want.startswith(shown)
    assert shown + stream.flush() == want
    assert stream.stopped == (want != text)


WORDS = ("ab", "c", "é", "😀", "END", "EN", "\n\n", "x\nE", "ND", "日本", "本語")


def in_plain(text: str, stop: Sequence[str]) -> str:
    """The reference: one character after the other, until the text ends with a stop string."""
    for end in range(1, len(text) + 1):
        found = [string for string in stop if text[:end].endswith(string)]
        if found:
            return text[: end - max(map(len, found))]
    return text


@pytest.mark.parametrize("seed", range(40))
def test_the_answer_ends_alike_however_it_is_cut_into_tokens(seed: int) -> None:
    draw = Random(seed)
    text = "".join(draw.choices(WORDS, k=12))
    stop = draw.sample(["END", "NDE", "DE", "\n\n", "é😀", "日本語", "c😀", "abab", "\nEN"], k=3)
    data, tokens = text.encode(), list[bytes]()
    while data:
        size = draw.randint(1, 6)
        tokens.append(data[:size])
        data = data[size:]

    def decoded(token_ids: Sequence[int]) -> str:
        return b"".join(tokens[token] for token in token_ids).decode("utf-8", errors="replace")

    stream, want, shown = TextStream(decoded, stop), in_plain(text, stop), ""
    for token in range(len(tokens)):
        shown += stream.push(token)
        assert want.startswith(shown)
        if stream.stopped:
            break
    assert shown + stream.flush() == want
    assert stream.stopped == (want != text)


def test_a_stop_string_before_half_a_character_ends_the_answer_at_once() -> None:
    tokens = [b"one END" + b"\xc3", b"\xa9"]
    stream = TextStream(
        lambda ids: b"".join(tokens[token] for token in ids).decode("utf-8", errors="replace"), ("END",)
    )
    assert stream.push(0) == "one "
    assert stream.stopped


def test_an_end_token_completes_the_answer() -> None:
    session = ChatSession(ScriptedModel(64, end_ids=(2,)))
    states = []
    for token_id, text in ((65, "A"), (66, "B"), (2, "")):
        assert session.write((token_id,)) == text
        states.append(session.state)
    assert states == ["open", "open", "complete"]


def test_a_free_completion_ends_at_its_limit_or_an_end_token() -> None:
    model = ScriptedModel(64, seed=4, end_ids=(2,))
    requests = [
        Request(prompt_ids=(1,), token_limit=30, sampling=Sampling(1.0, seed=seed)) for seed in range(20)
    ]
    completions = generate_batch(model, requests)
    assert {completion.finish_reason for completion in completions} == {"stop", "length"}
    for completion in completions:
        assert (completion.token_ids[-1] == 2) == (completion.finish_reason == "stop")
        assert 2 not in completion.token_ids[:-1]


def test_streamed_text_adds_up_to_the_text() -> None:
    commits: list[Commit] = []
    request = Request(
        prompt_ids=(1,), token_limit=40, sampling=Sampling(1.0, seed=3), on_commit=commits.append
    )
    (completion,) = generate_batch(ScriptedModel(128), [request])
    assert "".join(commit.text for commit in commits) == completion.text
