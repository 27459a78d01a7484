"""Many records over a line that drops requests, from a server that is killed and started again in the middle.

README.md in this folder explains the options and the output.
"""

import argparse
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

import factorspec_sdk as fs
from factorspec_sdk.client import Failure, Result
from tests.benchmarks.calibration import machine
from tests.benchmarks.files import write_report
from tests.client.unsteady_line import UnsteadyLine, unsteady_line

_START_S = 600.0
MENU = {"soup": 7, "bread": 2, "salad": 5, "tea": 3}


class Line(BaseModel):
    dish: Annotated[str, fs.In("menu")]
    price: Annotated[int, Field(ge=1, le=50)]


class Today(BaseModel):
    menu: dict[str, int]


@fs.all_different("lines[*].dish")
@fs.sum_of("lines[*].price", eq="total", name="adds up")
class Order(BaseModel):
    lines: Annotated[list[Line], Field(min_length=2, max_length=3)]
    total: Annotated[int, Field(ge=1, le=30)]

    @fs.relation("prices as on the menu")
    def prices(self, given: Today) -> bool:
        return fs.every(line.price == given.menu[line.dish] for line in self.lines)


class Served:
    """``factorspec serve`` in a process of its own, which can be killed and started again on its port."""

    def __init__(self, model: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._model = model
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Start it; the seconds until it takes requests."""
        started = time.monotonic()
        command = [sys.executable, "-m", "factorspec_server", "serve", "--model", self._model]
        self._process = subprocess.Popen([*command, "--port", str(self.port)], stderr=subprocess.DEVNULL)
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() - started > _START_S:
                raise SystemExit("the server does not start")
            time.sleep(0.2)
        return time.monotonic() - started

    def kill(self) -> None:
        """End it at once, with whatever it is at."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _is_ready(self) -> bool:
        """It listens before its model is loaded, and answers after."""
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=2)) as connection:
            try:
                connection.request("GET", "/health")
                return connection.getresponse().status == HTTPStatus.OK
            except (OSError, HTTPException):
                return False


@contextmanager
def _restarting(server: Served, is_time: Callable[[], bool]) -> Iterator[list[float]]:
    """Kill the server and start it again once it is time; yields the seconds that it was away."""
    away: list[float] = []

    def restart() -> None:
        while not is_time():
            time.sleep(0.05)
        server.kill()
        away.append(round(server.start(), 1))

    thread = threading.Thread(target=restart, daemon=True)
    thread.start()
    yield away
    thread.join()


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    server = Served(options.model)
    server.start()
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            unsteady_line(server.port, share=options.share, seed=options.seed) as line,
        ):
            facts = _run(server, line, Path(folder) / "orders.jsonl", options)
    finally:
        server.kill()
    write_report(options.json, {"machine": machine(), **facts})
    for name, value in facts.items():
        print(f"{name}: {value}")
    return 0 if all(facts["bars"].values()) else 1


def _run(server: Served, line: UnsteadyLine, path: Path, options: argparse.Namespace) -> dict[str, Any]:
    seeds = range(1000, 1000 + options.records)
    order = fs.bind(Order, Today(menu=MENU))

    def ask() -> list[Result[Any] | Failure]:
        with fs.Client(line.url) as client:
            return client.generate_many(
                order,
                ["Something warm, please."] * options.records,
                seed=seeds.start,
                temperature=1.0,
                resume=path,
                progress=True,
                patience_s=_START_S,
                concurrency=options.concurrency,
            )

    started = time.monotonic()
    with _restarting(server, lambda: line.delivered.total() >= options.records // 2) as away:
        results = ask()
    wall_s, reached = time.monotonic() - started, line.reached.copy()
    again = ask()
    repeated = sum(count for seed, count in (line.reached - reached).items() if seed in seeds)
    valid = [one for one in results if isinstance(one, Result)]
    return {
        "records": options.records,
        "results": len(valid),
        "sent_and_read": sum(reached[seed] for seed in seeds),
        "dropped": dict(line.dropped),
        "server_away_s": away,
        "wall_s": round(wall_s, 1),
        "resumed_requests": repeated,
        "bars": {
            "a result for each prompt": len(valid) == options.records,
            "in order": [one.report.seed for one in valid] == [*seeds],
            "no answer came twice": all(line.delivered[seed] == 1 for seed in seeds),
            "each kept once": len(path.read_bytes().splitlines()) == options.records,
            "a resumed run repeats none": repeated == 0 and again == results,
        },
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.many", description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("results/many.json"), metavar="OUT")
    parser.add_argument("--records", type=int, default=200, metavar="N")
    parser.add_argument("--share", type=float, default=0.1, help="of requests that the line drops")
    parser.add_argument("--seed", type=int, default=0, help="of the line's drops")
    parser.add_argument("--concurrency", type=int, default=8, metavar="N", help="requests at a time")
    parser.add_argument("--model", default="smollm2")
    return parser


if __name__ == "__main__":
    sys.exit(main())
