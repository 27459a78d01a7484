"""Random small invoices: lines with products, sums per rate, roundings, totals anywhere; and all records.

The records are made by plain arithmetic from quantities, prices and rates, not by the project's meaning of
relations, so that domains of computed fields may be too large to enumerate.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from itertools import product
from typing import Any

from factorspec_sdk.graph.program import Branch, End, Hole, Program, Value

Json = dict[str, Any]
Decisions = tuple[tuple[int, int], ...]
ROUNDINGS = {"half_up": ROUND_HALF_UP, "half_even": ROUND_HALF_EVEN, "floor": ROUND_FLOOR}


@dataclass(frozen=True)
class Family:
    """One random invoice spec. ``percents``: by rate; ``caps``: (least, most) of each head field."""

    document: Json
    records: list[Json]


class Maker:
    """Draws one spec. ``tight``: how often a computed field's domain is too small for all that can come."""

    def __init__(self, seed: int, *, tight: float = 0.4, wide: bool = False) -> None:
        self.rng = random.Random(seed)
        self.tight = tight
        rng = self.rng
        self.least, self.most = rng.choice([(1, 1), (2, 2), (2, 2), (0, 2), (1, 3), (3, 3)])
        self.percents = rng.sample([0, 7, 19, 50], rng.choice([1, 2, 2, 3] if self.most < 3 else [1, 2]))
        small = self.most == 3 or len(self.percents) == 3
        self.quantities = self._range(2 if small else 4)
        self.prices = self._range(3 if small else 5)
        self.has_net = rng.random() < 0.7
        self.mode = rng.choice(list(ROUNDINGS))
        self.top = 10**9 if wide else None
        self.form = rng.choice(["totals", "totals", "totals", "budget", "cap"])
        self.cap = rng.randint(1, 12)

    def family(self) -> Family:
        """The document and its records."""
        line = ["quantity", "price", *(["net"] if self.has_net else []), *(["rate"] if self.has_rate else [])]
        if self.rng.random() < 0.4:
            self.rng.shuffle(line)
        head = self._head()
        cut = self.rng.choice([0, 0, len(head), len(head), self.rng.randint(0, len(head))])
        order = [*head[:cut], "lines", *head[cut:]]
        made = list(self._records(line, order))
        bounds = {name: self._bounds([record[name] for record in made]) for name in head}
        nets = [item["net"] for record in made for item in record["lines"]] if self.has_net else []
        bounds["line.net"] = self._bounds(nets or [0])
        kept = [record for record in made if self._fits(record, head, bounds)]
        if self.form == "cap":
            kept = [record for record in kept if self._first_net(record) <= self.cap]
        if self.form == "budget":
            order = ["budget", *order]
            bounds["budget"] = (self.rng.randint(0, 4), self.rng.randint(4, 9))
            budgets = range(bounds["budget"][0], bounds["budget"][1] + 1)
            kept = [{"budget": b, **r} for r in kept for b in budgets if self._first_net(r) <= b]
        return Family(self._document(line, order, bounds), kept)

    @property
    def has_rate(self) -> bool:
        return len(self.percents) > 1

    def _range(self, most: int) -> range:
        lo = self.rng.choice([0, 1, 1, 1, 2])
        step = self.rng.choice([1, 1, 1, 2])
        return range(lo * step, lo * step + step * self.rng.randint(1, most), step)

    def _first_net(self, record: Json) -> int:
        """What the lines of the first rate come to."""
        first = [item for item in record["lines"] if item.get("rate", "r0") == "r0"]
        return sum(item["quantity"] * item["price"] for item in first)

    def _head(self) -> list[str]:
        if self.form != "totals":
            return []
        names = [f"net{at}" for at in range(len(self.percents))]
        names += [f"vat{at}" for at in range(len(self.percents))] if self.rng.random() < 0.6 else []
        names += ["net"] if self.rng.random() < 0.5 else []
        names += ["total"] if "vat0" in names and self.rng.random() < 0.7 else []
        if self.rng.random() < 0.3:
            self.rng.shuffle(names)
        return names

    def _records(self, line: list[str], order: list[str]) -> Iterator[Json]:
        rates = range(len(self.percents))
        choices = list(product(self.quantities, self.prices, rates))
        for length in range(self.least, self.most + 1):
            for chosen in product(choices, repeat=length):
                yield self._record(line, order, chosen)

    def _record(self, line: list[str], order: list[str], chosen: tuple[tuple[int, int, int], ...]) -> Json:
        values: Json = {"net": 0, "total": 0}
        for at, percent in enumerate(self.percents):
            net = sum(quantity * price for quantity, price, rate in chosen if rate == at)
            exact = Decimal(net) * percent / 100
            vat = int(exact.quantize(Decimal(1), rounding=ROUNDINGS[self.mode]))
            values |= {f"net{at}": net, f"vat{at}": vat}
            values["net"] += net
            values["total"] += net + vat
        items = [
            {"quantity": quantity, "price": price, "net": quantity * price, "rate": f"r{rate}"}
            for quantity, price, rate in chosen
        ]
        values["lines"] = [{name: item[name] for name in line} for item in items]
        return {name: values[name] for name in order}

    def _bounds(self, seen: list[int]) -> tuple[int, int]:
        lo, hi = min(seen), max(seen)
        if self.rng.random() < self.tight:
            lo, hi = sorted((self.rng.choice(seen), self.rng.choice(seen)))
        elif self.top is not None:
            lo, hi = min(0, lo), self.top
        return lo, hi

    def _fits(self, record: Json, head: list[str], bounds: dict[str, tuple[int, int]]) -> bool:
        lo, hi = bounds["line.net"]
        return all(bounds[name][0] <= record[name] <= bounds[name][1] for name in head) and (
            not self.has_net or all(lo <= item["net"] <= hi for item in record["lines"])
        )

    def _document(self, line: list[str], order: list[str], bounds: dict[str, tuple[int, int]]) -> Json:
        properties = {
            "quantity": _integers(self.quantities),
            "price": _integers(self.prices),
            "net": {"type": "integer", "minimum": bounds["line.net"][0], "maximum": bounds["line.net"][1]},
            "rate": {"enum": [f"r{at}" for at in range(len(self.percents))]},
        }
        item = _object({name: properties[name] for name in line})
        fields: Json = {
            name: {"type": "integer", "minimum": bounds[name][0], "maximum": bounds[name][1]}
            for name in order
            if name != "lines"
        }
        fields["lines"] = {"type": "array", "items": item, "minItems": self.least, "maxItems": self.most}
        document = _object({name: fields[name] for name in order})
        return {**document, "x-factorspec": {"version": 1, "relations": self._relations(order)}}

    def _relations(self, order: list[str]) -> list[Json]:
        amount: Json = _op("mul", {"ref": "s.quantity"}, {"ref": "s.price"})
        made = []
        if self.has_net:
            body = _op("eq", {"ref": "s.net"}, amount)
            made.append({"op": "every", "in": "$.lines", "as": "s", "body": body})
            amount = {"ref": "s.net"}
        for at, percent in enumerate(self.percents):
            total: Json = {"op": "sum", "in": "$.lines", "as": "s", "body": amount}
            if self.has_rate:
                total["where"] = _op("eq", {"ref": "s.rate"}, {"const": f"r{at}"})
            if at == 0 and self.form == "cap":
                made.append(_op("le", total, {"const": self.cap}))
            if at == 0 and self.form == "budget":
                made.append(_op("ge", {"ref": "$.budget"}, total))
            if self.form != "totals":
                continue
            made.append(_op("eq", {"ref": f"$.net{at}"}, total))
            if "vat0" in order:
                product_ = _op("mul", {"ref": f"$.net{at}"}, {"const": percent})
                vat = {"op": "quotient", "args": [product_, {"const": 100}], "mode": self.mode}
                made.append(_op("eq", {"ref": f"$.vat{at}"}, vat))
        nets = [{"ref": f"$.net{at}"} for at in range(len(self.percents))]
        vats = [{"ref": f"$.vat{at}"} for at in range(len(self.percents))]
        if "net" in order:
            made.append(_op("eq", {"ref": "$.net"}, _op("add", *nets)))
        if "total" in order:
            made.append(_op("eq", {"ref": "$.total"}, _op("add", *nets, *vats)))
        self.rng.shuffle(made)
        return [{"name": f"r{at}", "kind": "intension", "expr": expr} for at, expr in enumerate(made)]


def decisions_of(program: Program, record: Json) -> Decisions:
    """The decisions by which a program writes a record."""
    found: list[tuple[int, int]] = []
    pc = program.start
    while not isinstance(node := program.nodes[pc], End):
        assert not isinstance(node, Hole)
        if isinstance(node, Value | Branch):
            slot = program.slots[node.slot]
            value = _at(record, slot.path.removesuffix("?"))
            index = int(value is not None) if isinstance(node, Branch) else slot.domain.index(value)
            assert index is not None
            found.append((node.slot, index))
            pc = node.targets[index] if isinstance(node, Branch) else node.next
        else:
            pc = node.next
    return tuple(found)


def _at(record: Any, path: str) -> Any:
    for part in path.replace("[", ".").replace("]", "").split("."):
        if part.isdigit():
            record = record[int(part)] if int(part) < len(record) else None
        else:
            record = record[part]
    return record


def _integers(values: range) -> Json:
    made: Json = {"type": "integer", "minimum": values[0], "maximum": values[-1]}
    if values.step > 1:
        made["multipleOf"] = values.step
    return made


def _object(properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _op(op: str, *args: Json) -> Json:
    return {"op": op, "args": list(args)}
