"""Free completions: end tokens, stop strings, text as it streams."""

from collections.abc import Sequence

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
