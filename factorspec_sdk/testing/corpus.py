"""Text made in code for training small tokenizers: records, prose and names in ten scripts."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

NAMES = (
    *(
        "Rome",
        "Oslo",
        "New York",
        "São Paulo",
        "Zürich",
        "Reykjavík",
        "Łódź",
        "O'Fallon",
        "Saint-Étienne",
        "Paris",
    ),
    *("北京", "東京", "서울", "Москва", "Αθήνα", "ירושלים", "القاهرة", "กรุงเทพ", "თბილისი", "दिल्ली"),
    *(
        "L'Aquila",
        'The "Hub"',
        "C:\\temp",
        "a/b",
        "  padded  ",
        "Köln 1",
        "2nd Ave.",
        "😀 Café",
        "e\u0301te",
        "=<>=",
    ),
)
_KEYS = ("city", "day", "stops", "arrive", "leave", "note", "total", "lines", "id", "price", "start", "end")
_PROSE = (
    "the and to of in is that for it with on as are this be from by stays flight day first then last meeting "
    "international nationality izing util utilities re ve ll we're they've it's don't I'll he'd"
)


def texts(seed: int = 0, count: int = 600) -> Iterator[str]:
    """Records in both separators, prose and names, deterministically."""
    source = random.Random(seed)
    for _ in range(count):
        kind = source.random()
        if kind < 0.6:
            yield json.dumps(_record(source), ensure_ascii=source.random() < 0.2)
        elif kind < 0.8:
            yield json.dumps(_record(source), ensure_ascii=False, separators=(",", ":"))
        else:
            words = [source.choice(_PROSE.split()) for _ in range(source.randint(5, 20))]
            yield " ".join([*words, source.choice(NAMES), str(source.randint(0, 9999))]) + ".\n"


def _record(source: random.Random, depth: int = 0) -> object:
    out: dict[str, object] = {}
    for key in source.sample(_KEYS, source.randint(2, 4)):
        kind = source.random()
        if kind < 0.35:
            out[key] = source.choice(NAMES)
        elif kind < 0.6:
            out[key] = source.choice((source.randint(0, 99), source.randint(-999, 10**7), 2024))
        elif kind < 0.75:
            out[key] = [source.choice(NAMES) for _ in range(source.randint(0, 3))]
        elif kind < 0.9 and depth < 2:
            out[key] = [_record(source, depth + 1) for _ in range(source.randint(1, 2))]
        else:
            out[key] = source.choice(
                (None, True, False, "", f"2024-0{source.randint(1, 9)}-1{source.randint(0, 9)}")
            )
    return out
