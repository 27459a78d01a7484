"""The commands and their options: ``factorspec serve | check | explain | next | sample | report``.

SPEC is a JSON file, ``-`` for standard input, or ``module:Model`` for a Pydantic model without parameters;
the module is imported, so name only code that you trust. Exit codes: see ``failures.py``.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from factorspec_sdk.core import is_compiled
from factorspec_sdk.errors import reason_of, shown
from factorspec_sdk.explaining import report as report_on
from factorspec_sdk.graph.compile import compile_spec
from factorspec_server.commands.check import judge
from factorspec_server.commands.failures import INVALID, USAGE, CommandError, exit_code_of, failures_told
from factorspec_server.commands.next_slot import next_positions
from factorspec_server.commands.position_text import position_json, position_lines, strayed_lines
from factorspec_server.commands.sources import STDIN, read_document, read_json, read_spec, read_text
from factorspec_server.settings import MOST_WIDTH
from factorspec_server.sglang.service_settings import DEADLINE_S, MOST_WORKERS
from factorspec_server.version import distribution_version


class _Commands(TyperGroup):
    """The commands; what is wrong with an option is told in its own words alone."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:  # typer checks values with Pydantic
            error.message = _wrong_switch(error.param) or reason_of(error.message)
            raise


def _wrong_switch(option: object) -> str | None:
    """What is wrong with a switch; None for other options.

    The command line gives switches no values: a wrong one is of the environment.
    """
    variable = getattr(option, "envvar", None)
    if not getattr(option, "is_bool_flag", False) or not isinstance(variable, str):
        return None
    return f"{variable} must be 0 or 1, got {shown(os.environ.get(variable))}"


app = typer.Typer(
    name="factorspec",
    cls=_Commands,
    help="Records whose fields agree: serve a model that writes them, check records, and look into specs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

SpecArgument = Annotated[
    str,
    typer.Argument(metavar="SPEC", help="JSON file, '-' for standard input, or module:Model (is imported)."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        core = "compiled" if is_compiled() else "Python"
        typer.echo(f"factorspec {distribution_version()} ({core} core)")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Log where errors come from.")] = False,
) -> None:
    """Options of all commands."""
    if debug:
        logging.basicConfig()
        logging.getLogger("factorspec_server").setLevel(logging.DEBUG)


@app.command("serve", context_settings={"allow_extra_args": True})
def serve_command(
    context: typer.Context,
    model: Annotated[
        str, typer.Option(help="'smollm2', or a directory with a Hugging Face model.")
    ] = "smollm2",
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
    api_key: Annotated[
        str | None,
        typer.Option(
            envvar="FACTORSPEC_API_KEY", show_envvar=True, help="What clients must send as bearer token."
        ),
    ] = None,
    insecure: Annotated[bool, typer.Option(help="Let other machines in without an API key.")] = False,
    dtype: Annotated[
        Literal["float32", "bfloat16", "float16"] | None, typer.Option(help="Of the weights.")
    ] = None,
    device: Annotated[
        Literal["cpu", "cuda"] | None, typer.Option(help="Default: CUDA where present.")
    ] = None,
    max_batch: Annotated[
        int | None,
        typer.Option(
            min=1, max=1024, help="Requests that run together.", show_default="8; SGLang's own on GPUs"
        ),
    ] = None,
    drafting: Annotated[
        Literal["auto", "off", "certain", "chain", "branches", "text", "tree"],
        typer.Option(help="What is drafted; changes speed, never output."),
    ] = "auto",
    width: Annotated[
        str,
        typer.Option(
            metavar="N|auto", help="Most tokens guessed in a step, with what follows them; auto: by cost."
        ),
    ] = "auto",
    earlier: Annotated[
        bool,
        typer.Option(
            envvar="FACTORSPEC_EARLIER",
            help="Guess what earlier records of the same spec wrote, whoever asked for them.",
        ),
    ] = True,
    prefix_mb: Annotated[
        int, typer.Option(min=0, help="Memory for beginnings of prompts that come again, in MiB.")
    ] = 256,
    engine: Annotated[
        Literal["embedded", "sglang"], typer.Option(help="What runs the model; SGLang has to be installed.")
    ] = "embedded",
    workers: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=MOST_WORKERS,
            help="Processes that compile specs and keep the records; 0: the engine's own does.",
            show_default="FACTORSPEC_WORKERS, or by the machine: see the start-up lines",
        ),
    ] = None,
    deadline_s: Annotated[
        float | None,
        typer.Option(
            help="With --engine sglang: longest wait for one of them, in seconds.",
            show_default=f"{DEADLINE_S:g}",
        ),
    ] = None,
) -> None:
    """Serve a model over an OpenAI-compatible API.

    With --engine sglang, flags of SGLang's own may follow behind --.
    """
    with failures_told():
        if engine == "sglang":
            from factorspec_server.commands.serve_sglang import ServeSglangOptions, serve_sglang

            _refuse_embedded({"--width": width != "auto", "--prefix-mb": prefix_mb != 256})
            sglang_options = ServeSglangOptions(
                model=model,
                host=host,
                port=port,
                api_key=api_key,
                insecure=insecure,
                dtype=dtype,
                device=device,
                max_batch=max_batch,
                drafting=drafting,
                earlier=earlier,
                workers=workers,
                deadline_s=deadline_s,
                passed_on=tuple(context.args),
            )
            serve_sglang(sglang_options, lambda line: typer.echo(line, err=True))
            return
        if context.args:
            raise CommandError(f"got {context.args[0]!r}: flags behind -- are for --engine sglang", USAGE)
        _refuse_sglang({"--deadline-s": deadline_s is not None})
        from factorspec_server.commands.serve import ServeOptions, serve

        options = ServeOptions(
            model=model,
            host=host,
            port=port,
            api_key=api_key,
            insecure=insecure,
            dtype=dtype,
            device=device,
            max_batch=max_batch or 8,
            drafting=drafting,
            width=_width(width),
            earlier=earlier,
            prefix_bytes=prefix_mb << 20,
            workers=workers,
        )
        serve(options, lambda line: typer.echo(line, err=True))


def _refuse_embedded(given: Mapping[str, bool]) -> None:
    """Raise CommandError for options of the embedded engine that were given."""
    for name, is_given in given.items():
        if is_given:
            raise CommandError(f"{name} is for the embedded engine; leave it out with --engine sglang", USAGE)


def _refuse_sglang(given: Mapping[str, bool]) -> None:
    """Raise CommandError for options of SGLang's engine that were given."""
    for name, is_given in given.items():
        if is_given:
            raise CommandError(f"{name} is for --engine sglang; leave it out", USAGE)


def _width(text: str) -> int | None:
    """A number of tokens, None for ``auto``.

    Raises:
        CommandError: it is neither.
    """
    if text == "auto":
        return None
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MOST_WIDTH:
        raise CommandError(f"--width must be 'auto' or 1 to {MOST_WIDTH}, got {text!r}", USAGE)
    return int(text)


@app.command("check")
def check_command(
    spec: SpecArgument,
    record: Annotated[str, typer.Argument(metavar="RECORD", help="JSON file, or '-' for standard input.")],
) -> None:
    """Say whether a record is valid (exit code 0) or not (1), and why."""
    with failures_told():
        if spec == record == STDIN:
            raise CommandError("only one of SPEC and RECORD can be standard input", USAGE)
        judgement = judge(read_spec(spec), read_json(record))
        for line in judgement.lines():
            typer.echo(line)
        if not judgement.is_valid:
            raise typer.Exit(INVALID)


@app.command("explain")
def explain_command(
    spec: SpecArgument,
    record: Annotated[
        str | None, typer.Argument(metavar="RECORD", help="JSON file, or '-' for standard input.")
    ] = None,
    at: Annotated[str | None, typer.Option(metavar="PATH", help="A field, e.g. stops[1].city.")] = None,
    value: Annotated[str | None, typer.Option(metavar="JSON", help="Why can the field not be this?")] = None,
    as_json: JsonOption = False,
) -> None:
    """Say why a record is not valid and which valid one is nearest.

    With --at and --value: why that value is not allowed there; RECORD, which may be a part, is what is given.
    Without RECORD: which relations contradict each other. Exit code 1: not valid, or not allowed.
    """
    with failures_told():
        from factorspec_server.commands.explain import answer_to

        if spec == record == STDIN:
            raise CommandError("only one of SPEC and RECORD can be standard input", USAGE)
        read = None if record is None else read_json(record)
        answer = answer_to(read_spec(spec), read, at, value)
        text = json.dumps(answer.as_json, ensure_ascii=False, indent=1) if as_json else answer.text
        typer.echo(text)
        if answer.exit_code:
            raise typer.Exit(answer.exit_code)


@app.command("next")
def next_command(
    spec: SpecArgument,
    prefix: Annotated[
        str,
        typer.Argument(
            metavar="PREFIX", help="Text written so far: itself, a file, or '-' for standard input."
        ),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Show the next slot after a text, and the values that lead to a valid record."""
    with failures_told():
        compiled = compile_spec(read_spec(spec))
        text = read_text(prefix).rstrip("\n") if prefix == STDIN or _is_file(prefix) else prefix
        found = next_positions(compiled, text)
        if not isinstance(found, list):
            for line in strayed_lines(text, found):
                typer.echo(line, err=True)
            raise typer.Exit(INVALID)
        for position in found:
            lines = (
                [json.dumps(position_json(position), ensure_ascii=False)]
                if as_json
                else position_lines(position)
            )
            for line in lines:
                typer.echo(line)


@app.command("sample")
def sample_command(
    spec: SpecArgument,
    number: Annotated[int, typer.Option("-n", "--number", min=1, help="How many.")] = 1,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same records.")] = 0,
) -> None:
    """Write valid records, one a line, without a model. They are not uniformly distributed."""
    with failures_told():
        from factorspec_server.commands.sampling import sample_records

        for record in islice(sample_records(read_spec(spec), seed=seed), number):
            typer.echo(record)
            sys.stdout.flush()


@app.command("report")
def report_command(spec: SpecArgument, as_json: JsonOption = False) -> None:
    """Say what of a spec is enforced and how, its sizes, and its conflicts."""
    with failures_told():
        report = report_on(read_document(spec))
        lines = [json.dumps(report.as_json(), ensure_ascii=False, indent=1)] if as_json else report.lines()
        for line in lines:
            typer.echo(line)
        if report.error is not None:
            typer.echo(f"error: {report.error}\n[{report.error.code}]", err=True)
            raise typer.Exit(exit_code_of(report.error))


def _is_file(text: str) -> bool:
    """True if a text names a file; texts of records never do."""
    try:
        return not text.lstrip().startswith("{") and Path(text).is_file()
    except (OSError, ValueError):
        return False
