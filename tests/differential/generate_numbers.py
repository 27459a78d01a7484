"""Random decimal fields, arithmetic, and questions about single fields (part of ``generate.py``)."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from factorspec_sdk.fields.decimals import decimal_code, decimal_text

if TYPE_CHECKING:
    from tests.differential.generate_structures import Leaf

Json = dict[str, Any]
DECIMALS = ("decimal1", "decimal2", "nulldecimal")
NUMBERS = ("int", "nullable", *DECIMALS)
MOMENTS = ("date", "time", "datetime", "instant")
TYPES = ("int", "text", "bool", *MOMENTS, "nullable", "nulltext", "datetext", *DECIMALS)
OPERATIONS = ("mod", "least", "most", "quotient", "rounded", "quotient")
MODES = ("floor", "ceiling", "half_up", "half_even")


class NumberFields:
    """The methods of ``Generator`` for these."""

    if TYPE_CHECKING:
        rng: random.Random

        def _pick(self, leaves: list[Leaf], *types: str, star: bool = False) -> Leaf | None: ...

    def _decimal(self, kind: str) -> tuple[Json, list[Any]]:
        """Around 0, so that signs and leading zeros occur; as strings, and now and then as numbers."""
        places = 1 if kind == "decimal1" else 2
        step = self.rng.choice([1, 5, 95] if places == 2 else [1, 5])
        first = self.rng.choice([-6, 0, 5, 95, -5])
        codes = [first + step * n for n in range(self.rng.randint(1, 4))]
        values: list[Any] = [decimal_text(code, places) for code in codes]
        domain: Json = {"places": places}
        if kind == "nulldecimal":
            if self.rng.random() < 0.5:
                schema: Json = {"enum": [*values, None], "x-factorspec": {"domain": domain}}
                return schema, [*values, None]
        domain |= {"min": values[0], "max": values[-1], "step": decimal_text(step, places)}
        name = "number" if kind == "decimal1" and self.rng.random() < 0.4 else "string"
        schema = {"type": name, "x-factorspec": {"domain": domain}}
        if kind == "nulldecimal":
            return {"anyOf": [schema, {"type": "null"}]}, [*values, None]
        return schema, values

    def _decimal_constant(self, value: str) -> Json:
        """The value or one beside it, of two places or three."""
        code, places = decimal_code(value, 2) or 0, self.rng.choice([2, 2, 3])
        nudge = self.rng.choice([0, 0, 0, 1, -1])
        return {"const": decimal_text(code * 10 ** (places - 2) + nudge, places), "type": "decimal"}

    def _number(self, leaves: list[Leaf], depth: int = 1) -> Json | None:
        leaf = self._pick(leaves, *(NUMBERS if self.rng.random() < 0.5 else ("int", "nullable")))
        leaf = leaf or self._pick(leaves, *NUMBERS)
        if leaf is None:
            return None
        ref: Json = {"ref": leaf.path}
        if depth == 0 or self.rng.random() < 0.4:
            return ref
        other = (
            self._number(leaves, depth - 1) if self.rng.random() < 0.6 else {"const": self.rng.randint(-2, 3)}
        )
        op = self.rng.choice(["add", "sub", "mul", "neg", "abs", "add", "sub", *OPERATIONS])
        if op in ("neg", "abs"):
            return {"op": op, "args": [ref]}
        if op in ("mod", "quotient", "rounded") and other == {"const": 0}:
            other = ref  # a constant divisor of 0 is refused
        made: Json = {"op": op, "args": [ref, other]}
        if op in ("quotient", "rounded"):
            made["mode"] = self.rng.choice(MODES)
        return made

    def _question(self, leaves: list[Leaf]) -> Json | None:
        """Whether a field is there, or how long a text is."""
        leaf = self._pick([leaf for leaf in leaves if "[-" not in leaf.path], *TYPES)
        if leaf is None:
            return None
        if leaf.type in ("text", "nulltext") and self.rng.random() < 0.6:
            compared = [{"op": "len", "of": leaf.path}, {"const": self.rng.randint(0, 3)}]
            return {"op": self.rng.choice(["eq", "le", "gt", "ne"]), "args": compared}
        return {"op": "present", "of": leaf.path, "null": self.rng.random() < 0.5}
