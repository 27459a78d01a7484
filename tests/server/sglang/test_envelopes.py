"""Envelopes whose documents come again are read as they were the first time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from factorspec_sdk.errors import DocumentError
from factorspec_server.sglang import envelopes
from factorspec_server.sglang.envelope import OPTIONS, Envelope, RequestOptions, open_envelope
from factorspec_server.sglang.envelopes import Envelopes

RELATIONS: dict[str, Any] = {"type": "object", "x-factorspec": {"version": 1, "order": ["a"]}}
PLAIN: dict[str, Any] = {"type": "object", "properties": {"a": {"const": f', "{OPTIONS}": {{}}'}}}
MARK = f', "{OPTIONS}": '


def sent(document: dict[str, Any], **options: Any) -> str:
    return json.dumps(Envelope(document, RequestOptions(**options)).as_document())


TEXTS = [
    sent(RELATIONS), sent(RELATIONS, id="1"), sent(RELATIONS, id="2", token_limit=9), sent(PLAIN),
    sent(PLAIN, id="3"), json.dumps({"type": "object"}), sent({"type": "object"}, id="13"),
    json.dumps({OPTIONS: {"id": "4"}}), json.dumps({OPTIONS: {"id": "5"}, **RELATIONS}),
    sent(RELATIONS, id="6")[:-1] + " }", sent(RELATIONS, id="7") + " ", sent(RELATIONS, id="8")[:-1],
    sent(RELATIONS, id=f"{MARK}{{}}}}"), json.dumps({**PLAIN, "x-factorspec": {}}),
    # the options twice, the document twice, what is no object
    sent(RELATIONS, id="9")[:-1] + MARK + '{"id": "10"}}', sent(RELATIONS) + MARK + '{"id": "11"}}',
    f'[1{MARK}{{"id": "12"}}}}', f'1{MARK}{{}}}}', f'{{"a": 1{MARK}[]}}', "",
]  # fmt: skip


def told(opens: Any, text: str) -> object:
    try:
        return opens(text)
    except DocumentError as error:
        return [(problem.place, problem.message) for problem in error.problems]


def test_whatever_came_before_each_text_is_read_as_if_it_came_alone() -> None:
    opens = Envelopes()
    for _ in range(3):
        for text in TEXTS:
            assert told(opens.open, text) == told(open_envelope, text), text
    for text in reversed(TEXTS):
        assert told(Envelopes().open, text) == told(open_envelope, text), text


def test_a_document_that_came_before_is_the_same_object_whatever_its_options() -> None:
    opens = Envelopes()
    first, again = opens.open(sent(RELATIONS, id="1")), opens.open(sent(RELATIONS, id="2", on_budget="abort"))
    assert first is not None and again is not None
    assert again.kept is first.kept and again.document is first.document
    assert (first.options.id, again.options.id, again.options.on_budget) == ("1", "2", "abort")


@pytest.mark.parametrize("options", [{"token_limit": 0}, {"limit": 3}, {"on_budget": "stop"}])
def test_wrong_options_behind_a_known_document_are_refused_with_their_place(options: Any) -> None:
    opens = Envelopes()
    assert opens.open(sent(RELATIONS, id="1")) is not None
    with pytest.raises(DocumentError) as caught:
        opens.open(json.dumps({**RELATIONS, OPTIONS: options}))
    assert all(problem.place.startswith(f"/{OPTIONS}") for problem in caught.value.problems)


def test_documents_are_kept_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(envelopes, "_MOST_KEPT", 3)
    monkeypatch.setattr(envelopes, "_MOST_CHARS", 2_000)
    opens = Envelopes()
    for size in (1, 2, 3, 4, 500, 900, 5_000, 2):
        document = {**RELATIONS, "title": "t" * size}
        for name in "ab":
            found = opens.open(sent(document, id=name))
            assert found == Envelope(document, RequestOptions(id=name))
        assert len(opens._kept) <= 3
        assert sum(len(text) for text, _ in opens._kept) == opens._chars <= 2_000
