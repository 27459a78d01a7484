"""A vocabulary and a service that keeps its records, for each module of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Vocabulary
from factorspec_server.constraint_service import ConstraintService
from tests.constraint_service.pairs import serving


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return vocabulary_like("smollm2")


@pytest.fixture(scope="module")
def service(vocabulary: Vocabulary) -> Iterator[ConstraintService]:
    with serving(vocabulary) as made:
        yield made
