"""Random small sequences: lists of items with who, where, from and to, as schedules are, against brute force.

Numbers are few, so that records can be enumerated; the tests have every number read as a register.
"""

from __future__ import annotations

import random
from typing import Any

Json = dict[str, Any]
MOST_RECORDS = 600


class SequenceGenerator:
    """One random schedule: a list, relations inside items, between neighbours, over the list."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.names = ["Ann", "Bo", "Cy"][: self.rng.choice([2, 3, 3])]
        self.places = ["x", "y"]
        self.kind = self.rng.choice(["int", "int", "time"])
        self.step = self.rng.choice([1, 1, 5])
        self.span = self.rng.randint(2, 4)

    def document(self, goals: int) -> Json:
        rng = self.rng
        fields = {"who": {"enum": self.names}, "a": self._number(), "b": self._number()}
        if rng.random() < 0.5:
            fields = {"a": fields["a"], "b": fields["b"], "who": fields["who"]}
        if rng.random() < 0.3:
            fields["where"] = {"enum": self.places}
        if rng.random() < 0.4:
            del fields["b"]
        item = {"type": "object", "properties": fields, "required": [*fields]}
        size = len(self.names) * self.span ** ("a" in fields) * self.span ** ("b" in fields)
        size *= 2 if "where" in fields else 1
        longest = max(n for n in (1, 2, 3) if size**n <= MOST_RECORDS or n == 1)
        least = rng.choice([0, 0, 1, 2])
        most = max(1, min(least + rng.randint(0, 2), longest))
        relations = [relation for relation in self._relations(fields) if relation is not None]
        for number, relation in enumerate(relations):
            relation["name"] = f"r{number}"
        vendor: Json = {"version": 1, "relations": relations, "tables": self._tables()}
        if goals:
            vendor["objective"] = [self._goal(fields) for _ in range(goals)]
        listed = {"type": "array", "items": item, "minItems": min(least, most), "maxItems": most}
        return {"type": "object", "properties": {"l": listed}, "required": ["l"], "x-factorspec": vendor}

    def _number(self) -> Json:
        if self.kind == "int":
            low = 5 * self.rng.choice([0, 0, 1]) if self.step == 5 else self.rng.choice([0, 0, 1, 2])
            high = low + self.step * (self.span - 1)
            found: Json = {"type": "integer", "minimum": low, "maximum": high}
            return found | {"multipleOf": 5} if self.step == 5 else found
        last = 8 * 60 + 30 * (self.span - 1)
        domain = {"min": "08:00:00", "max": f"{last // 60:02}:{last % 60:02}:00", "step": 1800}
        return {"type": "string", "format": "time", "x-factorspec": {"domain": domain}}

    @property
    def unit(self) -> int:
        return self.step if self.kind == "int" else 1800

    def _tables(self) -> Json:
        rng, unit = self.rng, self.unit
        return {
            "least": [[name, rng.choice([-1, 0, 1, 2]) * unit] for name in self.names],
            "way": [[p, q, rng.choice([0, 1, 2]) * unit] for p in self.names for q in self.names],
            "worth": [[name, rng.choice([-1, 1, 1, 2])] for name in self.names],
            "open": [[name, self._moment()] for name in self.names],
        }

    def _moment(self) -> Any:
        at = self.rng.randrange(self.span)
        if self.kind == "int":
            return at * self.step + self.rng.choice([0, 0, 1])
        return f"{8 + at // 2:02}:{30 * (at % 2):02}:00"

    def _constant(self) -> Json:
        found: Json = {"const": self._moment()}
        return found | {"type": "time"} if self.kind == "time" else found

    def _relations(self, fields: Json) -> list[Json | None]:
        rng = self.rng
        both = "b" in fields
        end = "b" if both else "a"
        return [
            {"kind": "all_different", "over": ["$.l[*].who"]} if rng.random() < 0.8 else None,
            self._each(self._lasting()) if both and rng.random() < 0.8 else None,
            self._each(self._inside(rng.choice(["a", end]))) if rng.random() < 0.6 else None,
            {"kind": "slide", "over": "$.l", "as": ["p", "q"], "expr": self._between(end)}
            if rng.random() < 0.85
            else None,
            {"kind": "intension", "expr": self._single(end)} if rng.random() < 0.4 else None,
        ]

    def _each(self, body: Json) -> Json:
        return {"kind": "intension", "expr": {"op": "every", "in": "$.l", "as": "s", "body": body}}

    def _minus(self, left: str, right: str) -> Json:
        return {"op": "sub", "args": [{"ref": left}, {"ref": right}]}

    def _lasting(self) -> Json:
        length: Json = {"op": "lookup", "table": "least", "key": [{"ref": "s.who"}]}
        if self.rng.random() < 0.3:
            length = {"const": self.rng.choice([0, 1, 2]) * self.unit}
        return {"op": self.rng.choice(["ge", "ge", "eq", "le"]), "args": [self._minus("s.b", "s.a"), length]}

    def _inside(self, field: str) -> Json:
        rng = self.rng
        if rng.random() < 0.3:
            test = {"op": "eq", "args": [{"ref": "s.who"}, {"const": rng.choice(self.names)}]}
            limit = {"op": rng.choice(["le", "ge", "ne"]), "args": [{"ref": f"s.{field}"}, self._constant()]}
            return {"op": "implies", "args": [test, limit]}
        if rng.random() < 0.4:
            parts = [{"op": op, "args": [{"ref": f"s.{field}"}, self._constant()]} for op in ("le", "ge")]
            return {"op": rng.choice(["or", "and"]), "args": parts}
        found = {"op": "lookup", "table": "open", "key": [{"ref": "s.who"}]}
        return {"op": rng.choice(["le", "ge"]), "args": [{"ref": f"s.{field}"}, found]}

    def _between(self, end: str) -> Json:
        rng = self.rng
        way: Json = {"op": "lookup", "table": "way", "key": [{"ref": "p.who"}, {"ref": "q.who"}]}
        if rng.random() < 0.4:
            way = {"const": rng.choice([-1, 0, 1, 2]) * self.unit}
        kept = {
            "op": rng.choice(["ge", "ge", "ge", "le", "eq"]),
            "args": [self._minus("q.a", f"p.{end}"), way],
        }
        if rng.random() < 0.2:
            return {"op": "or", "args": [kept, {"op": "eq", "args": [{"ref": "q.who"}, {"const": "Ann"}]}]}
        return kept

    def _single(self, end: str) -> Json:
        rng = self.rng
        if rng.random() < 0.4:
            return {"op": rng.choice(["le", "ge"]), "args": [{"ref": f"$.l[0].{end}"}, self._constant()]}
        return {"op": rng.choice(["ge", "le", "ne"]), "args": [{"op": "len", "of": "$.l"}, {"const": 1}]}

    def _goal(self, fields: Json) -> Json:
        rng = self.rng
        worth = {"op": "lookup", "table": "worth", "key": [{"ref": "s.who"}]}
        is_ann = {"op": "eq", "args": [{"ref": "s.who"}, {"const": "Ann"}]}
        expr = rng.choice(
            [
                {"op": "len", "of": "$.l"},
                {"op": "sum", "in": "$.l", "as": "s", "body": worth},
                {"op": "count", "in": "$.l", "as": "s", "body": is_ann},
                {"op": "sum", "in": "$.l", "as": "s", "body": {"const": 2}},
                {"op": "max", "in": "$.l", "as": "s", "body": {"ref": "s.a"}},
            ]
        )
        found = {"goal": rng.choice(["maximize", "maximize", "minimize"]), "expr": expr}
        return found | ({"gap": rng.choice([1, 2])} if rng.random() < 0.3 else {})


def sequence(seed: int, goals: int = 0) -> Json:
    """The document of a seed."""
    return SequenceGenerator(seed).document(goals)
