"""What is recorded means what Python computes: the same methods, run both ways on random instances."""

from __future__ import annotations

import datetime
import random
from typing import Any

import pytest
from pydantic import ValidationError

import factorspec_sdk as fs
from tests.records.traced import Block, Body, Given, Level, Limits, Model

GIVEN = Given(
    kinds=["x"],
    sizes={"x": 1, "y": 2},
    pairs={(kind, n): (n * 7) % 5 for kind in "xy" for n in range(10)},
    rows=[(n, kind) for n in range(6) for kind in "xy" if n % 2],
    first=datetime.date(2026, 1, 5),
    blocks=[Block(first=2, last=3), Block(first=7, last=8)],
    limits=Limits(least=1, days={"x": datetime.date(2026, 1, 10), "y": datetime.date(2026, 1, 20)}),
)

BODIES: list[Body] = [
    lambda s, g: s.a + 2 - s.b * 3 >= -s.a,
    lambda s, g: 9 - s.a != s.b,
    lambda s, g: abs(s.a - s.b) <= fs.abs_(s.a),
    lambda s, g: (s.a == 1) | (s.b == 2) & s.flag,
    lambda s, g: fs.implies(s.flag, s.kind == "y"),
    lambda s, g: fs.not_(fs.both(s.flag, fs.either(s.a > 3, s.b > 3))),
    lambda s, g: s.level == Level.HIGH,
    lambda s, g: (s.end - s.start).days <= 3,
    lambda s, g: s.end - s.start <= datetime.timedelta(days=3),
    lambda s, g: s.start + datetime.timedelta(days=2) < s.end,
    lambda s, g: s.opens >= datetime.time(9),
    lambda s, g: fs.elapsed(datetime.time(9), s.opens) <= 3600,
    lambda s, g: fs.elapsed(s.start, s.end) >= s.a,
    lambda s, g: fs.is_null(s.maybe),
    lambda s, g: fs.length(s.items) == s.a,
    lambda s, g: fs.every(i.n > i.m for i in s.items),
    lambda s, g: fs.some(i.n > i.m for i in s.items),
    lambda s, g: fs.total(n for n in s.numbers) >= s.a,
    lambda s, g: fs.total(fs.only(i.n, where=i.m > 4) for i in s.items) >= 4,
    lambda s, g: fs.total(i.n * i.m for i in s.items) - fs.total(n for n in s.numbers) >= 9,
    lambda s, g: fs.number(i.n > i.m for i in s.items) == fs.number(n > 4 for n in s.numbers),
    lambda s, g: fs.some(fs.number(p.size >= i.n for p in i.parts) == 1 for i in s.items),
    lambda s, g: fs.number(p.size >= 5 for i in s.items for p in i.parts) <= 2,
    lambda s, g: fs.total(p.size * i.n for i in s.items for p in i.parts) <= 40,
    lambda s, g: fs.every(c > 2 for row in s.grid for c in row),
    lambda s, g: fs.every(i.n != j.n for i in s.items for j in s.others),
    lambda s, g: fs.every(s.a != v for v in (1, 2, 3)),
    lambda s, g: fs.every(fs.some(i.n >= v for i in s.items) for v in (1, 5)),
    lambda s, g: s.a <= g.number + g.limits.least,
    lambda s, g: s.span == s.doubled(2),
    lambda s, g: g.sizes[s.kind] == g.pairs[s.kind, s.a],
    lambda s, g: fs.is_row((s.a, s.kind), g.rows),
    lambda s, g: fs.is_row((s.a, s.kind), [(1, "x"), (2, "y"), (3, "x")]),
    lambda s, g: fs.is_in(s.kind, g.kinds),
    lambda s, g: fs.is_in(s.a, [1, 2, 3]),
    lambda s, g: s.start >= g.limits.days[s.kind],
    lambda s, g: s.start >= g.limits.days[s.kind] + datetime.timedelta(days=3),
    lambda s, g: (s.end - g.limits.days[s.kind]).days > s.a,
    lambda s, g: g.limits.days[s.kind] > g.limits.days["x"],
    lambda s, g: s.start <= g.first + datetime.timedelta(days=7),
    lambda s, g: fs.every((s.a < b.first) | (s.a > b.last) for b in g.blocks),
    lambda s, g: fs.every((i.n < b.first) | (s.start > b.day) for b in g.blocks for i in s.items),
    lambda s, g: fs.some(fs.every(i.n >= n for i in s.items) & (s.kind == kind) for n, kind in g.rows),
    lambda s, g: fs.some(s.kind == kind for kind in g.kinds),
    lambda s, g: fs.every(s.a > 9 for _ in g.empty) & s.flag,
    lambda s, g: fs.some(s.a >= 0 for _ in g.empty) | s.flag,
    lambda s, g: s.a // 3 == (s.b - 5) // -2,
    lambda s, g: (s.a - s.b) % 3 == 7 % (s.a + 1),
    lambda s, g: fs.quotient(s.a * 19, 10) >= fs.rounded(s.b - 5, 4, mode="half_even") * 3,
    lambda s, g: fs.least(s.a, s.b, 6) == fs.most(2, s.b - 3),
    lambda s, g: fs.is_present(s.maybe),
    lambda s, g: fs.length(s.kind) == s.a // 4,
]


def instance(rng: random.Random) -> Model:
    def small() -> int:
        return rng.randrange(10)

    def items() -> list[dict[str, Any]]:
        return [
            {"n": small(), "m": small(), "parts": [{"size": small()} for _ in range(rng.randrange(3))]}
            for _ in range(rng.randrange(4))
        ]

    return Model.model_validate(
        {
            "a": small(),
            "b": small(),
            "kind": rng.choice("xy"),
            "flag": rng.random() < 0.5,
            "level": rng.choice([1, 2]),
            "start": datetime.date(2026, 1, rng.randrange(1, 31)),
            "end": datetime.date(2026, 1, rng.randrange(1, 31)),
            "opens": datetime.time(rng.randrange(8, 18), rng.choice([0, 30])),
            "maybe": rng.choice([None, 1]),
            "items": items(),
            "others": items(),
            "numbers": [small() for _ in range(rng.randrange(4))],
            "grid": [[small() for _ in range(rng.randrange(3))] for _ in range(rng.randrange(3))],
        }
    )


@pytest.mark.parametrize("body", BODIES)
def test_the_recorded_relation_means_what_python_computes(body: Body) -> None:
    class Traced(Model):
        @fs.relation("it holds")
        def rule(self, given: Given) -> bool:
            return body(self, given)  # type: ignore[no-any-return]

    bound = fs.bind(Traced, GIVEN)
    rng = random.Random(7)
    seen = set()
    for _ in range(40):
        value = instance(rng)
        expected = bool(body(value, GIVEN))
        seen.add(expected)
        assert Traced.model_construct(**value.__dict__).rule(GIVEN) is expected
        try:
            bound.model_validate(value.model_dump())
        except ValidationError:
            assert not expected
        else:
            assert expected
    assert len(seen) == 2, "the sample tells both outcomes apart"
