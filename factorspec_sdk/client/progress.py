"""A progress bar, where the caller wants one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from factorspec_sdk.client.transport import INSTALL
from factorspec_sdk.errors import MissingExtra

#: told of each request that has ended, and whether it failed
OnEnd = Callable[[bool], None]


@contextmanager
def progress_bar(total: int, done: int, *, show: bool) -> Iterator[OnEnd]:
    """A bar on standard error while the block runs.

    Args:
        total: all requests.
        done: those that were done in an earlier run.
        show: False: there is no bar.

    Raises:
        MissingExtra: ``rich`` is not installed.
    """
    if not show:
        yield lambda failed: None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ModuleNotFoundError as error:
        raise MissingExtra(f"a progress bar needs 'rich'; run: {INSTALL}") from error
    columns = (TextColumn("records"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    failures = TextColumn("{task.fields[failed]} failed")
    with Progress(*columns, failures, console=Console(stderr=True)) as bar:
        task = bar.add_task("records", total=total, completed=done, failed=0)
        lock, num_failed = Lock(), 0

        def tell(failed: bool) -> None:
            nonlocal num_failed
            with lock:
                num_failed += failed
                bar.update(task, advance=1, failed=num_failed)

        yield tell
