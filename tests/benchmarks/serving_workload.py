"""The workloads of the serving benchmark as one file: the machine with the GPU needs no data of its own.

    python -m tests.benchmarks.serving_workload --out FILE [--data DIR] [--bfcl DIR]

Gold records with their prompts as tokens, their documents, and the same documents without relations, as other
grammar backends get them. Each record is written once by FactorSpec and by XGrammar, token by token; what one
of them does not take is left out and counted.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import mean

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.tokens import Vocabulary
from factorspec_sdk.wire.keywords import VENDOR
from tests.benchmarks.bfcl_calls import data_folder
from tests.benchmarks.drafts_gold import Folders, Gold, workloads
from tests.benchmarks.files import add_sources
from tests.benchmarks.masks_bench import vocabulary_of
from tests.benchmarks.masks_engine import Engine, Factorspec, Refused, empty_row, verify
from tests.benchmarks.masks_libraries import Xgrammar
from tests.benchmarks.masks_workload import Task
from tests.benchmarks.serving_open import long_trips, short_trips
from tests.benchmarks.serving_records import CHAT, TOOL, TOOL_BEFORE, Record, write_workloads

#: of the drafts benchmark's workloads, under the names here
NAMES = {
    "trips_strict": "trip-strict",
    "trips_loose": "trip",
    "meetings_optimal": "meeting",
    "calendars": "calendar",
    "tool_calls": TOOL,
}
_OPEN = {"trip-open": long_trips, "trip-open-short": short_trips}
_CHAT_TOKENS = 200


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file."""
    options = _parser().parse_args(arguments)
    vocabulary = vocabulary_of(options.tokenizer, options.width, options.end)
    judges: list[Engine] = [Factorspec(vocabulary), Xgrammar("xgrammar", vocabulary)]
    found: dict[str, list[Record]] = {}
    for name, golds in _golds(options, vocabulary):
        records = [_record(gold, vocabulary) for gold in golds]
        kept = [record for record in records if _is_taken(record, judges, vocabulary)]
        if len(kept) < len(records):
            print(f"{name}: {len(records) - len(kept)} of {len(records)} left out, not taken by all")
        Random(0).shuffle(kept)  # files begin with the small ones
        found[name] = kept[: options.records]
        if name == TOOL:
            found[TOOL_BEFORE] = kept[options.records :]
    if "trip" in found:
        trips = found["trip"]
        found[CHAT] = [_chat(trip, trips[at - 1]) for at, trip in enumerate(trips)]
    write_workloads(options.out, found)
    for name, records in found.items():
        prompt, gold = mean(len(each.prompt) for each in records), mean(len(each.gold) for each in records)
        print(f"{name}: {len(records)} records, prompts of {prompt:.0f}, answers of {gold:.0f} tokens")
    print(f"{options.out.stat().st_size / 2**20:.1f} MiB")
    return 0


def _golds(options: argparse.Namespace, vocabulary: Vocabulary) -> Iterator[tuple[str, Sequence[Gold]]]:
    """Gold records by workload, some more than are wanted."""
    folders = Folders(options.data, options.bfcl, vocabulary)
    wanted: int = options.records + options.records // 4
    for workload in workloads():
        if workload.name in NAMES:
            more = options.records // 4 if NAMES[workload.name] == TOOL else 0  # those that come before
            golds = workload.read(folders, wanted + more)
            if isinstance(golds, str):
                print(f"{workload.name}: {golds}")
            else:
                yield NAMES[workload.name], golds
    bfcl = data_folder(options.bfcl)
    if bfcl is None or options.data is None:
        print("trip-open: no notes or no trips: pass --bfcl DIR and --data DIR")
        return
    for name, read in _OPEN.items():
        yield name, read(options.data, bfcl, vocabulary, wanted)


def _is_taken(record: Record, judges: Sequence[Engine], vocabulary: Vocabulary) -> bool:
    row = empty_row(vocabulary)
    for judge in judges:
        text = record.document if judge.left_out is None else record.schema_text
        try:
            verify(judge.compile(Task("", json.loads(text), lambda _: None)), tuple(record.gold[:-1]), row)
        except Refused:
            return False
    return True


def _record(gold: Gold, vocabulary: Vocabulary) -> Record:
    return Record(
        prompt=list(gold.prompt),
        gold=[*gold.record, vocabulary.end_ids[0]],
        text=vocabulary.decode(gold.record),
        document=_text(asking(gold.document)),
        schema_text=_text(without_relations(gold.document)),
    )


def asking(document: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The document with the vendor key: one without goes to XGrammar, and no token of it is certain."""
    if f'"{VENDOR}"' in _text(document):
        return document
    return {**document, VENDOR: {"version": 1, "relations": []}}


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
        return {
            key: {name: without_relations(each) for name, each in part.items()}
            if key in ("properties", "$defs") and isinstance(part, dict)
            else without_relations(part)
            for key, part in value.items()
            if key not in (VENDOR, "format")
        }
    if isinstance(value, list):
        return [without_relations(part) for part in value]
    return value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_sources(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--records", type=int, default=128, metavar="N", help="of each workload")
    parser.add_argument("--width", type=int, default=151_936, help="columns of the model's logits")
    parser.add_argument("--end", default="<|im_end|>", help="the model's end token")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
