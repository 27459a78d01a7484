"""The echo: how a server says which specs it enforced, and what is raised where it does not say so.

::

    {"factorspec": {"spec_hash": hash of the response format, "tools": {name: hash of its parameters}, ...}}

A server that does not know ``x-factorspec`` drops it without a word, so silence counts as a no.
"""

from __future__ import annotations

from collections.abc import Mapping

from factorspec_sdk.client.answer_errors import UnenforcedAnswer
from factorspec_sdk.client.transport import JsonObject

_HINT = "use a server with FactorSpec, such as `factorspec serve`"
_VERSIONS = "do client and server have the same version of factorspec?"


def confirm_record(answer: JsonObject, spec_hash: str) -> None:
    """Raise ``UnenforcedAnswer`` unless the server says that it enforced the spec with this hash."""
    vendor = answer.get("factorspec")
    if not isinstance(vendor, dict):
        message = "the server did not say that it enforces the relations, so the record may break them"
        raise UnenforcedAnswer(f"{message}; {_HINT}", raw=answer)
    if vendor.get("spec_hash") != spec_hash:
        message = f"the server enforced another spec ({vendor.get('spec_hash')!r})"
        raise UnenforcedAnswer(f"{message}; {_VERSIONS}", raw=answer)


def confirm_tools(answer: JsonObject, spec_hashes: Mapping[str, str]) -> None:
    """Raise ``UnenforcedAnswer`` unless the server says that it enforced the parameters of these tools.

    Args:
        answer: the whole answer.
        spec_hashes: of the parameters, by the tool's name.
    """
    vendor = answer.get("factorspec")
    told = vendor.get("tools") if isinstance(vendor, dict) else None
    echoed = told if isinstance(told, dict) else {}
    missing = [name for name in spec_hashes if name not in echoed]
    if missing:
        names = ", ".join(map(repr, missing))
        message = (
            f"the server did not say that it enforces the parameters of {names}, so calls may break them"
        )
        raise UnenforcedAnswer(f"{message}; {_HINT}", raw=answer)
    for name, wanted in spec_hashes.items():
        if echoed[name] != wanted:
            message = f"the server enforced other parameters of {name!r} ({echoed[name]!r})"
            raise UnenforcedAnswer(f"{message}; {_VERSIONS}", raw=answer)
