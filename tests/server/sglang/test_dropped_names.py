"""However a request for several answers ends, the names that nobody writes under are gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from factorspec_server.sglang.dropped_names import batch_handled

END = ["whole", "refused", "left", "cancelled"]


class Manager:
    """Enters requests and has answers written as SGLang does."""

    def __init__(self) -> None:
        self.rid_to_state: dict[str, str] = {"another": "running"}
        self.waits = asyncio.Event()

    async def handle(self, obj: Any, request: Any = None) -> AsyncIterator[str]:
        if obj.fails:
            raise ValueError("refused")
        if obj.waits:
            await self.waits.wait()
        if obj.parallel_sample_num > 1:
            del self.rid_to_state[obj.rid[0]]
        yield "one"
        yield "two"


def request(manager: Manager, *, count: int = 3, fails: bool = False, waits: bool = False) -> Any:
    names = [f"name {at}" for at in range(count)]
    manager.rid_to_state |= dict.fromkeys(names, "entered")
    return SimpleNamespace(rid=names, parallel_sample_num=count, fails=fails, waits=waits)


@pytest.mark.parametrize("end", END)
def test_nothing_stays_of_a_request_for_several_answers(end: str) -> None:
    async def main() -> dict[str, str]:
        manager = Manager()
        obj = request(manager, fails=end == "refused", waits=end == "cancelled")
        answers = batch_handled(Manager.handle, manager, obj, None)
        if end == "whole":
            assert [each async for each in answers] == ["one", "two"]
        elif end == "refused":
            with pytest.raises(ValueError, match="refused"):
                await anext(answers)
        elif end == "left":
            assert await anext(answers) == "one"
            await answers.aclose()  # type: ignore[attr-defined]
        else:
            task = asyncio.ensure_future(anext(answers))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        return manager.rid_to_state

    assert asyncio.run(main()) == {"another": "running"}


def test_names_of_a_list_of_requests_are_sglangs_own() -> None:
    async def main() -> dict[str, str]:
        manager = Manager()
        obj = request(manager)
        obj.parallel_sample_num = 1
        assert [each async for each in batch_handled(Manager.handle, manager, obj)] == ["one", "two"]
        return manager.rid_to_state

    assert len(asyncio.run(main())) == 4
