"""Each kind of ragged step is laid out once when the server starts."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from factorspec_server.sglang import compat
from factorspec_server.sglang.layout_kernels import compile_layouts, kinds


def block(number: int) -> int:
    return 1 << max(0, number - 1).bit_length()


def special(number: int) -> object:
    return "one" if number == 1 else number % 16 == 0


def own(requests: int) -> object:
    return block(requests), special(requests)


def padded(requests: int, tier: int, slots: int) -> object:
    return block(slots), special(slots), special(tier), special(requests)


@pytest.mark.parametrize("most", [1, 2, 12, 100, 128])
def test_every_kernel_that_a_step_may_need_is_there_before(most: int) -> None:
    slots_of = {tier: min(tier, most) for tier in (4, 8, 16, 24, 32, 48, 64, 80, 128, 160, 224, 1024)}
    found = list(kinds(slots_of))
    compiled = {own(requests) for requests, _, _ in found} | {own(slots) for _, _, slots in found}
    compiled_padded = {padded(*kind) for kind in found}
    for tier, slots in slots_of.items():
        for requests in range(1, slots + 1):
            assert own(requests) in compiled
            assert padded(requests, tier, slots) in compiled_padded
    assert len(found) <= len(compiled) + len(compiled_padded)


def test_layouts_are_made_as_steps_make_them(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[int, int, int]] = []

    class Layout:
        @classmethod
        def _assemble_device(cls, *, verify_lens: Any, graph_num_tokens: int) -> Any:
            def padded_to_bucket(*, padded_bs: int) -> None:
                made.append((len(verify_lens), graph_num_tokens, padded_bs))

            return SimpleNamespace(padded_to_bucket=padded_to_bucket)

    known: dict[str, str] = vars(compat)["_MODULES"]
    module = ModuleType(known["RaggedVerifyLayout"])
    vars(module)["RaggedVerifyLayout"] = Layout
    monkeypatch.setitem(sys.modules, known["RaggedVerifyLayout"], module)
    graphs = SimpleNamespace(capture_num_tokens=[4, 16, 64], device="cpu", slots=lambda tier: min(tier, 8))
    assert compile_layouts(graphs) == len(made) > 0
    assert set(made) == set(kinds({4: 4, 16: 8, 64: 8}))
