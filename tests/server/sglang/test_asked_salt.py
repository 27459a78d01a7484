"""The salt of a request reaches the thread that makes its grammar, and no other's."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from types import SimpleNamespace
from typing import Any

import pytest

from factorspec_sdk.decoding import Session
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical
from factorspec_server.drafting import DraftingSpec, Tree
from factorspec_server.engines.chat_tokenizer import ChatTokenizer
from factorspec_server.engines.remembering import earlier_of
from factorspec_server.http.answer_wish import AnswerWish, WishedTool
from factorspec_server.http.compiled_spec import Compiler
from factorspec_server.http.opening import SessionOpener
from factorspec_server.salts import salt_of
from factorspec_server.sglang.asked_salt import asked_salt, grammar_asked
from factorspec_server.sglang.envelope import Envelope, RequestOptions
from factorspec_server.sglang.policies import Policies
from factorspec_server.sglang.process_parts import parts
from factorspec_server.sglang.records import opened_here
from factorspec_server.sglang.session_grammar import SessionGrammar
from tests.server.http.serving import TRIP
from tests.server.http.test_native_tools import PLAIN
from tests.server.sglang.tool_upstream import wrapped_tokenizer

TEXT = '{"first": "Oslo", "second": "Rome", "days": 3, "note": "no"}'


class Manager:
    """Has grammars made on another thread, as SGLang's does by our backend."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self.made: list[Future[str | None]] = []

    def asks(self, request: Any) -> bool:
        self.made.append(self._pool.submit(copy_context().run, asked_salt))
        return True


def request(extra_key: Any) -> Any:
    aborted: list[str] = []
    return SimpleNamespace(extra_key=extra_key, set_finish_with_abort=aborted.append, aborted=aborted)


def test_each_grammar_is_made_with_its_request_s_salt() -> None:
    with ThreadPoolExecutor(1) as pool:
        manager = Manager(pool)
        for key in ("one", None, "two", "", "one"):
            assert grammar_asked(Manager.asks, manager, request(key)) is True
        found = [made.result() for made in manager.made]
    assert found == [salt_of("one"), None, salt_of("two"), None, salt_of("one")]
    assert len({*found}) == 3
    assert asked_salt() is None


def test_where_sglang_does_not_join_salts_they_are_joined_here() -> None:
    """Releases behind 0.5.16 keep ``cache_salt`` beside ``extra_key``."""
    with ThreadPoolExecutor(1) as pool:
        manager = Manager(pool)
        for salt, key in (("a", None), (None, "a"), ("a", "x"), (None, None)):
            asking = request(key)
            asking.cache_salt = salt
            assert grammar_asked(Manager.asks, manager, asking) is True
        found = [made.result() for made in manager.made]
        wrong = request(None)
        wrong.cache_salt = ["a"]
        assert grammar_asked(Manager.asks, manager, wrong) is False
    assert found == [salt_of("a"), salt_of("a"), salt_of("ax"), None]
    assert wrong.aborted == ["cache_salt must be a string, not a list"]


def test_the_salt_is_gone_where_asking_fails() -> None:
    def fails(manager: object, request: object) -> bool:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        grammar_asked(fails, None, request("one"))
    assert asked_salt() is None


@pytest.mark.parametrize("key", [["one"], 3, {"a": 1}])
def test_a_key_that_is_no_string_ends_its_request_alone(key: Any) -> None:
    wrong = request(key)
    assert grammar_asked(Manager.asks, None, wrong) is False
    assert wrong.extra_key is None
    assert wrong.aborted == [f"extra_key must be a string, not a {type(key).__name__}"]


def test_salts_of_any_size_and_text_are_kept_in_one_size() -> None:
    kept = {salt_of(text) for text in ("x", "x" * 1_000_000, "\ud800", "ä\0")}
    assert {len(str(salt)) for salt in kept} == {64}
    assert len(kept) == 4


@pytest.fixture
def opener() -> SessionOpener:
    vocabulary = vocabulary_like("smollm2")
    canonical = Canonical(vocabulary)
    words = ChatTokenizer(wrapped_tokenizer("smollm2", PLAIN), end_ids=vocabulary.end_ids)
    return SessionOpener(canonical, words, Compiler(canonical, max_entries=8, max_bytes=1 << 28))


def grammar_of(opener: SessionOpener, envelope: Envelope) -> Any:
    opened = opened_here(opener, envelope)
    return type("_", (SessionGrammar,), {"grammar_stats": None})(opened.record, 0)


def test_a_finished_record_is_known_to_those_of_its_salt(
    opener: SessionOpener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts(), "drafting", DraftingSpec(name="tree"))
    grammars = {salt: grammar_of(opener, Envelope(TRIP, salt=salt)) for salt in ("one", "two", None)}
    policies = Policies.of_spec(DraftingSpec(name="tree"))
    written = grammars["one"].copy()  # SGLang uses copies
    for token in vocabulary_like("smollm2").encode(TEXT):
        written.accept_token(token)
    written.finished = True
    assert written.error is None
    for salt, grammar in grammars.items():
        earlier = earlier_of(grammar.session)
        assert earlier is not None
        assert len(earlier) == (salt == "one")
        policy = policies.of(grammar.session, ())
        assert isinstance(policy, Tree)
    opener.forget_records()
    assert [len(earlier_of(each.session) or ()) for each in grammars.values()] == [0, 0, 0]


@pytest.mark.parametrize(
    "fields", [{"must_call": True}, {"text": True}, {"must_call": True, "refusal": True}]
)
def test_so_are_calls(opener: SessionOpener, fields: Any) -> None:
    wish = AnswerWish(tools=[WishedTool(name="book", document=TRIP)], **fields)
    options = RequestOptions(token_limit=300, answer=wish)
    memories = [
        earlier_of(opened_here(opener, Envelope({}, options, salt=salt)).record)
        for salt in ("one", "one", "two", None)
    ]
    assert memories[0] is not None
    assert memories[0] is memories[1]
    assert len({*map(id, memories)}) == 3


def test_a_request_cannot_name_another_s_salt_in_its_schema(opener: SessionOpener) -> None:
    record = opened_here(opener, Envelope(TRIP, salt=salt_of("one"))).record
    assert isinstance(record, Session)
    assert record.salt == salt_of("one")
    assert "salt" not in RequestOptions.model_fields
