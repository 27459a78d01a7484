"""Gold records of the serving benchmark, as ``serving_workload`` writes them and the benchmark reads them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from random import Random

from pydantic import BaseModel, ConfigDict

#: requests without a schema; all kinds at once
CHAT, MIXED = "chat", "mixed"
#: calls of tools; the same to a server that has not met them; others of their kind, which it meets first
TOOL, TOOL_NEW, TOOL_BEFORE = "tool", "tool-new", "tool-before"


class Record(BaseModel):
    """One request and the tokens that it is to get.

    Attributes:
        prompt: tokens of the prompt.
        gold: tokens of the answer, the end token of a record included.
        text: the answer; "" for a chat.
        document: JSON Schema with relations, as text; "" for a chat.
        schema_text: the same without relations.
    """

    model_config = ConfigDict(frozen=True)

    prompt: list[int]
    gold: list[int]
    text: str = ""
    document: str = ""
    schema_text: str = ""


Workloads = Mapping[str, Sequence[Record]]


def read_workloads(path: Path) -> Workloads:
    """What ``write_workloads`` wrote, ``TOOL_NEW``, and ``MIXED``, made of all that was written."""
    raw = json.loads(gzip.decompress(path.read_bytes()))
    found = {name: [Record.model_validate(each) for each in records] for name, records in raw.items()}
    return {**found, TOOL_NEW: found.get(TOOL, []), MIXED: mixed(found)}


def write_workloads(path: Path, workloads: Workloads) -> None:
    """Write the file; its folder is made."""
    raw = {name: [record.model_dump() for record in records] for name, records in workloads.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps(raw, ensure_ascii=False).encode(), mtime=0))


def mixed(workloads: Workloads) -> list[Record]:
    """As many records as the largest workload has, the same share of each kind, in a random order."""
    kinds = [records for records in workloads.values() if records]
    if not kinds:
        return []
    count = max(map(len, kinds))
    turns = cycle(cycle(records) for records in kinds)
    found = [next(turn) for turn in islice(turns, count)]
    Random(0).shuffle(found)
    return found
