"""Pick a problem, ask the model in this process, show the day."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

import factorspec_sdk as fs
from examples.meeting_planner import appointment, models
from examples.meeting_planner.chart import Slot, calendar_chart, day_chart
from examples.meeting_planner.natural_plan import NotAMeetingProblem, find_problem
from examples.meeting_planner.problem import Calendars, Day, Problem, load, minute_of, own_problems

DEFAULT_PROBLEM = "lisbon"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the example; 0 if a schedule was written, 1 if there is none, 2 if the problem cannot be read."""
    options = _parser().parse_args(arguments)
    console, errors = Console(), Console(stderr=True)
    if options.list:
        console.print(_overview())
        return 0
    try:
        problem = _problem(options)
    except (NotAMeetingProblem, ValidationError, OSError, ValueError) as error:
        errors.print(f"Cannot read the problem: {error}", markup=False)
        return 2
    try:
        _plan(problem, options, console)
    except fs.Unsatisfiable as error:
        errors.print(f"Nothing fits. These clash: {'; '.join(error.conflict)}", markup=False)
        return 1
    except fs.FactorspecError as error:
        errors.print(f"No schedule ({error.code}): {error}", markup=False)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.meeting_planner", description=__doc__)
    parser.add_argument(
        "problem",
        nargs="?",
        default=DEFAULT_PROBLEM,
        help=f"one of {', '.join(own_problems())} ({DEFAULT_PROBLEM}), or a JSON file in their form",
    )
    parser.add_argument("--list", action="store_true", help="show the problems that ship with the example")
    parser.add_argument(
        "--any", action="store_true", help="any valid schedule will do: no objective (most friends, earliest)"
    )
    parser.add_argument(
        "--natural-plan",
        type=Path,
        metavar="FILE",
        help="take a problem of the NATURAL PLAN data set from FILE (needs --id)",
    )
    parser.add_argument("--id", help="which problem of FILE, e.g. meeting_planning_example_9")
    parser.add_argument("--temperature", type=float, default=0.0, help="0 takes the most likely token (0)")
    parser.add_argument("--seed", type=int, default=0, help="of the sampling (0)")
    parser.add_argument(
        "--server", metavar="URL", help="ask a FactorSpec server instead of an engine in here"
    )
    return parser


def _problem(options: argparse.Namespace) -> Problem:
    if options.natural_plan is not None:
        if options.id is None:
            raise NotAMeetingProblem("--natural-plan needs --id")
        return find_problem(options.natural_plan, options.id)
    if options.id is not None:
        raise NotAMeetingProblem("--id needs --natural-plan")
    path = own_problems().get(options.problem, Path(options.problem))
    if not path.exists():
        raise NotAMeetingProblem(f"no problem and no file {options.problem!r}; --list shows the problems")
    return load(path)


def _plan(problem: Problem, options: argparse.Namespace, console: Console) -> None:
    if isinstance(problem, Day):
        record: type[Any] = models.schedule(problem, most=not options.any)
        messages = models.messages(problem)
    else:
        record = appointment.appointment(problem, earliest=problem.earliest or not options.any)
        messages = appointment.messages(problem)
    with console.status("starting the model"):
        client = fs.Client(options.server) if options.server else fs.Client.local()
    with client, console.status("planning"):
        result = client.generate(record, messages, temperature=options.temperature, seed=options.seed)
    console.print(_chart(problem, result.value))
    console.print(_summary(result))


def _chart(problem: Problem, value: Any) -> Panel:
    if isinstance(problem, Day):
        return day_chart(problem, value.meetings)
    return calendar_chart(problem, Slot(value.day, minute_of(value.start), minute_of(value.end)))


def _summary(result: fs.Result[Any]) -> Table:
    report = result.report
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", style="bold")
    table.add_column()
    table.add_row(f"{report.tokens}", f"tokens: {report.certain} certain, {report.chosen} chosen")
    table.add_row(f"{report.model_steps}", f"steps of the model, {report.decode_s:.2f} s")
    for goal in report.objective:
        proof = "proven to be the optimum" if goal.proven else f"not proven, bound {goal.bound}"
        table.add_row(f"{goal.value}", f"{goal.name} ({goal.goal}): best is {goal.best}, {proof}")
    for relation in report.relations:
        mark = "[green]✓[/]" if relation.outcome != "broken" else "[red]✗[/]"
        table.add_row(mark, relation.name)
    return table


def _overview() -> Table:
    table = Table(box=None)
    for heading in ("name", "title", "who", "what"):
        table.add_column(heading)
    for name, path in own_problems().items():
        problem = load(path)
        who = [f.name for f in problem.friends] if isinstance(problem, Day) else list(problem.busy)
        what = f"{problem.minutes} minutes for all" if isinstance(problem, Calendars) else "a day of meetings"
        table.add_row(name, problem.title, ", ".join(who), what)
    return table


if __name__ == "__main__":
    sys.exit(main())
