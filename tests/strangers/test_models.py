"""Models as strangers write them: every record is valid, at every limit that admits one."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel

import factorspec_sdk as fs
from tests.strangers import planning, shop
from tests.strangers.walking import prepared, written

CODES = shop.Codes(codes={"ten": 10, "ünder": 5, 'q"': 100}, least=20)
GIVEN = planning.Given(
    cities=["Oslo", "Roma ", "São Paulo", "東京"],
    flights=[("Oslo", "Roma "), ("Roma ", "東京"), ("東京", "São Paulo"), ("Oslo", "東京")],
    first=date(2026, 2, 25), last=date(2026, 3, 9),
    nights={"Oslo": 2, "Roma ": 3, "São Paulo": 4, "東京": 1},
)  # fmt: skip

MODELS: dict[str, Any] = {
    name: found
    for module in (shop, planning)
    for name, found in vars(module).items()
    if isinstance(found, type)
    and issubclass(found, BaseModel)
    and found.__module__ == module.__name__
    and name not in ("Codes", "Given", "Stop", "Coupon", "Page", "Basket", "Trip")
}
MODELS["Basket"] = fs.bind(shop.Basket, CODES)
MODELS["Trip"] = fs.bind(planning.Trip, GIVEN)


@pytest.mark.parametrize("name", MODELS)
def test_records_are_valid(name: str) -> None:
    ready = prepared(MODELS[name])
    lengths = [written(ready, None, seed).num_tokens for seed in range(2) if not ready.decoder.program.holes]
    lengths += [written(ready, 1500, seed).num_tokens for seed in range(2, 5)]
    # between 46,000 dates and a free time a limit one token above the shortest is not always proved to fit
    least = min(lengths) + (2 if name == "Years" else 0)
    for limit in {least, least + 3, max(least, sum(lengths) // len(lengths))}:
        written(ready, limit, limit)


@pytest.mark.parametrize("name", ["Offer", "OpenOffer", "Seats", "Bracket", "Order", "Trip", "OddKeys"])
def test_the_shortest_record_is_found_in_time(name: str) -> None:
    ready = prepared(MODELS[name])
    with pytest.raises(fs.TokenLimitTooSmall) as error:
        ready.decoder.session(1)
    least = error.value.shortest
    assert least is not None
    assert written(ready, least, 0).num_tokens == least
    with pytest.raises(fs.TokenLimitTooSmall):
        ready.decoder.session(least - 1)
