"""Pick a problem, ask the model in this process, show the itinerary."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import get_args

from pydantic import ValidationError
from rich.console import Console
from rich.table import Table

import factorspec_sdk as fs
from examples.trip_planner.models import AnyTrip, Variant, itinerary, messages
from examples.trip_planner.natural_plan import NotATripProblem, find_problem
from examples.trip_planner.problem import Problem, load, own_problems
from examples.trip_planner.timeline import origins, timeline

DEFAULT_PROBLEM = "harbours"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the example; 0 if an itinerary was written, 1 if there is none, 2 if the problem cannot be read."""
    options = _parser().parse_args(arguments)
    console, errors = Console(), Console(stderr=True)
    if options.list:
        console.print(_overview())
        return 0
    try:
        problem = _problem(options)
    except (NotATripProblem, ValidationError, OSError, ValueError) as error:
        errors.print(f"Cannot read the problem: {error}", markup=False)
        return 2
    try:
        _plan(problem, options, console)
    except fs.FactorspecError as error:
        errors.print(f"No itinerary ({error.code}): {error}", markup=False)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.trip_planner", description=__doc__)
    parser.add_argument(
        "problem",
        nargs="?",
        default=DEFAULT_PROBLEM,
        help=f"one of {', '.join(own_problems())} ({DEFAULT_PROBLEM}), or a JSON file in their form",
    )
    parser.add_argument("--list", action="store_true", help="show the problems that ship with the example")
    parser.add_argument("--variant", choices=get_args(Variant), default="open", help="what must hold (open)")
    parser.add_argument(
        "--natural-plan",
        type=Path,
        metavar="FILE",
        help="take a problem of the NATURAL PLAN data set from FILE (needs --id)",
    )
    parser.add_argument("--id", help="which problem of FILE, e.g. trip_planning_example_9")
    parser.add_argument("--origins", action="store_true", help="show where each token came from")
    parser.add_argument("--temperature", type=float, default=0.0, help="0 takes the most likely token (0)")
    parser.add_argument("--seed", type=int, default=0, help="of the sampling (0)")
    parser.add_argument(
        "--server", metavar="URL", help="ask a FactorSpec server instead of an engine in here"
    )
    return parser


def _problem(options: argparse.Namespace) -> Problem:
    if options.natural_plan is not None:
        if options.id is None:
            raise NotATripProblem("--natural-plan needs --id")
        return find_problem(options.natural_plan, options.id)
    if options.id is not None:
        raise NotATripProblem("--id needs --natural-plan")
    path = own_problems().get(options.problem, Path(options.problem))
    if not path.exists():
        raise NotATripProblem(f"no problem and no file {options.problem!r}; --list shows the problems")
    return load(path)


def _plan(problem: Problem, options: argparse.Namespace, console: Console) -> None:
    record = itinerary(problem, options.variant)
    started = perf_counter()
    with console.status("starting the model"):
        client = fs.Client(options.server) if options.server else fs.Client.local()
    with client, console.status("planning"):
        loaded_s = perf_counter() - started
        result = client.generate(
            record,
            messages(problem, options.variant),
            temperature=options.temperature,
            seed=options.seed,
            origins=options.origins,
        )
    console.print(timeline(problem, result.value.stops))
    if result.report.origins is not None:
        console.print(origins(result.report.origins))
    console.print(_summary(result, loaded_s))


def _summary(result: fs.Result[AnyTrip], loaded_s: float) -> Table:
    report = result.report
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", style="bold")
    table.add_column()
    table.add_row(
        f"{report.tokens}", f"tokens: {report.certain} certain, {report.chosen} chosen, {report.free} free"
    )
    table.add_row(f"{report.model_steps}", "steps of the model")
    seconds = f"s for the record, {report.prefill_s:.1f} s for the prompt, {loaded_s:.1f} s to load the model"
    table.add_row(f"{report.decode_s:.2f}", seconds)
    for relation in report.relations:
        mark = "[green]✓[/]" if relation.outcome != "broken" else "[red]✗[/]"
        table.add_row(mark, relation.name)
    return table


def _overview() -> Table:
    table = Table(box=None)
    for heading in ("name", "title", "cities", "days"):
        table.add_column(heading)
    for name, path in own_problems().items():
        problem = load(path)
        table.add_row(name, problem.title, ", ".join(problem.cities), str(problem.total_days))
    return table


if __name__ == "__main__":
    sys.exit(main())
