"""Answers with tools under every drafting policy, near the token limit, and read back: P1 to P3."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

import pytest

from factorspec_sdk.errors import TokenLimitTooSmall
from factorspec_sdk.wire import parse_document
from factorspec_sdk.wire.check import check_spec
from factorspec_server.drafting import DraftingPolicy, Off, Tree, TreeOptions
from factorspec_server.engines import Completion, Request, Sampling, generate_batch
from factorspec_server.engines.answer_rules import AnswerRules
from factorspec_server.engines.answer_session import AnswerSession
from factorspec_server.http.answer_reader import AnswerReader, Reading
from factorspec_server.http.choice_message import ChoiceMessage
from tests.server.drafting.test_lossless_sessions import POLICIES, PROMPT
from tests.server.http.calling import FAMILIES, TOOLS, Making, TellingModel, making

OFF = Off()


def run(
    rules: AnswerRules,
    told: Sequence[int] = (),
    *,
    seed: int = 0,
    policy: DraftingPolicy | TreeOptions = OFF,
    limit: int = 400,
) -> tuple[Completion, AnswerSession, TellingModel]:
    prompt = rules.vocabulary.encode(PROMPT)
    model = TellingModel(rules.vocabulary, prompt, told, seed=seed)
    session = AnswerSession(rules, model, limit)
    drafting = Tree(policy, rules.vocabulary, prompt) if isinstance(policy, TreeOptions) else policy
    request = Request(
        prompt_ids=prompt,
        token_limit=limit,
        session=session,
        sampling=Sampling(temperature=1.1, seed=seed),
        drafting=drafting,
    )
    (completion,) = generate_batch(model, [request])
    assert completion.error is None, completion.error
    assert completion.token_ids == session.tokens
    report = session.report
    assert len(report.origins) == len(session.tokens)
    return completion, session, model


def read(made: Making, rules: AnswerRules, model: TellingModel, tokens: Sequence[int]) -> ChoiceMessage:
    """The message, read as one and token by token: both must be the same."""
    reading = Reading.of(rules, model, made.decoders.spelled.format)
    whole, parts = (ChoiceMessage(AnswerReader(reading)) for _ in "ab")
    whole.feed(tokens)
    whole.end()
    deltas = [delta for token in tokens for delta in parts.feed((token,))] + parts.end()
    assert [(call.name, call.arguments) for call in parts.calls] == [
        (call.name, call.arguments) for call in whole.calls
    ]
    assert parts.content == whole.content
    assert "".join(str(delta.get("content", "")) for delta in deltas) == (whole.content or "")
    return whole


def check_calls(message: ChoiceMessage) -> None:
    for call in message.calls:
        arguments = json.loads(call.arguments)
        verdicts = check_spec(parse_document(TOOLS[call.name]), arguments)
        assert all(verdict.outcome == "holds" for verdict in verdicts)
        assert list(arguments) == TOOLS[call.name].get("required", [])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("most_calls", [1, 3])
def test_calls_are_valid_and_the_same_under_every_policy(family: str, most_calls: int) -> None:
    made = making(family)
    rules, names = made.rules(most_calls=most_calls), set()
    for seed in range(6):
        reference, _, model = run(rules, seed=seed)
        message = read(made, rules, model, reference.token_ids)
        assert 1 <= len(message.calls) <= most_calls
        check_calls(message)
        names |= {call.name for call in message.calls}
        for policy in POLICIES:
            drafted, _, _ = run(rules, seed=seed, policy=policy)
            assert drafted.token_ids == reference.token_ids
            assert drafted.usage.model_steps <= drafted.usage.choice_points
    assert len(names) > 1


@pytest.mark.parametrize("family", FAMILIES)
def test_the_tokens_of_a_call_are_those_of_its_text(family: str) -> None:
    made = making(family)
    rules = made.rules("later", "a")  # without free text
    for seed in range(8):
        completion, session, _ = run(rules, seed=seed)
        assert completion.token_ids == made.vocabulary.encode(session.text)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("text", ["", "I will look.\n", "<tool <tool_ call <", "São <<<"])
def test_text_turns_into_calls_at_the_opener(family: str, text: str) -> None:
    made = making(family)
    rules = made.rules(text=True, most_calls=2)
    opener = made.vocabulary.encode_inside(f"{text}<tool_call>")
    for seed in range(3):
        reference, _, model = run(rules, opener, seed=seed)
        message = read(made, rules, model, reference.token_ids)
        assert message.content == (text.rstrip() or None)
        assert message.calls
        check_calls(message)
        for policy in POLICIES[::2]:
            assert run(rules, opener, seed=seed, policy=policy)[0].token_ids == reference.token_ids


@pytest.mark.parametrize("family", FAMILIES)
def test_text_without_an_opener_stays_text(family: str) -> None:
    made = making(family)
    rules = made.rules(text=True)
    (end,) = made.vocabulary.end_ids
    for text in ("No tools are needed. ", "<tool_ca", "a <tool-call> b", "</tool_call>"):
        reference, session, model = run(rules, [*made.vocabulary.encode_inside(text), end])
        message = read(made, rules, model, reference.token_ids)
        assert message.content == text
        assert not message.calls
        assert reference.finish_reason == "stop"
        assert set(session.report.origins) == {"free"}


def test_an_opener_that_is_a_token_is_not_spelled_by_others() -> None:
    made = making("tags")
    rules = made.rules(text=True)
    (end,) = made.vocabulary.end_ids
    spelled = [made.vocabulary.token_id(character.encode()) for character in "Write <tool_call> so."]
    told = [token for token in spelled if token is not None]
    assert len(told) == len(spelled)
    reference, _, model = run(rules, [*told, end])
    message = read(made, rules, model, reference.token_ids)
    assert message.content == "Write <tool_call> so."
    assert not message.calls


def test_an_opener_is_found_however_it_is_spelled() -> None:
    made = making("smollm2")
    rules = made.rules(text=True)
    spelled = [made.vocabulary.token_id(character.encode()) for character in "So: <tool_call>"]
    reference, _, model = run(rules, [token for token in spelled if token is not None])
    message = read(made, rules, model, reference.token_ids)
    assert message.content == "So:"
    assert len(message.calls) == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_no_token_reaches_beyond_the_opener(family: str) -> None:
    """Random text, drawn towards the opener, byte by byte or in whole tokens."""
    made = making(family)
    rules = made.rules(text=True)
    calls = rules.calls
    assert calls is not None
    opener, source = calls.watch.opener.text, random.Random(family)
    model = TellingModel(made.vocabulary, (1,), ())
    for _ in range(60):
        session, text = AnswerSession(rules, model, 400), b""
        for _ in range(30):
            if session.writings or session.state != "open":
                break
            allowed = session.plan().choices[0].allowed.ids()
            near = [token for token in allowed if opener.startswith(made.vocabulary.token_bytes(token)[:1])]
            token = int(source.choice(near if near and source.random() < 0.5 else allowed.tolist()))
            session.commit((token,))
            text += made.vocabulary.token_bytes(token)
            if calls.watch.opener.token_id is None:
                assert (opener in text) == bool(session.writings)
                assert opener not in text or text.endswith(opener)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_limit_is_kept_and_every_call_complete(family: str) -> None:
    made = making(family)
    rules = made.rules("later", "a", most_calls=3)
    model = TellingModel(made.vocabulary, (1,), ())
    with pytest.raises(TokenLimitTooSmall) as caught:
        AnswerSession(rules, model, 0)
    shortest = caught.value.shortest
    assert shortest is not None
    with pytest.raises(TokenLimitTooSmall):
        AnswerSession(rules, model, shortest - 1)
    numbers = set()
    for above in (0, 1, 2, 5, 9, 14, 30, 60):
        for seed in range(3):
            limit = shortest + above
            reference, session, model = run(rules, seed=seed, limit=limit)
            assert len(reference.token_ids) <= limit
            assert session.state == "complete"
            message = read(made, rules, model, reference.token_ids)
            check_calls(message)
            numbers.add(len(message.calls))
            drafted, _, _ = run(rules, seed=seed, limit=limit, policy=POLICIES[5])
            assert drafted.token_ids == reference.token_ids
    assert len(numbers) > 1


@pytest.mark.parametrize("family", FAMILIES)
def test_text_opens_no_call_that_does_not_fit(family: str) -> None:
    made = making(family)
    rules = made.rules("later", text=True)
    opener = made.vocabulary.encode_inside("<tool_call>")
    calls = rules.calls
    assert calls is not None
    needed = len(opener) + calls.num_needed
    for limit in range(len(opener), needed + 6):
        reference, session, model = run(rules, opener, limit=limit)
        message = read(made, rules, model, reference.token_ids)
        assert len(reference.token_ids) <= limit
        assert bool(message.calls) == bool(session.writings)
        check_calls(message)
        if limit >= needed:
            assert message.calls
        if limit < needed - 2:
            assert not message.calls


@pytest.mark.parametrize("family", FAMILIES)
def test_a_record_a_call_or_a_refusal(family: str) -> None:
    made = making(family)
    record, _ = made.compiler.compile(TOOLS["away"])
    record.decoder.prepare()
    rules = made.rules("later", records=(record.decoder, made.decoders.refusal))
    kinds = set()
    for seed in range(16):
        reference, session, model = run(rules, seed=seed, limit=900)
        message = read(made, rules, model, reference.token_ids)
        whole = message.whole()
        kind = "call" if message.calls else "refusal" if whole["refusal"] else "record"
        if kind == "record":
            found = json.loads(str(message.content))
            assert found["from"] != found["to"]
        check_calls(message)
        kinds.add(kind)
        drafted, _, _ = run(rules, seed=seed, limit=900, policy=POLICIES[5])
        assert drafted.token_ids == reference.token_ids
        assert session.report.origins[0] in ("chosen", "certain")
    assert kinds == {"call", "record", "refusal"}


def test_a_stop_string_ends_text_but_no_call() -> None:
    made = making("smollm2")
    rules = made.rules(text=True, stop=("}", "xyz"))
    told = made.vocabulary.encode_inside("Now <tool_call>")
    reference, _, model = run(rules, told)
    assert len(read(made, rules, model, reference.token_ids).calls) == 1
    told = made.vocabulary.encode_inside("Now } <tool_call>")
    reference, session, model = run(rules, told)
    message = read(made, rules, model, reference.token_ids)
    assert message.content == "Now "
    assert session.state == "complete" and not message.calls


def test_canonical_text_holds_within_calls() -> None:
    made = making("smollm2")
    rules = made.rules("away", canonical_text=True, most_calls=2)
    for seed in range(5):
        reference, session, model = run(rules, seed=seed)
        check_calls(read(made, rules, model, reference.token_ids))
        text_filter = session.report.text_filter
        assert text_filter is not None and text_filter.dropped == 0
        for writing in session.writings:
            ids = writing.session.tokens
            assert ids == made.vocabulary.encode(writing.session.text)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_token_that_is_not_allowed_refuses_the_answer(family: str) -> None:
    made = making(family)
    rules = made.rules()
    model = TellingModel(made.vocabulary, (1,), ())
    session = AnswerSession(rules, model, 400)
    session.commit(made.vocabulary.encode_inside("x"))
    assert session.state == "refused"
    session = AnswerSession(made.rules(text=True), model, 400)
    session.commit((made.vocabulary.logit_width + 5,))
    assert session.state == "refused"
