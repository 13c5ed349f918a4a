"""A team of threads that stays together through many short rounds.

`map_blocks` starts new threads and sets every library's number of threads at each call, which takes about a
millisecond: nothing for one long step, but a descent has hundreds of rounds that take two milliseconds each. A team
starts its threads once; a round costs some thirty microseconds. The calling thread works too, so that one thread means
no other thread at all.

Only for kernels that hold neither the interpreter nor BLAS, and that write each row from its own block alone: blocks go
to any free thread, so nothing may depend on which thread ran what.
"""

from __future__ import annotations

import contextlib
import contextvars
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import threads

_SHARES = 4  # pieces per thread: more pieces cost calls, fewer leave threads waiting for the last one
_FEWEST_ROWS, _MOST_ROWS = 128, 2048

Block = TypeVar("Block")
_Round = Callable[[], None]


class Team:
    """Threads waiting for rounds of work; made by `team`."""

    def __init__(self, n_threads: int) -> None:
        self._inboxes: list[queue.SimpleQueue[_Round | None]] = []
        self._outbox: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._workers: list[threading.Thread] = []
        for index in range(n_threads - 1):
            inbox: queue.SimpleQueue[_Round | None] = queue.SimpleQueue()
            context = contextvars.copy_context()
            worker = threading.Thread(
                target=context.run, args=(self._wait, inbox), name=f"manifolia-team-{index}", daemon=True
            )
            self._inboxes.append(inbox)
            self._workers.append(worker)
            worker.start()

    @property
    def n_threads(self) -> int:
        """How many threads work, the calling one among them."""
        return len(self._workers) + 1

    def pieces(self, n_rows: int) -> list[slice]:
        """Cut rows into pieces of work that keep all threads busy to the end of a round."""
        return row_blocks(n_rows, min(max(-(-n_rows // (_SHARES * self.n_threads)), _FEWEST_ROWS), _MOST_ROWS))

    def _wait(self, inbox: queue.SimpleQueue[_Round | None]) -> None:
        while (work := inbox.get()) is not None:
            try:
                work()
            except BaseException as error:  # raised by `run`, in the caller's thread
                self._outbox.put(error)
            else:
                self._outbox.put(None)

    def run(self, function: Callable[[Block], object], blocks: Sequence[Block]) -> None:
        """Apply a function to every block and wait until all are done."""
        waiting = iter(blocks)
        lock = threading.Lock()
        stop = threading.Event()

        def work() -> None:
            try:
                while not stop.is_set():
                    with lock:
                        block = next(waiting, waiting)
                    if block is waiting:
                        return
                    function(block)  # type: ignore[arg-type]
            except BaseException:
                stop.set()
                raise

        called = self._inboxes[: max(len(blocks) - 1, 0)]
        for inbox in called:
            inbox.put(work)
        answered = 0
        failure: BaseException | None = None
        try:
            work()
            while answered < len(called):
                error = self._outbox.get()
                answered += 1
                failure = failure or error
        finally:
            stop.set()
            while answered < len(called):  # Ctrl-C, or our own error: the others finish the block they have
                self._outbox.get()
                answered += 1
        if failure is not None:
            raise failure

    def close(self) -> None:
        """End the threads."""
        for inbox in self._inboxes:
            inbox.put(None)
        for worker in self._workers:
            worker.join()
        self._inboxes, self._workers = [], []


@contextlib.contextmanager
def team(n_jobs: int | None = None) -> Iterator[Team]:
    """Keep a team of threads for a ``with`` block, with BLAS and OpenMP on one thread as in `threads`."""
    with threads(n_jobs) as n_threads:
        crew = Team(n_threads)
        try:
            yield crew
        finally:
            crew.close()
