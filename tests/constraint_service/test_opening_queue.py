"""Records of known specs are opened beside a compile that takes long."""

import threading
from queue import SimpleQueue

from factorspec_server.constraint_service.opening_queue import Asked, OpeningQueue

DEADLINE_S = 60.0


class Worker:
    """Opens records; compiling ``slow`` takes until ``gate`` is set."""

    def __init__(self) -> None:
        self.known = {b"known"}
        self.gate = threading.Event()
        self.began = threading.Event()
        self.opened: SimpleQueue[tuple[bytes, int]] = SimpleQueue()
        self.queue = OpeningQueue(lambda document: document in self.known, self.open)
        for task in (self.queue.open_known, self.queue.compile):
            threading.Thread(target=task, daemon=True).start()

    def open(self, asked: Asked) -> None:
        if asked.document not in self.known and asked.document == b"slow":
            self.began.set()
            assert self.gate.wait(DEADLINE_S)
        self.known.add(asked.document)
        self.opened.put((asked.document, asked.header["id"]))

    def ask(self, *documents: bytes) -> None:
        for number, document in enumerate(documents):
            self.queue.put(Asked({"id": number}, document))

    def take(self, count: int) -> list[tuple[bytes, int]]:
        return [self.opened.get(timeout=DEADLINE_S) for _ in range(count)]


def test_known_specs_do_not_wait_for_a_compile() -> None:
    worker = Worker()
    worker.ask(b"slow")
    assert worker.began.wait(DEADLINE_S)
    worker.ask(b"known", b"new", b"known")
    assert worker.take(2) == [(b"known", 0), (b"known", 2)]
    worker.gate.set()
    assert worker.take(2) == [(b"slow", 0), (b"new", 1)]


def test_all_that_wait_for_one_compile_are_opened_behind_it() -> None:
    worker = Worker()
    worker.ask(b"slow", b"slow", b"new", b"slow")
    assert worker.began.wait(DEADLINE_S)
    worker.gate.set()
    assert sorted(worker.take(4)) == [(b"new", 2), (b"slow", 0), (b"slow", 1), (b"slow", 3)]
