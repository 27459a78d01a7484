"""Ways to a valid record on loose trips and meetings: what each costs, and how many records are valid.

README.md in this folder explains the options and the output.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

from factorspec_sdk.client.openai_transport import OpenAITransport
from tests.benchmarks.calibration import REFERENCE_MS, calibrate_ms, machine
from tests.benchmarks.files import add_data, write_report
from tests.benchmarks.natural_plan_cases import read_cases
from tests.benchmarks.strategies_runs import PROMPTING, STRATEGIES, Bench, Facts, Limits

WORKLOADS = {"trips": ("trip", "loose"), "meetings": ("meeting", "plain")}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    limits = Limits(options.max_answers, options.max_tokens, options.concurrency)
    before_ms, runs = calibrate_ms(), list[Facts]()
    with _server(options.url) as url:
        bench = Bench(OpenAITransport(url, api_key=None, attempts=3), limits, options.prompting)
        for workload in options.workload or WORKLOADS:
            task, variant = WORKLOADS[workload]
            cases = read_cases(task, variant, options.data, options.limit)
            for strategy in options.strategies:
                runs.append({"workload": workload, **bench.run(strategy, cases)})
                print(runs[-1], file=sys.stderr, flush=True)
                report = {
                    "machine": machine(),
                    "cal_ms": round(min(before_ms, calibrate_ms()), 2),
                    "cal_reference_ms": REFERENCE_MS,
                    "prompting": options.prompting,
                    "max_answers": limits.max_answers,
                    "max_tokens": limits.max_tokens,
                    "concurrency": limits.concurrency,
                    "runs": runs,
                }
                write_report(options.json, report)  # again after each: a run takes long
    Console().print(_table(runs))
    return 0


def _table(runs: Sequence[Facts]) -> Table:
    columns = (
        "workload",
        "strategy",
        "valid",
        "calls",
        "prompt_tokens",
        "tokens",
        "changed",
        "kept",
        "answer_s",
        "client_cpu_s",
    )
    table = Table(*columns)
    for run in runs:
        shown = {**run, "valid": f"{run['valid']} of {run['records']}"}
        table.add_row(*("" if shown[name] is None else str(shown[name]) for name in columns))
    return table


@contextmanager
def _server(url: str | None) -> Iterator[str]:
    """The server that was named, or the embedded engine with SmolLM2 on a free port."""
    if url is not None:
        yield url
        return
    from factorspec_server.engines import load_model
    from factorspec_server.http.app import create_app
    from factorspec_server.http.served_model import ServedModel
    from tests.server.http.serving import running

    with running(create_app(ServedModel.of(load_model("smollm2")))) as root:
        yield f"{root}/v1"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.strategies", description=__doc__)
    parser.add_argument("--json", type=Path, required=True, metavar="OUT")
    add_data(parser)
    parser.add_argument("--limit", type=int, default=30, metavar="N", help="problems of a workload")
    parser.add_argument("--workload", action="append", choices=[*WORKLOADS], help="may be repeated; all")
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=STRATEGIES)
    parser.add_argument("--prompting", choices=PROMPTING, default="form", help="of retry and repair")
    parser.add_argument("--max-answers", type=int, default=2, metavar="N", help="of retry and repair")
    parser.add_argument("--max-tokens", type=int, default=256, metavar="N", help="of one of their answers")
    parser.add_argument("--concurrency", type=int, default=8, metavar="N", help="requests at a time")
    parser.add_argument("--url", help="of a server, with /v1; else one is started in this process")
    return parser


if __name__ == "__main__":
    sys.exit(main())
