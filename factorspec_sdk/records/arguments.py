"""Arguments of declarations that are of another kind than the one that is taken."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from factorspec_sdk.errors import DeclarationError, Problem, shown

#: what to do about arguments of another kind
ARGUMENTS = "help() of the decorator, such as help(factorspec_sdk.cardinality), says what it takes"


@contextmanager
def told_arguments(wrong: str) -> Iterator[None]:
    """Tell of arguments of another kind: a number where a list is taken, and the like.

    Raises:
        DeclarationError: in place of Python's own errors.
    """
    try:
        yield
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        message = f"an argument is not of the kind that is taken here: {error}"
        raise DeclarationError(wrong, [Problem("", message, None, ARGUMENTS)]) from error


class Told(ABCMeta):
    """The class of declarations: what their constructors cannot read is told as a wrong declaration."""

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        with told_arguments(f"{cls.__name__} cannot be declared so"):
            return super().__call__(*arguments, **options)


def check_texts(texts: Mapping[str, object]) -> None:
    """Refuse what is neither a text nor None.

    Raises:
        DeclarationError: naming it.
    """
    for called, text in texts.items():
        if text is not None and not isinstance(text, str):
            problem = Problem("", f"{called} is a text", shown(text), ARGUMENTS)
            raise DeclarationError("not a relation's text", [problem])
