"""What is looked at before a server starts: who may reach it, where it listens, and where it keeps files."""

from __future__ import annotations

import errno
import socket

from factorspec_sdk.errors import EngineError
from factorspec_server.commands.failures import ENGINE, USAGE, CommandError
from factorspec_server.engines.cache_dir import cache_dir
from factorspec_server.settings import LOOPBACK_NAMES, is_loopback

BACKLOG = 128
"""Connections that wait to be taken."""


def check_access(host: str, api_key: str | None, *, insecure: bool) -> None:
    """Raise CommandError where others could reach a server without a key, and nobody said that they may."""
    if api_key == "":
        raise CommandError("the API key is empty; leave it out or give one", USAGE)
    if api_key is not None and (unsent := _unsent(api_key)):
        raise CommandError(
            f"the API key (FACTORSPEC_API_KEY, --api-key) holds {unsent!r} where no request can: "
            "it must be printable, without spaces around it; set another",
            USAGE,
        )
    if not is_loopback(host) and api_key is None and not insecure:
        raise CommandError(
            f"other machines could reach {host!r}: set FACTORSPEC_API_KEY, "
            "or say --insecure if that is what you want",
            USAGE,
        )


def _unsent(api_key: str) -> str | None:
    """The first character that would be lost or refused on its way in a header; None: there is none."""
    ends = {0, len(api_key) - 1}
    return next(
        (each for at, each in enumerate(api_key) if not each.isprintable() or (at in ends and each == " ")),
        None,
    )


def check_cache() -> None:
    """Raise CommandError where the environment names a cache that cannot be one."""
    try:
        cache_dir()
    except EngineError as error:
        raise CommandError(str(error), USAGE) from error


def allowed_hosts(host: str, api_key: str | None) -> tuple[str, ...] | None:
    """The host names that requests may ask for; None allows all.

    Web pages may not reach a server on this machine under a name of their own (DNS rebinding).
    """
    if not is_loopback(host) or api_key is not None:
        return None
    return (*sorted(LOOPBACK_NAMES), "127.0.0.1", "::1", host.strip("[]").lower())


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one. Raises CommandError where it cannot."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, OverflowError) as error:
        raise CommandError(f"cannot listen at {host}:{port}: {error}", USAGE) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise CommandError(
                f"port {port} is in use; stop what uses it or choose another --port", ENGINE
            ) from error
        raise CommandError(f"cannot listen at {host}:{port}: {error.strerror}", ENGINE) from error
    return listener
