"""The models that our own server is tested with."""

from __future__ import annotations

from factorspec_server.http.served_model import ServedModel
from tests.server.http.serving import SteppedModel, served_model
from tests.server.real_model import smollm2_model


def served(name: str) -> ServedModel:
    """A model without weights by the name ``scripted``, or the real SmolLM2 in float32."""
    return served_model(SteppedModel()) if name == "scripted" else ServedModel.of(smollm2_model())
