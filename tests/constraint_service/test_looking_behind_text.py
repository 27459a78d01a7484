"""What follows a text is worked out while nobody asks, and is what would be planned there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from factorspec_sdk.decoding import Session
from factorspec_sdk.decoding.runs import run_from
from factorspec_sdk.tokens import Vocabulary
from factorspec_server.constraint_service.kept_record import KeptRecord
from factorspec_server.constraint_service.looking_ahead import LookingAhead
from factorspec_server.drafting import DraftingSpec
from tests.constraint_service.pairs import NOTES, compiler_of

CERTAIN = DraftingSpec(name="certain")
#: a text behind which different things may stand
TEXTS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "names": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
        "day": {"enum": ["monday", "sunday"]},
    },
    "required": ["names", "day"],
    "additionalProperties": False,
}
#: its length is told, so what follows depends on it
MEASURED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "word": {"type": "string", "maxLength": 9},
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
    },
    "required": ["word", "size"],
    "additionalProperties": False,
    "x-factorspec": {
        "version": 1,
        "relations": [
            {
                "kind": "intension",
                "name": "size is that of word",
                "expr": {"op": "eq", "args": [{"op": "len", "of": "word"}, {"ref": "size"}]},
            }
        ],
    },
}


def _kept(vocabulary: Vocabulary, document: Any) -> KeptRecord:
    compiled, _ = compiler_of(vocabulary).compile(document)
    compiled.decoder.prepare()
    return KeptRecord((0, 1), compiled, compiled.decoder.session(), (), 1)


def _in_text(session: Session, vocabulary: Vocabulary) -> None:
    """Write up to the middle of the first text."""
    for _ in range(40):
        plan = session.plan()
        session.commit(plan.tokens)
        (choice,) = plan.choices
        word = vocabulary.encode("ab")[0]
        if choice.free and word in choice.allowed:
            assert session.commit((word,)) == 1
            return
        session.commit((int(choice.allowed.ids()[0]),))
    raise AssertionError("there is no text")


def _closers(session: Session, vocabulary: Vocabulary) -> Sequence[int]:
    """Tokens that end the text."""
    (choice,) = session.plan().choices
    return [token for token in choice.allowed if b'"' in vocabulary.token_bytes(token)]


@pytest.mark.parametrize("document", [NOTES, TEXTS])
def test_the_end_of_a_text_is_worked_out_before_it_comes(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch, document: Any
) -> None:
    record, slow = _kept(vocabulary, document), _kept(vocabulary, document)
    for each in (record, slow):
        _in_text(each.session, vocabulary)
        each.plan(CERTAIN, 64)
        assert each.is_in_text
    closers = _closers(slow.session, vocabulary)
    assert closers
    made: list[object] = []

    def counted(*given: Any) -> Any:
        made.append(given)
        return run_from(*given)

    monkeypatch.setattr("factorspec_sdk.decoding.run_tree.run_from", counted)
    memory: Any = None
    LookingAhead(memory, lambda: True).behind([record], publishes=True)
    assert not made, "somebody asks"
    LookingAhead(memory, lambda: False).behind([record], publishes=True)
    assert made
    made.clear()
    LookingAhead(memory, lambda: False).behind([record], publishes=True)
    assert not made, "it is known"
    plans = {}
    for token in closers:
        twin = record.session.copy()
        assert twin.commit((token,)) == 1
        plans[token] = twin.plan()
    assert not made, "what follows is known"
    for token, plan in plans.items():
        twin = slow.session.copy()
        assert twin.commit((token,)) == 1
        assert twin.plan() == plan
    assert made


def test_texts_whose_end_depends_on_them_are_left_alone(vocabulary: Vocabulary) -> None:
    record, slow = _kept(vocabulary, MEASURED), _kept(vocabulary, MEASURED)
    for each in (record, slow):
        _in_text(each.session, vocabulary)
    record.look_behind_text(lambda: False)
    for token in _closers(slow.session, vocabulary):
        twins = [each.session.copy() for each in (record, slow)]
        assert [twin.commit((token,)) for twin in twins] == [1, 1]
        assert twins[0].plan() == twins[1].plan()


def test_no_text_is_looked_behind_where_there_is_none(vocabulary: Vocabulary) -> None:
    record = _kept(vocabulary, NOTES)
    record.look_behind_text(lambda: False)
    record.plan(CERTAIN, 64)
    record.look_behind_text(lambda: False)
    assert not record.is_in_text
