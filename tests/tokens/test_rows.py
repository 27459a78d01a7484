"""Walking the tables must allow exactly the tokens by which some complete text goes on."""

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest

from factorspec_sdk.fields import IndexSet, json_text
from factorspec_sdk.tokens import NOTHING_HELD, Canonical, Continuation, Held, RowTable, RowTables, certain
from factorspec_sdk.tokens.certain import certain_by_last_cut

STRINGS = (
    *(
        "",
        " ",
        "  ",
        "Rome",
        "New York",
        "O'Fallon",
        "'",
        "'s",
        "re",
        "a",
        "ab",
        '"',
        '"},{"',
        "\\",
        "\\n",
        "12",
        "1 2",
    ),
    *(
        "-",
        ",",
        "}",
        "]}",
        "北京",
        "Zürich",
        "თბილისი",
        "😀",
        "\u00a0",
        "<",
        "<|en",
        "<thin",
        "international",
        "ſ",
    ),
)


@dataclass(frozen=True)
class Slot:
    """Candidates, and what stands after each; a final one ends the record."""

    candidates: tuple[str, ...]
    after: tuple[Continuation, ...]


def following_of(slot: Slot | None) -> str:
    """The characters that can come at a slot; empty if that cannot be told."""
    if slot is None:
        return ""
    firsts = [(text + after.literal)[:1] for text, after in zip(slot.candidates, slot.after, strict=True)]
    return "".join(sorted(set(firsts))) if all(firsts) else ""


def random_spec(source: random.Random, canonical: Canonical) -> tuple[str, list[Slot]]:
    """An opening literal, and slots whose literals look like a record in one of two layouts."""
    compact = source.random() < 0.4
    comma, colon = (",", ":") if compact else (", ", ": ")
    slots: list[Slot] = []
    for at in range(source.randint(2, 3)):
        last = at == 2 or source.random() < 0.2
        if source.random() < 0.25:
            more = Continuation(source.choice((comma, comma + '"', comma + "{" + '"k"' + colon)))
            slots.append(Slot(("", ""), (Continuation(source.choice(("]}", "]", "}]}")), final=True), more)))
        else:
            values = source.sample(STRINGS, source.randint(1, 5))
            numbers: list[object] = [0, 7, 12, 123, 1234, -5, True, None]
            texts = [canonical.vocabulary.escape(json_text(value)) for value in values]
            texts += [json_text(value) for value in source.sample(numbers, source.randint(0, 2))]
            literal = source.choice(
                (f'{comma}"b"{colon}', comma, f"}}{comma}{{" + f'"c"{colon}', "", f'{comma}"d"{colon}[')
            )
            after = Continuation("}" if last else literal, final=last)
            slots.append(Slot(tuple(texts), (after,) * len(texts)))
        if last:
            break
    if not all(after.final for after in slots[-1].after):
        slots.append(Slot(("null", '"x"'), (Continuation("}", final=True),) * 2))
    return source.choice((f'{{"a"{colon}', "[", f'{{"list"{colon}[')), with_following(source, slots)


def with_following(source: random.Random, slots: list[Slot]) -> list[Slot]:
    out = []
    for at, slot in enumerate(slots):
        known = following_of(slots[at + 1]) if at + 1 < len(slots) and source.random() < 0.7 else ""
        out.append(Slot(slot.candidates, tuple(a._replace(following=known) for a in slot.after)))
    return out


def complete_texts(slots: Sequence[Slot]) -> Iterator[str]:
    if not slots:
        yield ""
        return
    for text, after in zip(slots[0].candidates, slots[0].after, strict=True):
        for rest in [""] if after.final else complete_texts(slots[1:]):
            yield text + after.literal + rest


@dataclass(frozen=True)
class Hypothesis:
    """Rows lo..hi of a slot's table, of which ``depth`` tokens are committed."""

    slot: int
    table: RowTable
    lo: int
    hi: int
    depth: int


class Walker:
    """The slow session: a set of hypotheses, no oracle."""

    def __init__(self, canonical: Canonical, opening: str, slots: Sequence[Slot]) -> None:
        self.canonical, self.slots = canonical, slots
        first = Continuation(opening, following_of(slots[0]))
        self.given, held = certain(canonical, canonical.start, "", first)
        self.hypotheses, self.complete = self.close([self.open(0, held)])

    def open(self, slot: int, held: Held) -> Hypothesis:
        table = RowTable.build(self.canonical, held, self.slots[slot].candidates, self.slots[slot].after)
        return Hypothesis(slot, table, 0, len(table), 0)

    def close(self, hypotheses: list[Hypothesis]) -> tuple[list[Hypothesis], bool]:
        out, complete, todo = [], False, list(hypotheses)
        while todo:
            h = todo.pop()
            end = h.table.ending(h.lo, h.hi, h.depth)
            for row in range(h.lo, end):
                if self.slots[h.slot].after[h.table.order[row]].final:
                    complete = True
                else:
                    todo.append(self.open(h.slot + 1, h.table.helds[row]))
            if end < h.hi:
                out.append(replace(h, lo=end))
        return out, complete

    def allowed(self, hypotheses: list[Hypothesis]) -> set[int]:
        return {t for h in hypotheses for t in h.table.distinct(h.lo, h.hi, h.depth)}

    def commit(self, hypotheses: list[Hypothesis], token: int) -> tuple[list[Hypothesis], bool]:
        narrowed = []
        for h in hypotheses:
            lo, hi = h.table.narrow(h.lo, h.hi, h.depth, token)
            if lo < hi:
                narrowed.append(replace(h, lo=lo, hi=hi, depth=h.depth + 1))
        return self.close(narrowed)


def reachable(walker: Walker, limit: int = 100_000) -> set[tuple[int, ...]]:
    """All complete token sequences that the walker allows."""
    found: set[tuple[int, ...]] = set()
    todo = [(walker.given, walker.hypotheses, walker.complete)]
    while todo:
        tokens, hypotheses, complete = todo.pop()
        assert len(tokens) < 400
        if complete:
            found.add(tokens)
        allowed = walker.allowed(hypotheses)
        assert complete or allowed, "a dead end"
        for token in allowed:
            todo.append(((*tokens, token), *walker.commit(hypotheses, token)))
        assert len(todo) < limit
    return found


def check_specs(canonical: Canonical, count: int, seed: int) -> None:
    source = random.Random(seed)
    for _ in range(count):
        opening, slots = random_spec(source, canonical)
        texts = {opening + rest for rest in complete_texts(slots)}
        expected = {canonical.vocabulary.encode(text) for text in texts}
        assert reachable(Walker(canonical, opening, slots)) == expected, (opening, slots)


def test_the_walk_reaches_exactly_the_encodings_of_the_complete_texts(canonical: Canonical) -> None:
    check_specs(canonical, count=40, seed=0)


def test_the_shared_end_of_a_literal_changes_nothing(canonical: Canonical) -> None:
    literals = (
        ', "day": ',
        '", "x": "',
        '"',
        "",
        ", ",
        '"},{"k":',
        "}, {",
        ": ",
        " <|en",
        "<thin",
        "'s a",
        "re",
    )
    afters = [Continuation(a, b, f) for a in literals for b in ("", '"', ",]}", "12") for f in (False, not b)]
    for text in (*STRINGS, *map(json_text, STRINGS), "12", "-5"):
        for tail in (" ", "", '"', '"},{"', "<", "<|e"):
            held = Held(tail, len(canonical.stable(tail)))
            for after in afters:
                expected = certain_by_last_cut(canonical, held, text, after)
                got = certain(canonical, held, text, after)
                assert got == expected, (held, text, after)


def test_rows_are_sorted_and_a_prefix_comes_first(canonical: Canonical) -> None:
    texts = [json_text(text) for text in STRINGS]
    table = RowTable.build(canonical, Held(" ", 0), texts, Continuation(", ", '"'))
    assert table.rows == sorted(table.rows)
    assert sorted(table.order) == list(range(len(texts)))


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 300])
def test_small_and_large_tables_answer_alike(canonical: Canonical, count: int) -> None:
    texts = [
        f'"{a}{b}{n}"'
        for n, a, b in itertools.product(
            range(13), ("x", "Rome ", "北", ""), ("a", "b", "", "'re", "12", " ")
        )
    ]
    table = RowTable.build(canonical, Held(" ", 0), texts[:count], Continuation(", "))
    todo = [(0, count, 0)]
    while todo:
        lo, hi, depth = todo.pop()
        end = table.ending(lo, hi, depth)
        assert all(len(row) == depth for row in table.rows[lo:end])
        assert all(len(row) > depth for row in table.rows[end:hi])
        expected = sorted({row[depth] for row in table.rows[end:hi]})
        assert end == hi or table.distinct(end, hi, depth) == expected
        for token in expected:
            left, right = table.narrow(end, hi, depth, token)
            assert [row for row in table.rows[end:hi] if row[depth] == token] == list(table.rows[left:right])
            todo.append((left, right, depth + 1))
        left, right = table.narrow(lo, hi, depth, 10**6)
        assert left == right


@pytest.mark.parametrize("count", [5, 100])
def test_filter_keeps_the_rows_of_the_feasible_candidates(canonical: Canonical, count: int) -> None:
    texts = [f'"v{n}"' for n in range(count)]
    table = RowTable.build(canonical, Held(" ", 0), texts, Continuation(", "))
    some = IndexSet.of([1, 2, count - 1])
    expected = [k for k in range(count) if table.order[k] in some]
    for _ in range(2):
        kept = table.filter(some)
        assert list(kept.rows) == [table.rows[k] for k in expected]
        assert list(kept.order) == [table.order[k] for k in expected]
        assert list(kept.helds) == [table.helds[k] for k in expected]
        assert kept.matrix.tolist() == [
            [*row, *[-1] * (kept.matrix.shape[1] - len(row))] for row in kept.rows
        ]
    assert table.filter(IndexSet.full(count)) is table


def test_candidates_may_be_a_part_of_a_domain(canonical: Canonical) -> None:
    table = RowTable.build(canonical, NOTHING_HELD, ["10", "30"], Continuation(", "), indices=[4, 9])
    assert sorted(table.order) == [4, 9]


def test_cached_tables_are_found_by_content_and_bounded(canonical: Canonical) -> None:
    tables = RowTables(canonical, max_tables=3, max_rows=6)
    made: list[int] = []

    def candidates(key: int, size: int = 2) -> list[str]:
        made.append(key)
        return [f'"{key} {n}"' for n in range(size)]

    def get(key: int, size: int = 2) -> RowTable:
        return tables.get(("d", key), Held(" ", 0), Continuation(", "), lambda: candidates(key, size))

    first = get(0)
    assert get(0) is first
    assert made == [0]
    for key in (1, 2, 0, 3):
        get(key)
    assert made == [0, 1, 2, 3]
    assert get(1) is not None
    assert made[-1] == 1
    get(7, size=50)
    assert len(tables) == 1
