"""The models that our own server is tested with."""

from __future__ import annotations

from factorspec_server.engines import load_model
from factorspec_server.http.served_model import ServedModel
from tests.server.http.serving import SteppedModel, served_model


def served(name: str) -> ServedModel:
    """A model without weights by the name ``scripted``, or the real SmolLM2 in float32."""
    if name == "scripted":
        return served_model(SteppedModel())
    return ServedModel.of(load_model(name, device="cpu", dtype="float32", num_threads=1, progress=False))
