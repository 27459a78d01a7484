"""The server that the tests talk to, and what it is said to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

CAPABILITIES: Mapping[str, str] = {
    "chat": "answers without a schema",
    "record": "response_format json_schema is enforced",
    "relations": "x-factorspec in a schema is enforced, its hash echoed, with a report",
    "seed": "equal seeds give equal answers",
    "stop": "stop strings in a chat",
    "n": "several choices, each with a sampling stream of its own",
    "logprobs": "log-probabilities and alternatives of a chat's tokens",
    "record_logprobs": "those of a record's tokens: among the allowed ones, each with its origin",
    "penalties": "frequency_penalty and presence_penalty, of at most 2 each",
    "logit_bias": "biases by token id",
    "tools": "tool calls: required, named, auto, none; arguments by their schemas",
    "refusals": "what is malformed or not supported is a 400 that names the field by a JSON pointer",
    "models": "a model that is not served is a 404",
    "health": "/health counts requests that run and wait",
}
"""What a server may do, by the names that tests ask for."""

PREFIX = "FACTORSPEC_CONFORMANCE_"


@dataclass(frozen=True)
class Target:
    """A running server.

    Attributes:
        url: with ``/v1``.
        key: that it asks for; None: for none.
        model: to ask; None: the first that it lists.
        capabilities: names of ``CAPABILITIES``.
    """

    url: str
    key: str | None = None
    model: str | None = None
    capabilities: frozenset[str] = frozenset(CAPABILITIES)

    @property
    def root(self) -> str:
        """The address without ``/v1``."""
        return self.url.rstrip("/").removesuffix("/v1")


def target_in(environment: Mapping[str, str]) -> Target | None:
    """The server that the environment names, None if it names none.

    Raises:
        ValueError: a capability that there is not.
    """
    url = environment.get(f"{PREFIX}URL")
    if not url:
        return None
    return Target(
        url=url,
        key=environment.get(f"{PREFIX}KEY"),
        model=environment.get(f"{PREFIX}MODEL"),
        capabilities=capabilities_of(environment.get(f"{PREFIX}CAPABILITIES", "all")),
    )


def capabilities_of(text: str) -> frozenset[str]:
    """The capabilities that a list says: names, ``all``, and ``-name`` for those to leave out.

    Raises:
        ValueError: a name that there is not.
    """
    found: set[str] = set()
    for name in filter(None, (part.strip() for part in text.split(","))):
        if name == "all":
            found |= set(CAPABILITIES)
        elif name.removeprefix("-") not in CAPABILITIES:
            raise ValueError(f"no capability {name!r}; there are {', '.join(CAPABILITIES)}")
        elif name.startswith("-"):
            found.discard(name[1:])
        else:
            found.add(name)
    return frozenset(found)
