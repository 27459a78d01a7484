"""The benchmark of strategies counts what was asked, changed and kept."""

import json
from typing import Annotated, Any

from pydantic import BaseModel, Field

import factorspec_sdk as fs
from factorspec_sdk.client.transport import JsonObject
from tests.benchmarks.natural_plan_cases import Case, Judgement
from tests.benchmarks.strategies_runs import Bench, Limits
from tests.client.canned import Canned, completion


@fs.lt("low", "high", name="rising")
class Pair(BaseModel):
    low: Annotated[int, Field(ge=1, le=9)]
    high: Annotated[int, Field(ge=1, le=9)]


def judge(record: dict[str, Any]) -> Judgement:
    return Judgement(() if record["low"] < record["high"] else ("falls",))


def case(name: str) -> Case:
    return Case(name, Pair, fs.document(Pair), [{"role": "user", "content": name}], judge, False, 99)


class ByPrompt(Canned):
    """Gives each prompt its own answer, whenever it is asked."""

    def __init__(self, **answers: str) -> None:
        super().__init__()
        self._answers = answers

    def complete(self, body: JsonObject, *, timeout_s: float) -> JsonObject:
        self.bodies.append(body)
        messages: Any = body["messages"]
        first = next(one["content"] for one in messages if one["role"] == "user")
        return completion(self._answers[first.split()[0]])


def test_what_strategies_took_is_summed_up() -> None:
    answers = {"good": '{"low": 1, "high": 2}', "falling": '{"low": 5, "high": 2}', "prose": "no idea"}
    transport = ByPrompt(**answers)
    bench = Bench(transport, Limits(2, 64, 2), "form")
    cases = [case(name) for name in answers]
    retry, repair = (bench.run(strategy, cases) for strategy in ("retry", "repair"))
    assert (retry["records"], retry["valid"], retry["calls"]) == (3, 1, 5)
    assert retry["reasons"] == {"answer_invalid": 2} and retry["changed"] is None
    assert (repair["valid"], repair["calls"], repair["changed"], repair["kept"]) == (2, 4, 1, 3)
    assert repair["tokens"] == 20 and repair["prompt_tokens"] == 40
    asked = [json.dumps(body, sort_keys=True) for body in transport.bodies]
    assert len(set(asked)) == len(asked), "equal requests are sent once"
