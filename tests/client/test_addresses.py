"""Addresses of servers are whole ones, and keys such as can be sent."""

from __future__ import annotations

import pytest

from factorspec_sdk.client import AsyncClient, Client
from factorspec_sdk.errors import DeclarationError


@pytest.mark.parametrize("address", ["localhost:8999", "localhost:8999/v1", "ws://localhost:8999"])
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_an_address_without_scheme_is_told_with_one(
    kind: type[Client] | type[AsyncClient], address: str
) -> None:
    with pytest.raises(DeclarationError, match=r"base_url: must begin with http.*'http://localhost:8999/v1'"):
        kind(address)


def test_addresses_with_a_scheme_are_taken() -> None:
    Client("HTTP://localhost:1").close()
    Client("https://localhost:1/v1").close()


@pytest.mark.parametrize("key", ["schlüssel", "a\nb", "ab\r"])
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(
    kind: type[Client] | type[AsyncClient], key: str
) -> None:
    with pytest.raises(DeclarationError, match="api_key: must be printable ASCII characters") as caught:
        kind(api_key=key)
    assert key not in str(caught.value)
