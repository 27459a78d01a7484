"""Values for JSON Schemas as models write them: English text from a fixed list of words, likely numbers."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.benchmarks.masks_workload import Schema

_VOCABULARY = (
    "the a this that our your their its which and or but because after before with without for from to in on "
    "at by about over under between during since is was are were has had will would can could should may "
    "meeting order report project team customer delivery invoice payment budget schedule request answer "
    "question problem solution update review summary result change plan price quality service system test "
    "number week month morning evening yesterday tomorrow today early late small large new old good better "
    "open closed urgent simple careful clear final first second next last local public several many few "
    "arrive send check confirm cancel prepare discuss explain improve include provide receive return start "
    "finish work works working found needs shows means keeps takes gives quickly slowly usually already "
    "however therefore although perhaps together Anna Berlin Chicago Madrid Tokyo Friday Monday"
)
_WORDS = tuple(_VOCABULARY.split())
#: schemas' patterns, each with a way to write a text that matches
_PATTERNS = {
    r"^[A-Z]{2}-\d{4}$": lambda random: f"{_letters(random, 2)}-{random.randrange(10_000):04d}",
    r"^\+[1-9]\d{6,14}$": lambda random: f"+49{random.randrange(10**9):09d}",
    r"^[a-z0-9]+(-[a-z0-9]+)*$": lambda random: "-".join(random.choices(_WORDS[60:100], k=3)).lower(),
    r"^#[0-9a-f]{6}$": lambda random: f"#{random.randrange(1 << 24):06x}",
}
_FORMATS = {
    "date": lambda random: (
        f"20{random.randrange(20, 30)}-{random.randrange(1, 13):02d}-{random.randrange(1, 29):02d}"
    ),
    "time": lambda random: f"{random.randrange(24):02d}:{random.randrange(60):02d}:00Z",
    "date-time": lambda random: f"2026-{random.randrange(1, 13):02d}-12T{random.randrange(24):02d}:30:00Z",
    "uuid": lambda random: _uuid(random),
    "email": lambda random: f"{random.choice(_WORDS[60:100])}.{random.randrange(99)}@example.com",
    "ipv4": lambda random: ".".join(str(random.randrange(256)) for _ in range(4)),
    "uri": lambda random: f"https://example.com/{random.choice(_WORDS[60:100])}/{random.randrange(999)}",
}
_LIKELY_LENGTH = 60
_LIKELY_ITEMS = 4
_OPTIONAL_SHARE = 0.6


def text(random: Random, least: int = 0, most: int | None = None, about: int = _LIKELY_LENGTH) -> str:
    """Sentences of ``least`` to ``most`` characters, about ``about`` if there is room."""
    goal = max(least, min(about, about if most is None else most))
    out = ""
    while len(out) < goal:
        sentence = " ".join(random.choices(_WORDS, k=random.randint(3, 12)))
        sentence = sentence[0].upper() + sentence[1:] + random.choice([".", ".", ".", "?", "!"])
        out = f"{out} {sentence}" if out else sentence
    if most is not None and len(out) > most:
        out = out[:most].rstrip()
    return out + "x" * max(0, least - len(out))


def value(schema: Schema, random: Random, root: Schema) -> Any:
    """A value that the schema admits."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return value(root["$defs"][name], random, root)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return value(random.choice(schema[key]), random, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return random.choice(schema["enum"])
    return _typed(schema, random, root)


def _typed(schema: Schema, random: Random, root: Schema) -> Any:
    match schema["type"]:
        case "object":
            return _object(schema, random, root)
        case "array":
            least, most = schema.get("minItems", 0), schema.get("maxItems", _LIKELY_ITEMS)
            count = random.randint(max(least, min(1, most)), max(least, min(most, _LIKELY_ITEMS)))
            return [value(schema["items"], random, root) for _ in range(count)]
        case "string":
            return _string(schema, random)
        case "integer":
            low, high = _bounds(schema, 1)
            step = int(schema.get("multipleOf", 1))
            return random.randrange(-(-low // step), high // step + 1) * step
        case "number":
            low, high = _bounds(schema, 0)
            return min(high, max(low, round(random.uniform(low, high), random.choice([1, 2]))))
        case "boolean":
            return random.random() < 0.5
        case "null":
            return None
        case other:
            raise ValueError(f"no sample of type {other!r}")


def _object(schema: Schema, random: Random, root: Schema) -> dict[str, Any]:
    required = set(schema.get("required", ()))
    return {
        name: value(part, random, root)
        for name, part in schema.get("properties", {}).items()
        if name in required or random.random() < _OPTIONAL_SHARE
    }


def _string(schema: Schema, random: Random) -> str:
    if "pattern" in schema:
        return _PATTERNS[schema["pattern"]](random)
    if "format" in schema:
        return _FORMATS[schema["format"]](random)
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    about = schema.get("x-about", _LIKELY_LENGTH)
    return text(random, least, most, random.choice([about // 4, about // 2, about, about * 2]))


def _bounds(schema: Schema, over: int) -> tuple[int, int]:
    low = schema.get("minimum", schema.get("exclusiveMinimum", -1) + over)
    high = schema.get("maximum", schema.get("exclusiveMaximum", 1_001) - over)
    return low, max(low, high)


def _letters(random: Random, count: int) -> str:
    return "".join(random.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=count))


def _uuid(random: Random) -> str:
    digits = f"{random.randrange(1 << 128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
