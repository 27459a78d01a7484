"""Random records with relational keywords, and all their values as the structure alone admits them."""

from __future__ import annotations

import itertools
import random
from typing import Any

from tests.wire.languages.schemas import Maker

Json = Any
_MOST = 300


class RecordMaker:
    """One random schema of a record or a bounded list, with keywords over its finite parts."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.inner = Maker(seed)

    def schema(self, depth: int = 2) -> tuple[Json, list[Json]]:
        """A schema, and the values that its structure admits."""
        while True:
            found, values = self._part(depth)
            if len(values) <= _MOST:
                return found, values

    def _part(self, depth: int) -> tuple[Json, list[Json]]:
        kind = self.rng.choice(
            ("object", "object", "list") if depth == 2 else ("value", "value", "object", "list")
        )
        if kind == "value" or not depth:
            return self._value()
        found, values = self._object(depth) if kind == "object" else self._list(depth)
        if self.rng.random() < 0.2:
            return {**found, "type": [found["type"], "null"]}, [*values, None]
        return found, values

    def _value(self) -> tuple[Json, list[Json]]:
        values = self.rng.choice(
            ([1, 2, 3], ["a", "b"], [True, False], [0, None], ["2024-02-29", "é"], [1, "1"])
        )
        if values == [1, 2, 3]:
            return {"type": "integer", "minimum": 1, "maximum": 3}, values
        return {"enum": values}, values

    def _object(self, depth: int) -> tuple[Json, list[Json]]:
        names = self.rng.sample(("a", "b", "ab", "é"), self.rng.randint(1, 3))
        parts = {name: self._part(depth - 1) for name in names}
        required = [name for name in names if self.rng.random() < 0.4]
        schema: Json = {
            "type": "object",
            "properties": {name: part for name, (part, _) in parts.items()},
            "required": required,
            "additionalProperties": False,
        }
        choices = [
            [(name, value) for value in values] + ([] if name in required else [None])
            for name, (_, values) in parts.items()
        ]
        combined = itertools.islice(itertools.product(*choices), _MOST + 1)
        values = [dict(member for member in members if member is not None) for members in combined]
        return {**schema, **self._keywords(("object", names))}, values

    def _list(self, depth: int) -> tuple[Json, list[Json]]:
        item, values = self._part(depth - 1)
        least, most = sorted((self.rng.randint(0, 2), self.rng.randint(1, 3)))
        schema: Json = {"type": "array", "items": item, "minItems": least, "maxItems": most}
        lists = (list(v) for size in range(least, most + 1) for v in itertools.product(values, repeat=size))
        return {**schema, **self._keywords(("array", []))}, list(itertools.islice(lists, _MOST + 1))

    def _keywords(self, of: tuple[str, list[str]]) -> Json:
        kind, names = of
        found: Json = {}
        for _ in range(self.rng.choice((0, 1, 1, 2))):
            found |= self._of_list() if kind == "array" else self._of_object(names)
        return found

    def _of_list(self) -> Json:
        match self.rng.choice(("unique", "unique", "contains", "logic")):
            case "unique":
                return {"uniqueItems": self.rng.random() < 0.9}
            case "contains":
                found: Json = {"contains": self._small()}
                for key in ("minContains", "maxContains"):
                    if self.rng.random() < 0.4:
                        found[key] = self.rng.randint(0, 2)
                return found
            case _:
                inner = {"contains": self._small()} if self.rng.random() < 0.5 else {"minItems": 2}
                return (
                    {"not": inner} if self.rng.random() < 0.5 else {"anyOf": [inner, {"uniqueItems": True}]}
                )

    def _of_object(self, names: list[str]) -> Json:
        rng = self.rng
        key = rng.choice(
            ("minProperties", "maxProperties", "propertyNames", "dependentRequired", "dependentSchemas", "if",
             "not", "allOf", "anyOf", "oneOf", "const", "enum")
        )  # fmt: skip
        match key:
            case "minProperties" | "maxProperties":
                return {key: rng.randint(0, 3)}
            case "propertyNames":
                return {key: rng.choice(({"maxLength": 1}, {"pattern": "^a"}, {"const": names[0]}))}
            case "dependentRequired":
                return {key: {rng.choice(names): self._some(names)}}
            case "dependentSchemas":
                return {key: {rng.choice(names): self._about(names)}}
            case "if":
                return {
                    "if": self._about(names),
                    **{k: self._about(names) for k in rng.sample(("then", "else"), rng.randint(1, 2))},
                }
            case "not":
                return {key: self._about(names)}
            case "const":
                return {key: {name: rng.choice((1, "a", True, None)) for name in self._some(names)}}
            case "enum":
                return {
                    key: [{name: rng.choice((1, "a", True)) for name in self._some(names)} for _ in range(2)]
                }
            case _:
                return {key: [self._about(names) for _ in range(rng.randint(1, 3))]}

    def _some(self, names: list[str]) -> list[str]:
        return self.rng.sample(names, self.rng.randint(1, len(names)))

    def _about(self, names: list[str]) -> Json:
        if self.rng.random() < 0.5:
            return {"required": self._some(names)}
        return {"properties": {self.rng.choice(names): self._small()}}

    def _small(self) -> Json:
        return self.rng.choice(
            ({"const": 1}, {"enum": ["a", 2, None]}, {"type": "integer"}, {"minimum": 2}, True,
             {"type": ["boolean", "string"]}, {"pattern": "^2"}, {"minItems": 1}, {"not": {"const": "b"}},
             {"required": ["a"]}, False,
             {"uniqueItems": True}, {"contains": {"const": 1}}, {"format": "date"})
        )  # fmt: skip
