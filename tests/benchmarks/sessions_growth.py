"""Many sessions of many specs through a server's spec cache: does the process grow?"""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from random import Random
from typing import Any

from factorspec_sdk.tokens import Canonical
from factorspec_server.housekeeping import Housekeeping
from factorspec_server.http.compiled_spec import Compiler
from factorspec_server.settings import Budgets
from tests.benchmarks.sessions_runs import Facts, RandomModel

_LIMIT = 400
_ROUNDS = 10


def small_document(number: int) -> dict[str, Any]:
    """Some spec of three kinds, another for each number: a team, an order, a call with free strings."""
    random = Random(number)
    names = random.sample([f"name {number % 97}-{at}" for at in range(20)], 8)
    kind = number % 3
    if kind == 0:
        member = {"enum": names}
        properties: dict[str, Any] = {
            "team": {"type": "array", "items": member, "minItems": 3, "maxItems": 6}
        }
        relations: list[dict[str, Any]] = [{"name": "once", "kind": "all_different", "over": ["$.team[*]"]}]
    elif kind == 1:
        amount = {"type": "integer", "minimum": 1, "maximum": 50 + number % 200}
        properties = {"a": amount, "b": amount, "sum": {"type": "integer", "minimum": 1, "maximum": 600}}
        added = {"op": "add", "args": [{"ref": "$.a"}, {"ref": "$.b"}]}
        equal = {"op": "eq", "args": [{"ref": "$.sum"}, added]}
        relations = [{"name": "adds up", "kind": "intension", "expr": equal}]
    else:
        properties = {
            "name": {"const": f"call_{number}"},
            "query": {"type": "string"},
            "who": {"enum": names},
        }
        relations = []
    made: dict[str, Any] = {"type": "object", "properties": properties, "required": list(properties)}
    made["additionalProperties"] = False
    return made | ({"x-factorspec": {"version": 1, "relations": relations}} if relations else {})


def growth(canonical: Canonical, num_sessions: int, num_specs: int, rounds: int = _ROUNDS) -> Facts:
    """Write records of the specs in turn, and look at the process after each part of the sessions."""
    budgets, random = Budgets(), Random(0)
    compiler = Compiler(
        canonical,
        max_entries=budgets.cached_specs,
        max_bytes=budgets.cached_bytes,
        housekeeping=Housekeeping(),
    )
    model = RandomModel(canonical.vocabulary, 2)
    blocks: list[int] = []
    resident: list[float] = []
    for _ in range(rounds):
        for _ in range(num_sessions // rounds):
            # Some specs are asked for more often than others.
            number = int(num_specs * random.random() ** 2)
            _write(compiler, small_document(number), model)
        gc.unfreeze()
        gc.collect()
        blocks.append(sys.getallocatedblocks())
        resident.append(round(_resident_mb(), 1))
    half = rounds // 2
    return {
        "sessions": num_sessions,
        "specs": num_specs,
        "cached_specs": len(compiler.cache),
        "resident_mb": resident,
        "allocated_blocks": blocks,
        "growth_percent": round((resident[-1] / resident[half - 1] - 1) * 100, 2),
        "blocks_growth_percent": round((max(blocks[half:]) / max(blocks[:half]) - 1) * 100, 2),
    }


def _write(compiler: Compiler, document: dict[str, Any], model: RandomModel) -> None:
    session = compiler.compile(document)[0].decoder.session(_LIMIT)
    while session.state == "open":
        session.commit(session.plan().tokens)
        if session.state == "open":
            session.commit((model.choose(session.allowed()),))


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1e6
