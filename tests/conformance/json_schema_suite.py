"""JSON-Schema-Test-Suite (draft 2020-12) against the masks of FactorSpec, XGrammar and llguidance.

    python -m tests.conformance.json_schema_suite --json OUT [--engines factorspec xgrammar llguidance]

Every schema of the suite is wrapped as the required property ``v`` of an object. An instance is *reachable*
if a canonical text of the record ``{"v": instance}`` (separators ``, `` and ``: ``, non-ASCII characters as
themselves) is a path from the first byte to the end through an engine's masks, with a vocabulary of single
bytes. A group of the suite (a schema with its instances) is

* ``right``: every valid instance with a canonical form is reachable and every invalid one is not;
* ``wrong``: some instance is not so;
* ``refused``: the engine does not take the schema.

The same rules hold for all engines:

* The keys of objects are written in an order that the engine chooses: a text counts in any order of the keys
  (the first 720 orders), so an invalid instance must be unreachable in all of them.
* A number is written as its value: 1.0 as 1.
* No canonical form, and left out: numbers that need an exponent or more than 64 bits; a *valid* instance
  whose ``v`` is an object with a key that a record does not list (a schema of ``type`` object that says
  nothing of other keys is a record, and records are closed).
* ``format`` is asserted, so texts whose wrong format the suite calls "only an annotation" are invalid.
* A group in a dialect of its own (``$schema`` names a document that is not among the data) is left out.
* A schema that an engine refuses because nothing satisfies it counts as one by which nothing is reachable.
* A group none of whose instances has a canonical form counts for nobody.

``test_json_schema_suite.py`` holds the frozen list of the groups that FactorSpec enforces.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.conformance.suite_cases import Group, read_groups
from tests.conformance.suite_engines import ENGINES, Refused, Walk

_ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path("data/json_schema_test_suite/draft2020-12")


@dataclass(frozen=True)
class Outcome:
    """What an engine made of a group: right, wrong (with the instances) or refused (with the reason)."""

    result: str
    details: tuple[str, ...] = ()


def judge(group: Group, engine: Callable[[dict[str, Any]], Walk]) -> Outcome:
    """Walk all instances of a group."""
    try:
        walk = engine(group.document)
    except Refused as reason:
        return Outcome("refused", (str(reason),))
    wrong = [
        f"{'unreachable' if case.valid else 'reachable'}: {case.description} {json.dumps(case.data)}"
        for case in group.cases
        if any(map(walk, case.texts())) is not case.valid
    ]
    return Outcome("wrong", tuple(wrong)) if wrong else Outcome("right")


def table(groups: Sequence[Group], outcomes: dict[str, dict[str, Outcome]]) -> dict[str, dict[str, Any]]:
    """Counts by keyword: groups, and by engine how many are right, wrong and refused."""
    totals = Counter(group.keyword for group in groups)
    found: dict[str, dict[str, Any]] = {keyword: {"groups": total} for keyword, total in totals.items()}
    keywords = {group.name: group.keyword for group in groups}
    for engine, results in outcomes.items():
        counts = Counter((keywords[name], outcome.result) for name, outcome in results.items())
        for keyword, entry in found.items():
            entry[engine] = {result: counts[keyword, result] for result in ("right", "wrong", "refused")}
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.json_schema_suite")
    parser.add_argument("--json", type=Path, required=True, metavar="OUT")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    default = os.environ.get("FACTORSPEC_SHARED", str(_ROOT.parent / "shared"))
    parser.add_argument("--shared", type=Path, default=Path(default), metavar="DIR")
    options = parser.parse_args(arguments)
    if "llguidance" in options.engines and find_spec("llguidance") is None:
        parser.error("llguidance is not installed: pip install llguidance, or leave it out with --engines")
    groups = [group for group in read_groups(options.shared / FOLDER) if group.cases]
    outcomes = {
        name: {group.name: judge(group, ENGINES[name]) for group in groups} for name in options.engines
    }
    counts = table(groups, outcomes)
    details = {
        engine: {name: {"result": o.result, "details": o.details} for name, o in results.items()}
        for engine, results in outcomes.items()
    }
    options.json.write_text(json.dumps({"keywords": counts, "groups": details}, indent=1, ensure_ascii=False))
    print("right/wrong/refused", *options.engines)
    for keyword, entry in counts.items():
        shown = ["/".join(map(str, entry[engine].values())) for engine in options.engines]
        print(f"{keyword} ({entry['groups']}):", *shown)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
