"""What benchmarks read, and the report that they write."""

import argparse
import json
import os
from collections.abc import Mapping
from pathlib import Path

from tests.tokenizers.sources import folder


def add_sources(parser: argparse.ArgumentParser) -> None:
    """The options for a tokenizer (Qwen3's as fetched), NATURAL PLAN and ``bfcl-eval``."""
    parser.add_argument(
        "--tokenizer", type=Path, default=folder() / "qwen3" / "tokenizer.json", metavar="FILE"
    )
    add_data(parser)
    parser.add_argument("--bfcl", type=Path, metavar="DIR", help="data folder of bfcl-eval, if not installed")


def add_data(parser: argparse.ArgumentParser) -> None:
    """The option for NATURAL PLAN."""
    shared = os.environ.get("FACTORSPEC_SHARED")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(shared) / "data" / "natural_plan" if shared else None,
        metavar="DIR",
        help="folder with trip.jsonl, meeting.jsonl, calendar.jsonl",
    )


def write_report(path: Path, report: Mapping[str, object]) -> None:
    """Write a report as JSON; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
