"""Threads: how many, whose, and giving them back.

The rule of the house: **inside manifolia BLAS and OpenMP libraries run on one thread**, and the work is cut into
blocks of rows that run on our own threads. The bits of a BLAS product depend on its number of threads, small
LAPACK calls are slower with two threads than with one (on a busy machine an ``eigh`` of 784 took 9 s instead of 0.13
s), and blocks of rows parallelise everything large. So the same seed gives the same bits for any ``n_jobs``.

Whose setting is whose: a BLAS library's number of threads belongs to the process; OpenMP's, numba's and joblib's
belong to the thread that set them.

``map_blocks`` runs on threads here. Work without side effects (``anywhere=True``) goes to whatever ``use_executor``
installed (this is how Dask is used), so that no stage and no estimator holds a client.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import numbers
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

import joblib
import threadpoolctl
from threadpoolctl import ThreadpoolController

from manifolia.exceptions import ParameterError, ParameterTypeError

Block = TypeVar("Block")
Result = TypeVar("Result")


class Executor(Protocol):
    """What `map_blocks` needs of an executor; the results come back in the order of the blocks."""

    def map(self, function: Callable[[Block], Result], blocks: list[Block], /) -> list[Result]:
        """Apply `function` to each block."""

    def as_done(self, function: Callable[[Block], Result], blocks: list[Block], /) -> Iterator[tuple[int, Result]]:
        """Apply `function` to each block, and yield number and result of each as it is done."""

    def again(self, work: Callable[[], Result], /) -> Result:
        """Do work that a library sends elsewhere by itself, and do it again if a part of it was lost."""


_n_jobs: contextvars.ContextVar[int | None] = contextvars.ContextVar("manifolia_n_jobs", default=None)
_in_block: contextvars.ContextVar[bool] = contextvars.ContextVar("manifolia_in_block", default=False)
_executor: contextvars.ContextVar[Executor | None] = contextvars.ContextVar("manifolia_executor", default=None)


def cpu_count() -> int:
    """Count the cores this process may use."""
    return int(joblib.cpu_count())


def _most_threads() -> int:
    """Return what numba was started with, or will be; it refuses to run on more."""
    config = getattr(sys.modules.get("numba"), "config", None)
    if config is not None and hasattr(config, "NUMBA_NUM_THREADS"):
        return int(config.NUMBA_NUM_THREADS)
    text = os.environ.get("NUMBA_NUM_THREADS", "")
    return int(text) if text.isdecimal() and int(text) > 0 else cpu_count()


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Turn the user's ``n_jobs`` into a number of threads."""
    if n_jobs is not None:
        if not isinstance(n_jobs, numbers.Integral) or isinstance(n_jobs, bool):
            raise ParameterTypeError(
                f"n_jobs must be an int or None, got {n_jobs!r}. None uses all cores.", parameter="n_jobs"
            )
        if n_jobs == 0:
            raise ParameterError(
                "n_jobs must not be 0. Use 1 for one thread, None or -1 for all cores.", parameter="n_jobs"
            )
    if _in_block.get():
        return 1
    if n_jobs is None:
        inherited = _n_jobs.get()
        return _most_threads() if inherited is None else inherited
    wanted = int(n_jobs) if n_jobs > 0 else cpu_count() + 1 + int(n_jobs)
    return min(max(wanted, 1), _most_threads())


def current_n_jobs() -> int:
    """Return how many threads `map_blocks` would use now."""
    return resolve_n_jobs(None)


class _BlasLimit:
    """Hold BLAS at one thread while at least one context is open, then restore what was before.

    The setting belongs to the process. Counting the open contexts keeps two user threads that overlap from
    restoring each other's limit. A fork waits until no thread is in the middle of a change, and contexts of threads
    that do not exist in the new process do not count there.
    """

    def __init__(self) -> None:
        #: Held while a setting is changed, and during a fork. A signal's handler may fork while its thread holds it.
        self.undisturbed = threading.RLock()
        self._open = 0
        self._own = threading.local()  # how many of them this thread has opened
        self._limits: list[Any] = []
        self._seen: ThreadpoolController | None = None

    def __enter__(self) -> None:
        with self.undisturbed:
            controller = _controller()
            if controller is not self._seen:  # the first context, or a library was loaded since
                _disown_openblas()
                self._limits.append(controller.select(user_api="blas").limit(limits=1))
                self._seen = controller
            self._open += 1
            self._own.count = getattr(self._own, "count", 0) + 1

    def __exit__(self, *exc: object) -> None:
        with self.undisturbed:
            self._open -= 1
            self._own.count -= 1
            if self._open == 0:
                self._seen = None
                _disown_openblas()
                while self._limits:  # the last one first: the first one remembers the user's own setting
                    self._limits.pop().restore_original_limits()
                _disown_openblas()

    def survive_forks(self) -> None:
        """Be usable in a process that was forked while our threads were running."""
        if hasattr(os, "register_at_fork"):  # Windows does not fork
            os.register_at_fork(
                before=self.undisturbed.acquire, after_in_parent=self.undisturbed.release, after_in_child=self._forked
            )

    def _forked(self) -> None:
        self._open = getattr(self._own, "count", 0)
        if self._open == 0:
            self._seen = None  # so that the next context limits anew, and its end restores what the first one found
        self.undisturbed.release()


def _disown_openblas() -> None:
    # From threadpoolctl 3.8, OpenBLAS obeys only the thread that first set its number of threads, for as long as it
    # lives, and silently ignores the others. Our count of open contexts keeps threads out of each other's way.
    disown = getattr(getattr(threadpoolctl, "OpenBLASController", None), "clear_controlling_thread", None)
    if disown is not None:
        disown(force=True)


@functools.lru_cache(maxsize=1)
def _find_libraries(_n_modules: int, _newest: str) -> ThreadpoolController:
    return ThreadpoolController()


def _controller() -> ThreadpoolController:
    # Finding the loaded libraries takes milliseconds; only an import can bring a new one.
    return _find_libraries(len(sys.modules), next(reversed(sys.modules)))


_blas_limit = _BlasLimit()
_blas_limit.survive_forks()


@contextlib.contextmanager
def _numba_threads(n_threads: int) -> Iterator[None]:
    # numba is not imported for this; a kernel that imports it later asks for current_n_jobs itself (kernels._jit).
    numba: Any = sys.modules.get("numba")
    if not hasattr(numba, "set_num_threads"):  # absent, or just being imported by another thread
        yield
        return
    # numba guards its setting by a semaphore that processes share. A process that is forked while another thread holds
    # it counts it wrongly and never releases it, so a fork waits here too.
    with _blas_limit.undisturbed:
        before = numba.get_num_threads()
        numba.set_num_threads(min(n_threads, numba.config.NUMBA_NUM_THREADS))
    try:
        yield
    finally:
        with _blas_limit.undisturbed:
            numba.set_num_threads(before)


@contextlib.contextmanager
def _openmp_limit() -> Iterator[None]:
    # Each thread has its own setting, but threadpoolctl takes its own lock to change it, which a fork would leave
    # locked for ever in the new process.
    with _blas_limit.undisturbed:
        limit = _controller().select(user_api="openmp").limit(limits=1)
    try:
        yield
    finally:
        with _blas_limit.undisturbed:
            limit.restore_original_limits()


@contextlib.contextmanager
def threads(n_jobs: int | None = None) -> Iterator[int]:
    """Run the enclosed work on `n_jobs` threads and restore every setting afterwards."""
    n_threads = resolve_n_jobs(n_jobs)
    token = _n_jobs.set(n_threads)
    try:
        with (
            _numba_threads(n_threads),
            _openmp_limit(),  # outside BLAS's, which may be built on OpenMP and is restored only by the last thread
            _blas_limit,
            joblib.parallel_config(n_jobs=n_threads),
        ):
            yield n_threads
    finally:
        _n_jobs.reset(token)


@contextlib.contextmanager
def use_executor(executor: Executor) -> Iterator[None]:
    """Send work that may run anywhere to another executor inside a ``with`` block."""
    token = _executor.set(executor)
    try:
        yield
    finally:
        _executor.reset(token)


def has_executor() -> bool:
    """Return whether work that may run anywhere leaves this process."""
    return _executor.get() is not None


def map_blocks(
    function: Callable[[Block], Result],
    blocks: Iterable[Block],
    *,
    n_jobs: int | None = None,
    anywhere: bool = False,
) -> list[Result]:
    """Apply a function to every block, on the current executor, and return the results in order."""
    pieces = list(blocks)
    executor = _executor.get() if anywhere else None
    if executor is not None:
        return executor.map(functools.partial(run_alone, function), pieces)
    with threads(n_jobs) as n_threads:
        n_workers = min(n_threads, len(pieces))
        if n_workers <= 1:
            return [function(piece) for piece in pieces]
        return _on_threads(function, pieces, n_workers)


def as_done(
    function: Callable[[Block], Result], blocks: Iterable[Block], *, anywhere: bool = False
) -> Iterator[tuple[Block, Result]]:
    """Apply a function to large blocks, each with all threads, and yield the results one by one as they are done.

    Here they are done in order; on another executor, to which a block may go if it holds all that it needs, in any
    order.
    """
    pieces = list(blocks)
    executor = _executor.get() if anywhere else None
    if executor is None:
        yield from ((piece, function(piece)) for piece in pieces)
        return
    for index, result in executor.as_done(functools.partial(run_alone, function), pieces):
        yield pieces[index], result


def again(work: Callable[[], Result]) -> Result:
    """Do work that can be repeated and that a library sends to the executor by itself."""
    executor = _executor.get()
    return work() if executor is None else executor.again(work)


def run_alone(function: Callable[[Block], Result], piece: Block) -> Result:
    """Run one block with every library on one thread, wherever this is: one of our threads, or a Dask worker."""

    def run() -> Result:
        _executor.set(None)
        with threads(1):
            _in_block.set(True)
            return function(piece)

    return contextvars.copy_context().run(run)


def _on_threads(function: Callable[[Block], Result], pieces: list[Block], n_workers: int) -> list[Result]:
    """Let each thread take the next piece when it is done with one; settings are made once per thread."""
    results: dict[int, Result] = {}
    failures: dict[int, BaseException] = {}
    waiting = iter(range(len(pieces)))
    lock = threading.Lock()
    stop = threading.Event()

    def take(_worker: int) -> None:
        while not stop.is_set():
            with lock:
                index = next(waiting, None)
            if index is None:
                return
            try:
                results[index] = function(pieces[index])
            except BaseException as error:  # raised below, in the caller's thread
                failures[index] = error
                stop.set()

    context = contextvars.copy_context()  # the memory limit and NumPy's errstate are passed on
    with ThreadPoolExecutor(n_workers, thread_name_prefix="manifolia") as pool:
        try:
            futures = [pool.submit(context.copy().run, run_alone, take, i) for i in range(n_workers)]
            for future in futures:
                future.result()
        finally:
            stop.set()  # Ctrl-C: no further piece is started
    if failures:
        # Pieces are started in order, so all before the first that fails have run: the error does not depend on luck.
        raise failures[min(failures)]
    return [results[index] for index in range(len(pieces))]
