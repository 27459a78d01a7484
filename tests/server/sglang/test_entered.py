"""What would end SGLang's scheduler is refused where a request enters, by the token and its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from factorspec_server.sglang.entered import request_entered

VOCABULARY = 100


@dataclass
class Request:
    """As SGLang's are once they are normalised."""

    input_ids: Any = None
    rid: Any = "name"
    is_single: bool = True
    batch_size: int = 1
    lora_path: str | None = None
    image: str | None = None
    parts: list[Request] = field(default_factory=list)

    def contains_mm_input(self) -> bool:
        return self.image is not None

    def __getitem__(self, at: int) -> Request:
        return self.parts[at]


def batch(*prompts: Request, count: int = 1) -> Request:
    """Of several prompts, each to be answered ``count`` times."""
    parts = [*prompts] * count
    ids, names = [part.input_ids for part in parts], [str(at) for at in range(len(parts))]
    return Request(ids, names, is_single=False, batch_size=len(prompts), parts=parts)


def enter(request: Any, *, sees_images: bool = False) -> None:
    model = SimpleNamespace(vocab_size=VOCABULARY)
    manager = SimpleNamespace(model_config=model, mm_processor=object() if sees_images else None)
    request_entered(manager, request, None)


@pytest.mark.parametrize("wrong", [-1, VOCABULARY, 1 << 31, -(1 << 63), 1 << 64])
def test_an_id_that_the_model_lacks_is_refused_by_its_place(wrong: int) -> None:
    told = f"token id {wrong} at position 2 is none of the model's, which are from 0 to 99"
    with pytest.raises(ValueError, match=told):
        enter(Request([0, VOCABULARY - 1, wrong, -5]))
    with pytest.raises(ValueError, match=told):
        enter(batch(Request([0, 1, wrong]), count=3))


def test_in_a_batch_its_prompt_is_named() -> None:
    wrong = batch(Request([1]), Request([]), Request([3, 100]))
    with pytest.raises(ValueError, match="token id 100 at position 1 of prompt 2 is none"):
        enter(wrong)


def test_all_ids_that_the_model_has_may_be_sent() -> None:
    enter(Request([*range(VOCABULARY)]))
    enter(batch(Request([0]), Request([99]), count=2))


def test_texts_are_not_looked_at() -> None:
    request = SimpleNamespace(rid="name", is_single=True, input_ids=None)
    request_entered(None, request)
    request_entered(None, SimpleNamespace(rid=["a", "b"], is_single=False, input_ids=None), object())
    request_entered(None, SimpleNamespace(rid="name"))


def test_ids_of_images_stand_for_no_rows_where_a_model_sees_them() -> None:
    enter(Request([1, -1, 5000], image="x"), sees_images=True)
    enter(batch(Request([-1], image="x"), Request([5])), sees_images=True)
    with pytest.raises(ValueError, match="token id -1 at position 0 of prompt 1"):
        enter(batch(Request([-1], image="x"), Request([-1])), sees_images=True)
    with pytest.raises(ValueError, match="token id -1"):  # an image is passed over by models that see none
        enter(Request([-1], image="x"))


def test_adapters_may_have_more_tokens() -> None:
    enter(Request([VOCABULARY], lora_path="adapter"))
    with pytest.raises(ValueError, match=r"token id -1 .* which are not negative"):
        enter(Request([-1], lora_path="adapter"))


@pytest.mark.parametrize("ids", [None, [1, 2]])
def test_a_single_prompt_has_one_name(ids: Any) -> None:
    with pytest.raises(ValueError, match=r"rid must be a string beside a single prompt, got \['a'\]"):
        enter(Request(ids, ["a"]))
