"""What a chat model takes from the environment where it is told nothing else."""

from __future__ import annotations

import os

from pydantic import SecretStr

from factorspec_sdk.client.client import DEFAULT_BASE_URL
from factorspec_sdk.client.openai_transport import check_key, check_url

URL_VARIABLE = "FACTORSPEC_BASE_URL"
KEY_VARIABLE = "FACTORSPEC_API_KEY"


def base_url_of_environment() -> str:
    """``$FACTORSPEC_BASE_URL``, else the usual address. Raises DeclarationError where that is no address."""
    found = os.environ.get(URL_VARIABLE, DEFAULT_BASE_URL)
    check_url(found, name=URL_VARIABLE)
    return found


def api_key_of_environment() -> SecretStr | None:
    """``$FACTORSPEC_API_KEY``. Raises DeclarationError where that cannot be sent."""
    found = os.environ.get(KEY_VARIABLE)
    check_key(found, name=KEY_VARIABLE)
    return None if found is None else SecretStr(found)
