"""What strangers get wrong is refused in time, by an error of ours that names the place."""

from __future__ import annotations

import enum
from collections.abc import Callable
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import AliasChoices, BaseModel, Field, create_model

import factorspec_sdk as fs
from tests.strangers.walking import prepared, written

Digit = Annotated[int, Field(ge=0, le=9)]
Wide = Annotated[int, Field(ge=0, le=10**6)]
Huge = Annotated[int, Field(ge=-(10**40), le=10**40)]
FIELDS: dict[str, Any] = {
    "a": Digit,
    "b": Digit,
    "xs": Annotated[list[Digit], Field(max_length=3)],
    "s": str,
    "f": float,
    "n": int,
}


class Day(enum.Enum):
    FIRST = date(2026, 1, 1)
    SECOND = date(2026, 1, 2)


def declared(declaration: Any, **fields: Any) -> type[BaseModel]:
    arguments: dict[str, Any] = {name: (kind, ...) for name, kind in (fields or FIELDS).items()}
    model = create_model("M", **arguments)
    found: type[BaseModel] = declaration(model)
    return found


def same_key() -> type[BaseModel]:
    class Keys(BaseModel):
        a: Annotated[int, Field(ge=0, le=9, alias="x")]
        b: Annotated[int, Field(ge=0, le=9, alias="x")]

    return Keys


def two_keys() -> type[BaseModel]:
    class Keys(BaseModel):
        a: Annotated[int, Field(ge=0, le=9, validation_alias=AliasChoices("x", "y"))]

    return Keys


def lists_in_lists() -> type[BaseModel]:
    make: Any = create_model
    model = make("L", a=(Digit, ...))
    for level in range(8):
        model = make(f"L{level}", c=(Annotated[list[model], Field(max_length=10)], ...))  # type: ignore[valid-type]
    found: type[BaseModel] = model
    return found


CLUMSY: dict[str, tuple[Callable[[], type[BaseModel]], str, str]] = {
    "path": (lambda: declared(fs.all_different("a", "bb")), "unknown_field", "did you mean 'b'"),
    "syntax": (lambda: declared(fs.all_different("a[", "b")), "path_syntax", "cannot read"),
    "scalar": (lambda: declared(fs.all_different("a.b")), "unknown_field", "has no fields"),
    "list": (lambda: declared(fs.all_different("xs", "b")), "declaration_error", r"xs\[\*\]"),
    "beyond": (lambda: declared(fs.eq("xs[7]", "b")), "unknown_field", "never has that many"),
    "float": (lambda: declared(fs.le("f", "a")), "unsupported_field", "finite domain"),
    "text": (lambda: declared(fs.ne("s", fs.const("x"))), "unsupported_field", "Literal"),
    "unbounded": (lambda: declared(fs.le("n", "a")), "unsupported_field", "bound it"),
    "width": (lambda: declared(fs.table(("a", "b"), [(1, 2), (3,)])), "declaration_error", "row 1 has 1"),
    "values": (lambda: declared(fs.table(("a", "b"), [1, 2])), "declaration_error", "row 0 has 1"),
    "one text": (lambda: declared(fs.table(("a", "b"), ["ab"])), "declaration_error", "row 0 has 1"),
    "no rows": (lambda: declared(fs.table(("a", "b"), [])), "unsatisfiable", "its table"),
    "contradiction": (
        lambda: fs.lt("a", "b", name="up")(declared(fs.lt("b", "a", name="down"))),
        "unsatisfiable",
        "'up'(.|\n)*'down'",
    ),
    "names": (
        lambda: fs.lt("a", "b", name="up")(declared(fs.ne("b", "a", name="up"))),
        "declaration_error",
        "unique",
    ),
    "comparisons": (lambda: declared(fs.sum_of("a", eq=3, le=4)), "declaration_error", "exactly one"),
    "and": (lambda: declared(fs.intension(lambda r: r.a > 1 and r.b > 1)), "tracing_error", "fs.both"),
    "sum": (lambda: declared(fs.intension(lambda r: sum(r.xs) == 3)), "tracing_error", "aggregate"),
    "power": (lambda: declared(fs.intension(lambda r: r.a**2 == 4)), "tracing_error", "cannot be recorded"),
    "raises": (lambda: declared(fs.intension(lambda r: bool(1 // 0))), "tracing_error", "ZeroDivisionError"),
    "parameter": (lambda: declared(fs.table("a", fs.param("t"))), "binding_error", "bind it first"),
    "long list": (
        lambda: declared(fs.ordered("xs[*]"), xs=Annotated[list[Digit], Field(max_length=10**9)]),
        "unsupported_keyword",
        "maxItems",
    ),
    "huge": (lambda: declared(fs.eq("a", "b"), a=Huge, b=Huge), "document_error", "64 bits"),
    "empty": (lambda: declared(fs.eq("a", "b"), a=Annotated[int, fs.In([])], b=Digit), "empty_domain", "a"),
    "pigeons": (
        lambda: declared(
            fs.all_different(*(f"f{at}" for at in range(25))),
            **{f"f{at}": Annotated[int, Field(ge=1, le=24)] for at in range(25)},
        ),
        "unsatisfiable",
        "all different",
    ),
    "dates in an enum": (lambda: declared(fs.lt("a", "b"), a=Day, b=Day), "unsupported_field", "from JSON"),
    "one key": (same_key, "unsupported_field", "same key"),
    "several keys": (two_keys, "unsupported_field", "one alias"),
    "lists in lists": (lists_in_lists, "too_large", "maxItems"),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", CLUMSY)
def test_mistakes_are_refused_by_name(name: str) -> None:
    make, code, words = CLUMSY[name]
    with pytest.raises(fs.FactorspecError, match=words) as error:
        prepared(make())
    assert error.value.code == code


def test_rows_of_one_field_may_be_plain_values() -> None:
    model = declared(fs.table("a", [1]), a=Literal[1, 2, 3])
    assert written(prepared(model), None, 0).text == '{"a": 1}'
