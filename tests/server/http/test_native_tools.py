"""How tools reach the prompt: by the model's own template where it knows them, in one form elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from factorspec_sdk.testing.scripted_model import ScriptedModel
from factorspec_sdk.testing.tokenizers import END
from factorspec_sdk.tokens import Canonical
from factorspec_server.engines.answer_session import AnswerSession
from factorspec_server.engines.chat_tokenizer import ChatTokenizer
from factorspec_server.engines.errors import TemplateRefused
from factorspec_server.engines.scheduler import EngineThread
from factorspec_server.http.answer_maker import AnswerMaker
from factorspec_server.http.chat_request import read_chat_request
from factorspec_server.http.compiled_spec import Compiler
from factorspec_server.http.native_tools import native_form
from factorspec_server.http.served_model import ServedModel
from factorspec_server.settings import Budgets
from tests.server.http.calling import AWAY, LATER, vocabulary_of

CALLS = (
    "{% for c in m.tool_calls or [] %}{% if not loop.first %}{{ '\\n' }}{% endif %}<tool_call>\n"
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}\n</tool_call>'
    "{% endfor %}"
)
KNOWING = (
    "{% if tools %}|system|{% for t in tools %}{{ t | tojson }}{% endfor %}<|end|>{% endif %}"
    "{% for m in messages %}|{{ m.role }}|{{ m.content }}" + CALLS + "<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}|assistant|{% endif %}"
)
PLAIN = (
    "{% for m in messages %}{% if m.role not in ('system', 'user', 'assistant') %}"
    "{{ raise_exception('what role is ' + m.role) }}{% endif %}|{{ m.role }}|{{ m.content }}<|end|>\n"
    "{% endfor %}{% if add_generation_prompt %}|assistant|{% endif %}"
)
WITHOUT_TAGS = KNOWING.replace("<tool_call>\n", "").replace("\n</tool_call>", "")
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "away", "description": "Go.", "parameters": AWAY},
}
PAST: list[Any] = [
    {"role": "user", "content": "Go away."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": name, "type": "function", "function": {"name": "away", "arguments": '{"from": "Köln"}'}}
            for name in ("x", "y")
        ],
    },
    {"role": "tool", "tool_call_id": "x", "content": "gone"},
    {"role": "tool", "tool_call_id": "y", "content": "gone twice"},
]


def chat_of(template: str) -> ChatTokenizer:
    from transformers import PreTrainedTokenizerFast

    make: Any = PreTrainedTokenizerFast
    backend = vocabulary_of("tags").tokenizer
    wrapped = make(tokenizer_object=backend, chat_template=template, eos_token=END)
    return ChatTokenizer(wrapped, end_ids=[wrapped.eos_token_id])


def maker_of(template: str) -> AnswerMaker:
    vocabulary = vocabulary_of("tags")
    canonical = Canonical(vocabulary)
    engine = EngineThread(ScriptedModel(vocabulary.logit_width, end_ids=vocabulary.end_ids))
    served = ServedModel(engine, chat_of(template), canonical)
    return AnswerMaker(served, Compiler(canonical, max_entries=9, max_bytes=1 << 28), Budgets())


def prompt_of(template: str, **fields: Any) -> str:
    maker = maker_of(template)
    chat = read_chat_request({"model": "x", "messages": PAST, "tools": [TOOL], **fields})
    ids = maker.prompt_ids(chat, maker.compile(chat))
    return vocabulary_of("tags").decode_bytes(ids).decode()


def test_the_form_of_a_template_is_read_off_it() -> None:
    form = native_form(chat_of(KNOWING))
    assert form is not None
    assert (form.opener, form.before_name, form.before_arguments) == (
        "<tool_call>",
        '\n{"name": ',
        ', "arguments": ',
    )
    assert (form.closer, form.between) == ("}\n</tool_call>", "\n")


@pytest.mark.parametrize(
    "template",
    [
        PLAIN,
        WITHOUT_TAGS,
        KNOWING.replace("{% if tools %}", "{% if false %}"),
        KNOWING.replace("{{ m.content }}", "{% if m.role != 'tool' %}{{ m.content }}{% endif %}"),
        "{{ nothing.at.all }}",
        "{% for m in messages %}{{ m.content }}{% endfor %}",
    ],
)
def test_a_template_that_cannot_be_followed_counts_as_one_without_tools(template: str) -> None:
    assert native_form(chat_of(template)) is None


def test_tools_go_through_the_template_that_knows_them() -> None:
    prompt = prompt_of(KNOWING)
    told = json.loads(prompt[len("|system|") : prompt.index("<|end|>")])
    assert told["function"]["name"] == "away"
    assert "x-factorspec" not in json.dumps(told)
    assert "all_different" in told["function"]["description"]  # relations in words
    assert prompt.endswith("|tool|gone<|end|>\n|tool|gone twice<|end|>\n|assistant|")


def test_tools_are_written_for_a_template_that_does_not_know_them() -> None:
    prompt = prompt_of(PLAIN, messages=[{"role": "system", "content": "Be brief."}, *PAST])
    system, user, assistant, answers, rest = prompt.split("<|end|>\n")
    assert system.startswith("|system|Be brief.\n\n# Tools\n")
    assert '"name": "away"' in system
    assert system.endswith('<tool_call>\n{"name": <name>, "arguments": <object>}\n</tool_call>')
    assert user == "|user|Go away."
    call = '<tool_call>\n{"name": "away", "arguments": {"from": "Köln"}}\n</tool_call>'
    assert assistant == f"|assistant|{call}\n{call}"
    assert answers == (
        "|user|<tool_response>\ngone\n</tool_response>\n<tool_response>\ngone twice\n</tool_response>"
    )
    assert rest == "|assistant|"


def test_a_way_to_decline_is_told() -> None:
    prompt = prompt_of(PLAIN, tool_choice="required", factorspec={"refusal": True})
    assert '<refusal>{"reason": "..."}</refusal>' in prompt.split("<|end|>")[0]


@pytest.mark.parametrize("template", [KNOWING, PLAIN])
def test_tags_that_are_tokens_are_written_as_tokens(template: str) -> None:
    maker, vocabulary = maker_of(template), vocabulary_of("tags")
    chat = read_chat_request(
        {
            "model": "x",
            "messages": PAST,
            "tools": [{"type": "function", "function": {"name": "later", "parameters": LATER}}],
            "tool_choice": "required",
            "parallel_tool_calls": False,
        }
    )
    _, (session,) = maker.sessions(chat, maker.compile(chat), 200, 200)
    assert isinstance(session, AnswerSession)
    while session.state == "open":
        plan = session.plan()
        if plan.tokens:
            session.commit(plan.tokens)
        else:
            session.commit((int(plan.choices[0].allowed.ids()[0]),))
    opener, closer = (vocabulary.tokenizer.token_to_id(tag) for tag in ("<tool_call>", "</tool_call>"))
    assert session.tokens[0] == opener
    assert session.tokens[-1] == closer
    assert session.tokens == vocabulary.encode(session.text)


def test_a_conversation_that_the_template_refuses_is_told() -> None:
    refusing = "{{ raise_exception('roles must alternate') }}"
    with pytest.raises(TemplateRefused, match="roles must alternate"):
        prompt_of(refusing)


NO_SYSTEM = PLAIN.replace("('system', 'user', 'assistant')", "('user', 'assistant')")


def test_a_template_without_a_system_turn_is_told_of_tools_by_the_user() -> None:
    prompt = prompt_of(NO_SYSTEM)
    assert prompt.startswith("|user|# Tools\n")
    assert prompt.split("<|end|>")[0].endswith("\n\nGo away.")
    with pytest.raises(TemplateRefused):
        prompt_of(NO_SYSTEM, messages=[{"role": "system", "content": "Be brief."}, *PAST])


def test_what_the_user_says_behind_answers_joins_their_turn() -> None:
    prompt = prompt_of(PLAIN, messages=[*PAST, {"role": "user", "content": "And now?"}])
    assert prompt.endswith("gone twice\n</tool_response>\nAnd now?<|end|>\n|assistant|")
    roles = [turn.split("|")[1] for turn in prompt.split("<|end|>\n")]
    assert roles == ["system", "user", "assistant", "user", "assistant"]
