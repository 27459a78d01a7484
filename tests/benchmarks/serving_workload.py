"""The workloads of the serving benchmark as one file: the machine with the GPU needs no data of its own.

    python -m tests.benchmarks.serving_workload --out FILE [--data DIR] [--tokenizer FILE] [--records 128]

Gold records with their prompts as tokens, their documents, and the same documents without relations, as other
grammar backends get them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import mean

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.tokens import Vocabulary
from factorspec_sdk.wire.keywords import VENDOR
from tests.benchmarks.drafts_gold import Folders, Gold, workloads
from tests.benchmarks.files import add_sources
from tests.benchmarks.masks_bench import vocabulary_of
from tests.benchmarks.serving_records import Record, write_workloads

#: of the drafts benchmark's workloads, under the names here
NAMES = {
    "trips_strict": "trip-strict",
    "trips_loose": "trip",
    "meetings_optimal": "meeting",
    "calendars": "calendar",
    "tool_calls": "tool",
}
#: requests without a schema
CHAT = "chat"
_CHAT_TOKENS = 200


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_sources(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--records", type=int, default=128, metavar="N", help="of each workload")
    parser.add_argument("--width", type=int, default=151_936, help="columns of the model's logits")
    parser.add_argument("--end", default="<|im_end|>", help="the model's end token")
    options = parser.parse_args(arguments)
    vocabulary = vocabulary_of(options.tokenizer, options.width, options.end)
    folders = Folders(options.data, options.bfcl, vocabulary)
    found: dict[str, list[Record]] = {}
    for workload in workloads():
        if workload.name in NAMES:
            golds = workload.read(folders, options.records)
            if isinstance(golds, str):
                print(f"{workload.name}: {golds}")
                continue
            records = [_record(gold, vocabulary) for gold in golds]
            Random(0).shuffle(records)  # files begin with the small ones
            found[NAMES[workload.name]] = records
    if "trip" in found:
        trips = found["trip"]
        found[CHAT] = [_chat(trip, trips[at - 1]) for at, trip in enumerate(trips)]
    write_workloads(options.out, found)
    for name, records in found.items():
        prompt, gold = mean(len(each.prompt) for each in records), mean(len(each.gold) for each in records)
        print(f"{name}: {len(records)} records, prompts of {prompt:.0f}, answers of {gold:.0f} tokens")
    return 0


def _record(gold: Gold, vocabulary: Vocabulary) -> Record:
    return Record(
        prompt=list(gold.prompt),
        gold=[*gold.record, vocabulary.end_ids[0]],
        text=vocabulary.decode(gold.record),
        document=_text(gold.document),
        schema_text=_text(without_relations(gold.document)),
    )


def _text(document: JsonValue) -> str:
    return json.dumps(document, ensure_ascii=False)


def _chat(trip: Record, other: Record) -> Record:
    """A chat whose answer is text: another trip's prompt, as long as usual answers are."""
    return Record(prompt=trip.prompt, gold=(other.prompt * 2)[:_CHAT_TOKENS])


def without_relations(value: JsonValue) -> JsonValue:
    """A document without the vendor key, at any depth.

    Nor with formats: XGrammar's times of day have a time zone, those of Pydantic's records have none.
    """
    if isinstance(value, dict):
        return {key: without_relations(part) for key, part in value.items() if key not in (VENDOR, "format")}
    if isinstance(value, list):
        return [without_relations(part) for part in value]
    return value


if __name__ == "__main__":
    raise SystemExit(main())
