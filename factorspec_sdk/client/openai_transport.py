"""Requests over HTTP, sent by the ``openai`` package."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, cast

from factorspec_sdk.client.error_answer import error_from_body
from factorspec_sdk.client.transport import INSTALL, JsonObject
from factorspec_sdk.errors import (
    ConnectionLost,
    DeclarationError,
    EngineError,
    FactorspecError,
    MissingExtra,
    Problem,
    shown,
)

if TYPE_CHECKING:
    from tenacity import AsyncRetrying, Retrying

_FIRST_WAIT_S = 0.2
_LONGEST_WAIT_S = 5.0
# The package insists on a key; servers without one do not look at it.
_NO_KEY = "none"


def check_url(base_url: str, *, name: str = "base_url") -> None:
    """Raises DeclarationError for an address without http:// or https://; ``name``: of what holds it."""
    if not str(base_url).lower().startswith(("http://", "https://")):
        host = str(base_url).rpartition("//")[2].removesuffix("/").removesuffix("/v1") or "127.0.0.1:8000"
        hint = f"write it like 'http://{host}/v1'"
        problem = Problem(name, "must begin with http:// or https://", shown(base_url), hint)
        raise DeclarationError("the server cannot be asked", [problem])


def check_key(api_key: str | None, *, name: str = "api_key") -> None:
    """Raises DeclarationError for a key that no header holds; it tells a character of it, never the key."""
    key = str(api_key or "")
    wrong = next((each for each in key if not (each.isascii() and each.isprintable())), None)
    if wrong is not None:
        reason = f"must be printable ASCII characters, but holds {wrong!r}"
        problem = Problem(name, reason, None, "set it to the key as the server has it")
        raise DeclarationError("the server cannot be asked", [problem])


class OpenAITransport:
    """``Transport`` over an OpenAI-compatible server.

    Connections that fail are tried again, with growing waits; answers never are.
    """

    def __init__(self, base_url: str, *, api_key: str | None, attempts: int) -> None:
        check_url(base_url)
        check_key(api_key)
        package = _package()
        self._base_url = base_url
        self._client = package.OpenAI(base_url=base_url, api_key=api_key or _NO_KEY, max_retries=0)
        self._attempts = attempts

    def complete(self, body: JsonObject, *, timeout_s: float) -> JsonObject:
        """The answer's body."""
        arguments = _arguments(body, timeout_s)
        raw = self._send(lambda: self._client.chat.completions.with_raw_response.create(**arguments))
        return _json(raw)

    def stream(self, body: JsonObject, *, timeout_s: float) -> Generator[JsonObject]:
        """The answer's chunks. A connection that fails before the first is tried again."""
        arguments = _arguments(body, timeout_s)
        chunks = self._send(lambda: self._client.chat.completions.create(**arguments))
        try:
            for chunk in chunks:
                yield chunk.to_dict(mode="json")
        except _broken_stream() as error:
            raise _translated(error, self._base_url) from error
        finally:
            chunks.close()

    def model_name(self, *, timeout_s: float) -> str:
        """The first model that is served."""
        models = self._send(lambda: self._client.with_options(timeout=timeout_s).models.list())
        return _first(models, self._base_url)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _send(self, call: Callable[[], Any]) -> Any:
        package = _package()
        try:
            return cast("Retrying", _retrying(self._attempts))(call)
        except package.APIError as error:
            raise _translated(error, self._base_url) from error


class AsyncOpenAITransport:
    """``OpenAITransport`` for asyncio."""

    def __init__(self, base_url: str, *, api_key: str | None, attempts: int) -> None:
        check_url(base_url)
        check_key(api_key)
        package = _package()
        self._base_url = base_url
        self._client = package.AsyncOpenAI(base_url=base_url, api_key=api_key or _NO_KEY, max_retries=0)
        self._attempts = attempts

    async def complete(self, body: JsonObject, *, timeout_s: float) -> JsonObject:
        """The answer's body; cancelling the task drops the request."""
        arguments = _arguments(body, timeout_s)

        async def ask() -> Any:
            return await self._client.chat.completions.with_raw_response.create(**arguments)

        return _json(await self._send(ask))

    async def stream(self, body: JsonObject, *, timeout_s: float) -> AsyncGenerator[JsonObject]:
        """The answer's chunks. A connection that fails before the first is tried again."""
        arguments = _arguments(body, timeout_s)

        async def start() -> Any:
            return await self._client.chat.completions.create(**arguments)

        chunks = await self._send(start)
        try:
            async for chunk in chunks:
                yield chunk.to_dict(mode="json")
        except _broken_stream() as error:
            raise _translated(error, self._base_url) from error
        finally:
            await chunks.close()

    async def model_name(self, *, timeout_s: float) -> str:
        """The first model that is served."""

        async def ask() -> Any:
            return await self._client.with_options(timeout=timeout_s).models.list()

        return _first(await self._send(ask), self._base_url)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _send(self, call: Callable[[], Any]) -> Any:
        package = _package()
        try:
            return await cast("AsyncRetrying", _retrying(self._attempts, is_async=True))(call)
        except package.APIError as error:
            raise _translated(error, self._base_url) from error


def _package() -> Any:
    try:
        import openai
        import tenacity  # noqa: F401 - found missing here rather than at the first failure
    except ModuleNotFoundError as error:
        raise MissingExtra(f"sending requests needs {error.name!r}; run: {INSTALL}") from error
    _http_libraries()
    return openai


def _http_libraries() -> list[Any]:
    """The HTTP libraries that are there of those that releases of the package use.

    They are imported with the package: a thread that imports one later breaks the requests of others, since
    the package asks whether it is loaded, and finds it half loaded.
    """
    found: list[Any] = []
    for name in ("httpx2", "httpx"):
        with suppress(ModuleNotFoundError):
            found.append(import_module(name))
    return found


def _retrying(attempts: int, *, is_async: bool = False) -> Retrying | AsyncRetrying:
    import openai
    import tenacity

    def is_worth_it(error: BaseException) -> bool:
        # after a timeout the server may still be at work; asking twice would double it
        return isinstance(error, openai.APIConnectionError) and not isinstance(error, openai.APITimeoutError)

    kind = tenacity.AsyncRetrying if is_async else tenacity.Retrying
    return kind(
        retry=tenacity.retry_if_exception(is_worth_it),
        stop=tenacity.stop_after_attempt(attempts),
        wait=tenacity.wait_random_exponential(multiplier=_FIRST_WAIT_S, max=_LONGEST_WAIT_S),
        reraise=True,
    )


def _broken_stream() -> tuple[type[Exception], ...]:
    """What reading a stream raises; some versions of the package let its HTTP library's errors through."""
    import openai

    return openai.APIError, *(library.HTTPError for library in _http_libraries())


def _arguments(body: JsonObject, timeout_s: float) -> dict[str, Any]:
    """Fields that the package does not know travel beside the others: the server takes or refuses them."""
    known = _known_fields()
    told = {name: value for name, value in body.items() if name in known}
    more = {name: value for name, value in body.items() if name not in known}
    return {**told, "extra_body": more or None, "timeout": timeout_s}


@cache
def _known_fields() -> frozenset[str]:
    from openai.resources.chat import Completions

    options = ("self", "extra_headers", "extra_query", "extra_body", "timeout")
    return frozenset(signature(Completions.create).parameters).difference(options)


def _json(raw: Any) -> JsonObject:
    try:
        body = raw.http_response.json()
    except ValueError as error:
        raise EngineError("the server's answer is no JSON; is base_url an OpenAI-compatible API?") from error
    if not isinstance(body, dict):
        raise EngineError("the server's answer is no JSON object; is base_url an OpenAI-compatible API?")
    return body


def _first(models: Any, base_url: str) -> str:
    names = [model.id for model in models.data or ()]
    if not names:
        raise EngineError(f"the server at {base_url} serves no model")
    return str(names[0])


def _translated(error: Exception, base_url: str) -> FactorspecError:
    import openai

    libraries = _http_libraries()
    late = (openai.APITimeoutError, *(library.TimeoutException for library in libraries))
    if isinstance(error, late):
        message = f"no answer from {base_url} in time; raise timeout_s or ask for less"
        return ConnectionLost(message, timed_out=True)
    if isinstance(error, tuple(library.HTTPError for library in libraries)):
        return ConnectionLost(f"the connection to {base_url} broke: {str(error) or type(error).__name__}")
    if isinstance(error, openai.APIConnectionError):
        cause = error.__cause__ or error
        return ConnectionLost(f"no connection to {base_url}: {cause}; is the server running there?")
    if isinstance(error, openai.APIStatusError):
        return error_from_body(error.body, status=error.status_code)
    if isinstance(error, openai.APIError) and isinstance(error.body, Mapping):  # an event of a stream
        return error_from_body(error.body, status=500)
    return EngineError(f"the server's answer cannot be read: {error}")
