"""The one decorator that compiles a kernel.

Choices, made once:

* ``nogil``: a kernel works on a range of rows and threads come from ``manifolia._core.parallel``; so one compiled
  version serves any number of threads, and a compile takes a third of the time of ``parallel=True``.
* ``parallel=True`` is there for loops that need a barrier per sweep; numba's work-queue layer aborts the process when
  two threads enter it at once, so such a kernel runs under one process-wide lock.
* fastmath without ``nnan`` and ``ninf``: with them ``np.isnan(nan)`` compiles to False.
* The compiled code is cached. Where no folder can be written numba raises; we go on without a cache and log it once.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numba

__all__ = ["FASTMATH", "kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])

#: May reorder and contract sums; keeps NaN and infinity meaningful.
FASTMATH = frozenset({"nsz", "arcp", "contract", "afn", "reassoc"})

PARALLEL_LOCK = threading.RLock()
_log = logging.getLogger(__name__)
_warned_no_cache = threading.Event()


def _compile(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "cache" not in str(error):
            raise
        if not _warned_no_cache.is_set():
            _warned_no_cache.set()
            _log.warning("no folder to cache compiled kernels in (%s): they are compiled in every process", error)
        return numba.njit(cache=False, **options)(function)


def kernel(*, fast: bool = False, parallel: bool = False, inline: bool = False) -> Callable[[Function], Function]:
    """Compile a function to a kernel.

    Parameters
    ----------
    fast : bool, default=False
        Let the compiler reorder sums (`FASTMATH`). Never where a result must not depend on a block's borders.
    parallel : bool, default=False
        Allow ``prange``. Calls are serialised by a process-wide lock. No scalar reduction inside ``prange``.
    inline : bool, default=False
        Inline into calling kernels.

    Returns
    -------
    callable
        The decorator.
    """
    options: dict[str, Any] = {"nogil": True, "fastmath": set(FASTMATH) if fast else False, "error_model": "numpy"}
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
                return compiled(*args)

        return locked  # type: ignore[return-value]

    return decorate
