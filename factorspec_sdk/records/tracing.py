"""What all symbolic values share: they refuse everything that could not be recorded faithfully.

While a ``@relation`` method is traced, ``self`` and its parameters are symbolic. Whatever Python does to
such a value is either recorded as a term or raises ``TracingError``, which names the relation and what to
write instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from factorspec_sdk.errors import DeclarationError, Problem, TracingError

LOGIC_HINT = (
    "write & | or fs.both, fs.either, fs.not_ for and/or/not, fs.implies for if, fs.is_in for in, "
    "(a < b) & (b < c) for a < b < c, fs.least(a, b) and fs.most(a, b) for min and max, "
    "fs.every and fs.some for all and any"
)
LOOP_HINT = (
    "pass a generator to an aggregate: fs.every for all, fs.some for any, fs.total for sum, fs.number for "
    "counting, fs.least for min, fs.most for max; fs.length for len"
)


@dataclass(slots=True)
class Trace:
    """One recording: of which relation, whether the fields it touches must be finite, what went wrong."""

    model: str
    relation: str
    place: str
    finite: bool = True
    errors: list[DeclarationError] = field(default_factory=list)
    loops: int = 0

    def fail(self, message: str, hint: str | None = None) -> NoReturn:
        """Raise, and remember in case the user's code catches it."""
        self.raise_problem(TracingError, Problem(self.place, message, None, hint))

    def raise_problem(self, error: type[DeclarationError], problem: Problem) -> NoReturn:
        """Raise a problem of any class, and remember it."""
        raised = error(f"relation {self.relation!r} on {self.model} cannot be recorded", [problem])
        self.errors.append(raised)
        raise raised


class Symbolic:
    """A value that is not known while recording."""

    __slots__ = ("_fs_text", "_fs_trace")
    _fs_trace: Trace
    _fs_text: str

    def __init__(self, trace: Trace, text: str) -> None:
        object.__setattr__(self, "_fs_trace", trace)
        object.__setattr__(self, "_fs_text", text)

    def __repr__(self) -> str:
        return f"<symbolic {self._fs_text}>"

    @property  # type: ignore[misc]
    def __class__(self) -> NoReturn:  # type: ignore[override]
        self._fs_trace.fail(
            f"isinstance() of {self._fs_text} is not known while recording", "use fs.is_a(value, Model)"
        )

    def __setattr__(self, name: str, value: object) -> None:
        self._fs_trace.fail(f"relations only read: {self._fs_text}.{name} is assigned")

    def __delattr__(self, name: str) -> None:
        self._fs_trace.fail(f"relations only read: {self._fs_text}.{name} is deleted")

    def __bool__(self) -> bool:
        self._fs_trace.fail(f"the truth of {self._fs_text} is not known while recording", LOGIC_HINT)

    def __len__(self) -> int:
        self._fs_trace.fail(
            f"the length of {self._fs_text} is not known while recording", "use fs.length(...)"
        )

    def __contains__(self, item: object) -> bool:
        self._fs_trace.fail(
            f"'in' {self._fs_text} is not known while recording",
            "use fs.is_in(x, values), fs.is_row((x, y), table), or fs.some(item == x for item in items)",
        )

    def __iter__(self) -> NoReturn:
        self._fs_trace.fail(f"cannot loop over {self._fs_text} while recording", LOOP_HINT)

    def __hash__(self) -> int:
        self._fs_trace.fail(
            f"{self._fs_text} cannot be a key of a Python set or dict",
            "use fs.is_in(x, values), or a mapping among the parameters: given.table[x]",
        )

    def __index__(self) -> int:
        self._fs_trace.fail(f"{self._fs_text} has no number yet, it cannot index a Python sequence")

    def __int__(self) -> int:
        self._fs_trace.fail(f"int() of {self._fs_text} is not known while recording", "leave int() out")

    def __float__(self) -> float:
        self._fs_trace.fail(
            f"float() of {self._fs_text} is not known while recording", "relations use integers"
        )

    def __complex__(self) -> complex:
        self._fs_trace.fail(f"complex() of {self._fs_text} is not known while recording")

    def __str__(self) -> str:
        self._fs_trace.fail(
            f"the text of {self._fs_text} is not known while recording", "compare values, not texts"
        )

    def __format__(self, spec: str) -> str:
        self._fs_trace.fail(
            f"the text of {self._fs_text} is not known while recording", "compare values, not texts"
        )

    def __bytes__(self) -> bytes:
        self._fs_trace.fail(f"bytes() of {self._fs_text} is not known while recording")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        self._fs_trace.fail(f"{self._fs_text} cannot be copied or pickled while recording")


def is_symbolic(value: object) -> bool:
    """True for symbolic values, without asking the value itself."""
    return issubclass(type(value), Symbolic)


def trace_of(*values: object) -> Trace | None:
    """The recording that any of the values belongs to."""
    for value in values:
        if issubclass(type(value), Symbolic):
            found: Trace = object.__getattribute__(value, "_fs_trace")
            return found
    return None
