"""Canonical share and masks of every tokenizer at hand: ``python -m tests.tokenizers --records 1000``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from factorspec_sdk.errors import FactorspecError
from factorspec_sdk.tokens import Canonical
from tests.tokenizers.matrix import NAMES, missing, vocabulary
from tests.tokenizers.measure import compared, written

_COLUMNS = "tokenizer          records canonical certain choices/record us/token   nodes wrong"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each tokenizer; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.tokenizers", description=__doc__)
    parser.add_argument("--records", type=int, default=1000, help="records of each tokenizer (1000)")
    parser.add_argument("--specs", type=int, default=20, help="small specs of each layout, all nodes (20)")
    parser.add_argument("--seed", type=int, default=0, help="of records and specs (0)")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; none: all")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"no such tokenizer: {', '.join(sorted(unknown))}")
    print(_COLUMNS)
    failed = False
    for name in options.names or NAMES:
        reason = missing(name)
        if reason is not None:
            print(f"{name:19}{reason}")
            continue
        try:
            failed |= _line(name, options)
        except FactorspecError as error:
            print(f"{name:19}{error}")
            failed = True
    return int(failed)


def _line(name: str, options: argparse.Namespace) -> bool:
    """Print one tokenizer's line. True if something is wrong."""
    canonical = Canonical(vocabulary(name))
    share = written(canonical, options.records, options.seed)
    nodes = compared(canonical, options.specs, options.seed)
    print(
        f"{name:19}{share.records:7} {share.canonical / max(share.records, 1):9.4f}"
        f" {share.certain / max(share.tokens, 1):7.3f} {share.choices / max(share.records, 1):14.1f}"
        f" {1e6 * share.seconds / max(share.tokens, 1):8.1f} {nodes.checked:7} {len(nodes.wrong):5}",
        flush=True,
    )
    if share.refused:
        print(f"    too wide for this tokenizer: {', '.join(share.refused)}")
    for text in (*share.wrong[:3], *nodes.wrong[:3]):
        print(f"    {text}")
    return bool(share.wrong or nodes.wrong)


if __name__ == "__main__":
    sys.exit(main())
