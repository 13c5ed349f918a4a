"""Threads: how many, whose, and giving them back.

The rule of the house: **inside manifolia BLAS and OpenMP libraries run on one thread**, and the work is cut into blocks
of rows that run on our own threads. The bits of a BLAS product depend on its number of threads, small LAPACK calls are
slower with two threads than with one (on a busy machine an ``eigh`` of 784 took 9 s instead of 0.13 s), and blocks of
rows parallelise everything that is large. So the same seed gives the same bits for any ``n_jobs``.

``map_blocks`` runs on the current executor: threads here, or whatever ``use_executor`` installed (Dask does it that way),
so that no stage and no estimator holds a client.
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
from threadpoolctl import ThreadpoolController

__all__ = ["Executor", "cpu_count", "current_n_jobs", "map_blocks", "resolve_n_jobs", "threads", "use_executor"]

Block = TypeVar("Block")
Result = TypeVar("Result")


class Executor(Protocol):
    """What `map_blocks` needs of an executor; the results come back in the order of the blocks."""

    def map(self, function: Callable[[Block], Result], blocks: list[Block], /) -> list[Result]:
        """Apply `function` to each block."""


_n_jobs: contextvars.ContextVar[int | None] = contextvars.ContextVar("manifolia_n_jobs", default=None)
_executor: contextvars.ContextVar[Executor | None] = contextvars.ContextVar("manifolia_executor", default=None)


def cpu_count() -> int:
    """Count the cores this process may use.

    Returns
    -------
    int
        At least 1; CPU affinity and container limits are respected.
    """
    return int(joblib.cpu_count())


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Turn the user's ``n_jobs`` into a number of threads.

    Parameters
    ----------
    n_jobs : int or None
        None: all cores, or what an enclosing `threads` context or joblib configuration says. Negative: −1 is all cores,
        −2 all but one, and so on. More than the cores numba was started with are clipped.

    Returns
    -------
    int
        Between 1 and the limit.

    Raises
    ------
    TypeError, ValueError
        If it is not an int, or 0.
    """
    limit = max(1, int(os.environ.get("NUMBA_NUM_THREADS", 0)) or cpu_count())
    if n_jobs is None:
        inherited = _n_jobs.get()
        return limit if inherited is None else inherited
    if not isinstance(n_jobs, numbers.Integral) or isinstance(n_jobs, bool):
        message = f"n_jobs must be an int or None, got {n_jobs!r}. None uses all cores."
        raise TypeError(message)
    if n_jobs == 0:
        message = "n_jobs must not be 0. Use 1 for one thread, None or -1 for all cores."
        raise ValueError(message)
    wanted = int(n_jobs) if n_jobs > 0 else cpu_count() + 1 + int(n_jobs)
    return min(max(wanted, 1), limit)


def current_n_jobs() -> int:
    """Tell how many threads `map_blocks` would use now.

    Returns
    -------
    int
        The innermost `threads` context's number, or all cores outside of any.
    """
    return resolve_n_jobs(None)


class _NativeLimit:
    """Hold BLAS and OpenMP at one thread while at least one context is open, then restore what was before.

    The setting belongs to the process. Counting the open contexts keeps two user threads that overlap from restoring
    each other's limit.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._open == 0:
                self._limit = _controller(_loaded_natives()).limit(limits=1)
            self._open += 1

    def __exit__(self, *exc: object) -> None:
        with self._lock:
            self._open -= 1
            if self._open == 0:
                self._limit.restore_original_limits()
                self._limit = None


@functools.lru_cache(maxsize=4)
def _controller(_loaded: tuple[bool, ...]) -> ThreadpoolController:
    # Finding the loaded libraries takes milliseconds, so the result is kept until one of the packages
    # that bring a native thread pool of their own has been imported.
    return ThreadpoolController()


def _loaded_natives() -> tuple[bool, ...]:
    bringers = ("numpy.linalg", "scipy.linalg", "sklearn.utils._openmp_helpers", "numba.np.ufunc.omppool")
    return tuple(name in sys.modules for name in bringers)


_native_limit = _NativeLimit()


@contextlib.contextmanager
def threads(n_jobs: int | None = None) -> Iterator[int]:
    """Run the enclosed work on `n_jobs` threads and restore every setting afterwards.

    Parameters
    ----------
    n_jobs : int or None, default=None
        As for `resolve_n_jobs`.

    Yields
    ------
    int
        The number of threads.
    """
    n_threads = resolve_n_jobs(n_jobs)
    token = _n_jobs.set(n_threads)
    numba = sys.modules.get("numba")  # not imported by us: a kernel that comes later asks current_n_jobs
    before = numba.get_num_threads() if numba else None
    if numba:
        numba.set_num_threads(min(n_threads, numba.config.NUMBA_NUM_THREADS))
    try:
        with _native_limit, joblib.parallel_config(n_jobs=n_threads):
            yield n_threads
    finally:
        if numba and before is not None:
            numba.set_num_threads(before)
        _n_jobs.reset(token)


@contextlib.contextmanager
def use_executor(executor: Executor) -> Iterator[None]:
    """Send `map_blocks` to another executor inside a ``with`` block.

    Parameters
    ----------
    executor : Executor
        Anything with ``map(function, blocks)`` that keeps the order.

    Yields
    ------
    None
        The block runs with that executor.
    """
    token = _executor.set(executor)
    try:
        yield
    finally:
        _executor.reset(token)


def map_blocks(function: Callable[[Block], Result], blocks: Iterable[Block], *, n_jobs: int | None = None) -> list[Result]:
    """Apply a function to every block, on the current executor, and return the results in order.

    Parameters
    ----------
    function : callable
        Takes one block. It must not depend on other blocks. A nested `map_blocks` inside it runs on one thread.
    blocks : iterable
        The pieces of work, such as slices of rows.
    n_jobs : int or None, default=None
        As for `resolve_n_jobs`.

    Returns
    -------
    list
        One result per block.
    """
    pieces = list(blocks)
    executor = _executor.get()
    if executor is not None:
        return executor.map(function, pieces)
    with threads(n_jobs) as n_threads:
        n_workers = min(n_threads, len(pieces))
        if n_workers <= 1:
            return [function(piece) for piece in pieces]
        with ThreadPoolExecutor(n_workers, initializer=_n_jobs.set, initargs=(1,)) as pool:
            return _collect(pool, function, pieces)


def _collect(pool: ThreadPoolExecutor, function: Callable[[Block], Result], pieces: list[Block]) -> list[Result]:
    futures = [pool.submit(function, piece) for piece in pieces]
    try:
        return [future.result() for future in futures]
    except BaseException:
        for future in futures:
            future.cancel()
        raise
