"""What is made with the spec: the masks that first records look up, and nothing that changes a record."""

from __future__ import annotations

import random
from typing import Any

import pytest

pytest.importorskip("xgrammar")

from factorspec_sdk.decoding import Decoder, decoder, placed_rules, rehearsal
from factorspec_sdk.decoding.grammars import GrammarState
from factorspec_sdk.decoding.placed_rules import PlacedRules, PlacedState
from factorspec_sdk.fields.domains import BranchDomain, EnumDomain, IntRange
from factorspec_sdk.graph.program import Branch, End, Hole, HoleSpec, Literal, Program, Slot, Value
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.tokens.masks import Row
from tests.decoding.brute import FreeFeasibility
from tests.decoding.test_placed_rules import ENDINGS, SPECS, both, ids_of
from tests.decoding.test_shared_runs import walk

CODE: dict[str, Any] = {"pattern": "^[A-Z]{2}-[0-9]{4}$"}


def program(*specs: HoleSpec) -> Program:
    """{"n": number, "t0": "text", "t1": "text", ... and perhaps "k": a word}."""
    nodes: list[Any] = [Literal('{"n": ', 1), Value(0, 2)]
    for at in range(len(specs)):
        here = len(nodes)
        nodes += [Literal(f'{"" if at == 0 else chr(34)}, "t{at}": "', here + 1), Hole(at, here + 2)]
    here = len(nodes)
    nodes += [Branch(1, (here + 1, here + 2)), Literal('"}', here + 4), Literal('", "k": ', here + 3)]
    nodes += [Value(2, here + 5), End(), Literal("}", here + 4)]
    slots = (
        Slot(0, "n", IntRange(0, 12_345)),
        Slot(1, "k?", BranchDomain(2)),
        Slot(2, "k", EnumDomain(("red", "reddish", "green"))),
    )
    return Program(tuple(nodes), 0, slots, specs)


TEXT = HoleSpec("t", "string", None, 2, 6)
STRINGS = [HoleSpec("t", "string", CODE), SPECS["moment"], TEXT, SPECS["pattern"]]


@pytest.fixture(scope="module", params=["qwen", "gpt2"])
def canonical(request: pytest.FixtureRequest) -> Canonical:
    return Canonical(vocabulary_like(request.param))


def made(canonical: Canonical, *specs: HoleSpec) -> Decoder:
    placed_rules._rules.cache_clear()
    layout = program(*specs)
    return Decoder(layout, FreeFeasibility(layout), canonical.vocabulary, canonical=canonical)


@pytest.mark.parametrize("limits", [False, True])
def test_sessions_write_what_plain_ones_write(canonical: Canonical, limits: bool) -> None:
    walk(made(canonical, *STRINGS), random.Random(f"rehearsal {limits}"), 4, 200, limits=limits)


def test_first_records_make_no_masks_of_places(canonical: Canonical, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, asked = made(canonical, STRINGS[0]), list[object]()
    monkeypatch.setattr(PlacedRules, "row", lambda _, state: asked.append(state))
    for code in ("AB-1234", "ZQ-0999"):
        session = compiled.session()
        session.commit(canonical.vocabulary.encode(f'{{"n": 7, "t0": "{code}"}}'))
        assert session.state == "complete"
    assert not asked


def test_without_rehearsal_they_are_made_as_they_are_met(
    canonical: Canonical, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoder, "rehearse", lambda _: None)
    compiled, asked = made(canonical, STRINGS[0]), list[object]()
    row = PlacedRules.row

    def asking(rules: PlacedRules, state: object) -> Row:
        asked.append(state)
        return row(rules, state)

    monkeypatch.setattr(PlacedRules, "row", asking)
    session = compiled.session()
    assert session.commit(tokens := canonical.vocabulary.encode('{"n": 7, "t0": "AB-1234"}')) == len(tokens)
    assert asked


@pytest.mark.parametrize("name", SPECS)
def test_masks_of_prepared_places_are_a_moved_matchers(name: str) -> None:
    placed, plain = both(name, vocabulary_like("qwen"))
    endings, quick = tuple(sorted(ENDINGS)), placed.start()
    count = placed.prepare(endings, 20)
    assert isinstance(quick, PlacedState)
    pairs: list[tuple[PlacedState, GrammarState]] = [(quick, plain.start())]
    met = {quick}
    for state, slow in pairs:
        if endings in state.allowed:
            going, closing = ids_of(plain, slow), {i for e in endings for i in plain.closing(slow, e)}
            assert set(state.allowed[endings]) == going | closing
            for character in placed._ways.characters(state.place):
                on, behind = placed.walk(state, character.encode()), plain.walk(slow, character.encode())
                assert (on is None) == (behind is None)
                if on is not None and behind is not None and on not in met:
                    met.add(on)
                    pairs.append((on, behind))
    assert 1 <= count <= 20
    assert sum(endings in state.allowed for state in met) == count


def test_bounds_hold_and_nothing_may_be_left() -> None:
    placed, _ = both("nested", vocabulary_like("qwen"))
    assert placed.prepare((b",",), 0) == 0
    start = placed.start()
    assert isinstance(start, PlacedState)
    assert not start.allowed
    placed, _ = both("email", vocabulary_like("qwen"))
    assert placed.prepare((b'"',), 3) == 3


def test_many_and_large_grammars_are_left_to_records(
    canonical: Canonical, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = list[int]()
    prepare = PlacedRules.prepare

    def counting(rules: PlacedRules, endings: tuple[bytes, ...], most: int) -> int:
        prepared.append(prepare(rules, endings, most))
        return prepared[-1]

    monkeypatch.setattr(PlacedRules, "prepare", counting)
    many = [HoleSpec("t", "string", {"pattern": f"^[a-c]{{{least}}}[0-9]{{20}}$"}) for least in range(12)]
    made(canonical, *many)
    assert sum(prepared) == 160
    assert len(prepared) < 10
    prepared.clear()
    monkeypatch.setattr(rehearsal, "_MAX_SIZE", 100)
    made(canonical, STRINGS[0])
    assert not prepared


def numbers(last: Any) -> Program:
    """{"a": a number, "b": a word, "c": a number, "d": ...}."""
    nodes: list[Any] = []
    for at, name in enumerate("abcd"):
        nodes += [Literal(f'{", " if at else "{"}"{name}": ', 2 * at + 1), Value(at, 2 * at + 2)]
    nodes += [Literal("}", 9), End()]
    word = EnumDomain(("red", "reddish", "green"))
    slots = (Slot(0, "a", IntRange(0, 12_345)), Slot(1, "b", word), Slot(2, "c", IntRange(-9, 5)))
    return Program(tuple(nodes), 0, (*slots, Slot(3, "d", last)), ())


@pytest.mark.parametrize("limits", [False, True])
@pytest.mark.parametrize("begun", [1, 2, 9])
def test_records_that_are_begun_change_nothing(
    canonical: Canonical, monkeypatch: pytest.MonkeyPatch, begun: int, limits: bool
) -> None:
    monkeypatch.setattr(rehearsal, "_MAX_BEGUN", begun)
    layout = numbers(IntRange(100, 999))
    found = Decoder(layout, FreeFeasibility(layout), canonical.vocabulary, canonical=canonical)
    found.prepare()
    size = found.runs.num_bytes
    found.prepare()
    assert found.runs.num_bytes == size
    walk(found, random.Random(begun), 4, 150, limits=limits)


@pytest.mark.sources
def test_the_first_decisions_are_made_before_the_first_record(
    canonical: Canonical, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = numbers(IntRange(100, 999))
    found = Decoder(layout, FreeFeasibility(layout), canonical.vocabulary, canonical=canonical)
    found.prepare()
    with monkeypatch.context() as patched:
        patched.setattr(found.opener, "open", lambda *_: pytest.fail("opened anew"))
        session = found.session()
        session.commit(canonical.vocabulary.encode('{"a": 777, "b": green')[:-1])
        assert session.allowed().count == 3 or session.plan().tokens
    many = numbers(EnumDomain(tuple(f"w{number}" for number in range(100))))
    large = Decoder(many, FreeFeasibility(many), canonical.vocabulary, canonical=canonical)
    large.prepare()
    read = Decoder(layout, ReadFeasibility(layout), canonical.vocabulary, canonical=canonical)
    read.prepare()
    for other in (large, read):
        assert not other.runs.root().children


class ReadFeasibility(FreeFeasibility):
    """As free, but relations are said to read every slot."""

    def reads(self, slot: int) -> bool:
        return True
