"""Random JSON Schemas over the keywords that open values take, and random instances near them."""

from __future__ import annotations

import random
from typing import Any

Json = Any
_NAMES = ("a", "b", "ab", "é", "")
_TEXTS = ("", "a", "b", "ab", "abc", "é", '"', "\\", "\n", "😀", "2020-02-29", "2021-02-29")
_NUMBERS = (0, 1, 2, 3, -1, 10, 0.5, 1.5, -0.25, 2.0, 100)
_PATTERNS = ("a", "^a", "b$", "^(a|b)*$", "[^a]", "\\d+", "^.{2}$", "^[a-z]?é")
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


class Maker:
    """Schemas and instances of one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.constants: list[Json] = []

    def schema(self, depth: int = 3) -> Json:
        """A schema of a few keywords."""
        if self.rng.random() < 0.08:
            return self.rng.random() < 0.7
        found: dict[str, Json] = {}
        for _ in range(self.rng.choice((1, 1, 2, 2, 3, 4))):
            found |= self._keyword(depth)
        return found

    def _keyword(self, depth: int) -> dict[str, Json]:
        rng = self.rng
        simple = ("type", "type", "const", "enum", "number", "text", "size", "required", "needed")
        deep = (
            "logic",
            "logic",
            "if",
            "items",
            "contains",
            "properties",
            "properties",
            "names",
            "dependent",
            "unevaluated",
        )
        kind = rng.choice(simple + deep if depth else simple)
        return getattr(self, f"_{kind}")(depth)  # type: ignore[no-any-return]

    def _type(self, depth: int) -> dict[str, Json]:
        if self.rng.random() < 0.5:
            return {"type": self.rng.choice(TYPES)}
        return {"type": self.rng.sample(TYPES, self.rng.randint(1, 3))}

    def _const(self, depth: int) -> dict[str, Json]:
        return {"const": self._noted(self.value(min(depth, 2)))}

    def _enum(self, depth: int) -> dict[str, Json]:
        return {"enum": [self._noted(self.value(min(depth, 1))) for _ in range(self.rng.randint(1, 3))]}

    def _number(self, depth: int) -> dict[str, Json]:
        key = self.rng.choice(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
        if key == "multipleOf":
            return {key: self.rng.choice((1, 2, 3, 0.5, 0.25, 1.5))}
        return {key: self._noted(self.rng.choice(_NUMBERS))}

    def _text(self, depth: int) -> dict[str, Json]:
        key = self.rng.choice(("minLength", "maxLength", "pattern"))
        return {key: self.rng.choice(_PATTERNS) if key == "pattern" else self.rng.randint(0, 3)}

    def _size(self, depth: int) -> dict[str, Json]:
        key = self.rng.choice(("minItems", "maxItems", "minProperties", "maxProperties"))
        return {key: self.rng.randint(0, 1 if key == "minProperties" else 3)}

    def _required(self, depth: int) -> dict[str, Json]:
        return {"required": self.rng.sample(_NAMES, self.rng.randint(1, 2))}

    def _needed(self, depth: int) -> dict[str, Json]:
        return {
            "dependentRequired": {self.rng.choice(_NAMES): self.rng.sample(_NAMES, self.rng.randint(0, 2))}
        }

    def _logic(self, depth: int) -> dict[str, Json]:
        key = self.rng.choice(("not", "allOf", "anyOf", "oneOf"))
        if key == "not":
            return {key: self.schema(depth - 1)}
        return {key: [self.schema(depth - 1) for _ in range(self.rng.randint(1, 3))]}

    def _if(self, depth: int) -> dict[str, Json]:
        keys = ["if", *self.rng.sample(("then", "else"), self.rng.randint(0, 2))]
        return {key: self.schema(depth - 1) for key in keys}

    def _items(self, depth: int) -> dict[str, Json]:
        found: dict[str, Json] = {}
        if self.rng.random() < 0.6:
            found["prefixItems"] = [self.schema(depth - 1) for _ in range(self.rng.randint(1, 2))]
        if self.rng.random() < 0.6 or not found:
            found["items"] = self.schema(depth - 1)
        return found

    def _contains(self, depth: int) -> dict[str, Json]:
        found: dict[str, Json] = {"contains": self.schema(depth - 1)}
        if self.rng.random() < 0.4:
            found["minContains"] = self.rng.randint(0, 2)
        if self.rng.random() < 0.4:
            found["maxContains"] = self.rng.randint(0, 2)
        return found

    def _properties(self, depth: int) -> dict[str, Json]:
        found: dict[str, Json] = {}
        if self.rng.random() < 0.8:
            names = self.rng.sample(_NAMES, self.rng.randint(1, 2))
            found["properties"] = {name: self.schema(depth - 1) for name in names}
        if self.rng.random() < 0.3:
            found["patternProperties"] = {self.rng.choice(_PATTERNS): self.schema(depth - 1)}
        if self.rng.random() < 0.4:
            found["additionalProperties"] = self.schema(depth - 1)
        return found

    def _names(self, depth: int) -> dict[str, Json]:
        return {"propertyNames": self.schema(depth - 1)}

    def _dependent(self, depth: int) -> dict[str, Json]:
        return {"dependentSchemas": {self.rng.choice(_NAMES): self.schema(depth - 1)}}

    def _unevaluated(self, depth: int) -> dict[str, Json]:
        key = self.rng.choice(("unevaluatedItems", "unevaluatedProperties"))
        return {key: self.rng.choice((False, self.schema(depth - 1)))}

    def _noted(self, value: Json) -> Json:
        self.constants.append(value)
        return value

    def value(self, depth: int = 2) -> Json:
        """An instance, now and then a constant of the schemas so far."""
        rng = self.rng
        if self.constants and rng.random() < 0.25:
            return rng.choice(self.constants)
        kinds = (
            ("text", "number", "other", "list", "object", "object") if depth else ("text", "number", "other")
        )
        match rng.choice(kinds):
            case "text":
                return rng.choice(_TEXTS)
            case "number":
                return rng.choice(_NUMBERS)
            case "other":
                return rng.choice((None, True, False))
            case "list":
                return [self.value(depth - 1) for _ in range(rng.randint(0, 3))]
            case _:
                return {name: self.value(depth - 1) for name in rng.sample(_NAMES, rng.randint(0, 3))}
