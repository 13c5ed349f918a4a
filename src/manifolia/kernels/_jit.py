"""The one decorator that compiles a kernel.

Choices, made once:

* ``nogil``: a kernel works on a range of rows and threads come from ``manifolia._core.parallel``; so one
  compiled version serves any number of threads, and a compile takes a third of the time of ``parallel=True``.
* ``parallel=True`` is there for loops that need a barrier per sweep; numba's work-queue layer aborts the process
  when two threads enter it at once, so such a kernel runs under one process-wide lock, and on as many threads as
  the caller's ``n_jobs`` says.
* fastmath without ``nnan`` and ``ninf``: with them ``np.isnan(nan)`` compiles to False.
* The compiled code is cached. Where no folder can be written numba raises; we go on without a cache and log it
  once.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import event

Function = TypeVar("Function", bound=Callable[..., Any])

#: May reorder and contract sums; keeps NaN and infinity meaningful.
FASTMATH = frozenset({"nsz", "arcp", "contract", "afn", "reassoc"})

#: Where a kernel calls another with a count that begins at 0: for a literal 0 numba compiles the other one more time.
ZERO = np.int64(0)

PARALLEL_LOCK = threading.RLock()
_THREADS_MODULE = "manifolia._core.parallel"
_PROGRESS_MODULE = "manifolia._core.progress"
_log = logging.getLogger(__name__)
_warned_no_cache = threading.Event()


class _CompileClock(event.Listener):  # type: ignore[misc]
    """Report compile times to the layers above, looked up and not imported; what the cache provides counts as none."""

    def __init__(self) -> None:
        self._depth, self._began = 0, 0.0

    def _tell(self, seconds: float | None, kernel: str = "") -> None:
        progress = sys.modules.get(_PROGRESS_MODULE)
        if progress is not None:
            progress.add_compile_seconds(seconds, kernel)

    def on_start(self, begun: Any) -> None:
        """Begin with the outermost: a kernel compiles the kernels that it calls."""
        if not self._depth:
            self._began = time.perf_counter()
            self._tell(None, begun.data["dispatcher"].py_func.__name__)
        self._depth += 1

    def on_end(self, _event: Any) -> None:
        """End with the outermost."""
        self._depth -= 1
        if not self._depth:
            self._tell(time.perf_counter() - self._began)


event.register("numba:compile", _CompileClock())


def _renew_lock() -> None:
    global PARALLEL_LOCK
    PARALLEL_LOCK = threading.RLock()


if hasattr(os, "register_at_fork"):  # the thread that held the lock is not in the new process
    os.register_at_fork(after_in_child=_renew_lock)


def _compile(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    if numba.config.DISABLE_JIT:
        return _interpreted(function)
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "cache" not in str(error):
            raise
        if not _warned_no_cache.is_set():
            _warned_no_cache.set()
            _log.warning("compiled kernels are not cached and compile again in every process: %s", error)
        return numba.njit(cache=False, **options)(function)


def _interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    # Compiled arithmetic wraps and divides by zero silently; NumPy's scalars warn about both.
    @functools.wraps(function)
    def quiet(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args)

    return quiet


def _wanted_threads() -> int:
    # Looked up, not imported: kernels know nothing about the layers above. numba keeps its number of threads per
    # thread, so the context cannot have set it for the thread that calls the kernel.
    threads = sys.modules.get(_THREADS_MODULE)
    wanted = threads.current_n_jobs() if threads is not None else numba.get_num_threads()
    return min(wanted, numba.config.NUMBA_NUM_THREADS)


def kernel(*, fast: bool = False, parallel: bool = False, inline: bool = False) -> Callable[[Function], Function]:
    """Compile a function to a kernel."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    options["fastmath"] = set(FASTMATH) if fast else False
    if inline:
        options["inline"] = "always"
    if parallel:
        options["parallel"] = True

    def decorate(function: Function) -> Function:
        compiled = _compile(function, options)
        if not parallel:
            return compiled  # type: ignore[no-any-return]

        @functools.wraps(function)
        def locked(*args: Any) -> Any:
            with PARALLEL_LOCK:
                before = numba.get_num_threads()
                numba.set_num_threads(_wanted_threads())
                try:
                    return compiled(*args)
                finally:
                    numba.set_num_threads(before)

        return locked  # type: ignore[return-value]

    return decorate
