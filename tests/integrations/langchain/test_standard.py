"""LangChain's own standard tests for chat models, against a server with the embedded engine and SmolLM2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_tests.integration_tests import ChatModelIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests
from syrupy.assertion import SnapshotAssertion

from factorspec_integrations.langchain import ChatFactorSpec
from tests.server.http.serving import running

ENV = {"FACTORSPEC_BASE_URL": "http://models.example/v1", "FACTORSPEC_API_KEY": "a key"}


@pytest.mark.filterwarnings("ignore:The function `load` is in beta")
class TestUnits(ChatModelUnitTests):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ChatFactorSpec

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"model": "smollm2"}

    @property
    def supports_json_mode(self) -> bool:
        return True

    @property
    def init_from_env_params(self) -> tuple[dict[str, str], dict[str, Any], dict[str, Any]]:
        expected = {"base_url": ENV["FACTORSPEC_BASE_URL"], "api_key": ENV["FACTORSPEC_API_KEY"]}
        return ENV, self.chat_model_params, expected

    @pytest.mark.xfail(
        raises=ValueError,
        reason="load(allowed_objects='all') takes the classes that langchain-core lists, and no others; that "
        "a model comes back by allowed_objects=[ChatFactorSpec] is tested in test_chat_model.py",
    )
    def test_serdes(self, model: BaseChatModel, snapshot: SnapshotAssertion) -> None:
        super().test_serdes(model, snapshot)


@pytest.fixture(scope="session")
def smollm2_url() -> Iterator[str]:
    """A server with the default model; converted once, and kept for later runs."""
    from factorspec_server.engines import load_model
    from factorspec_server.http.app import create_app
    from factorspec_server.http.served_model import ServedModel

    served = ServedModel.of(load_model("smollm2", progress=False), max_batch=4, aliases=("smollm2",))
    with running(create_app(served)) as root:
        yield f"{root}/v1"


@pytest.mark.slow
@pytest.mark.model
class TestWithSmolLM2(ChatModelIntegrationTests):
    @pytest.fixture(autouse=True)
    def _server(self, smollm2_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FACTORSPEC_BASE_URL", smollm2_url)

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ChatFactorSpec

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"model": "smollm2", "max_tokens": 60}

    @property
    def supports_json_mode(self) -> bool:
        return True

    @property
    def has_tool_calling(self) -> bool:
        return False

    @property
    def model_override_value(self) -> str:
        return "smollm2-135m-instruct"

    @property
    def supports_model_override(self) -> bool:
        return True
