"""What a step will need, before it starts.

The limit is 80 % of the memory that is free now, or what the user set: ``manifolia.memory_limit(bytes)`` for a
``with`` block, the environment variable ``MANIFOLIA_MEMORY_LIMIT`` (bytes, or with a suffix: ``8GiB``) for a process.
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import gc
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from manifolia._core.messages import Message
from manifolia._core.pipelines import last_step
from manifolia.exceptions import MemoryLimitError, ParameterError

_ENVIRONMENT = "MANIFOLIA_MEMORY_LIMIT"
_SHARE = 0.8  # leaves room for the interpreter, the allocator's overhead and the user's other work
_UNITS = {"": 1, "b": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
          "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}  # fmt: skip

#: What to do about a file that is larger than the limit.
RAISE_LIMIT = (
    f"If you expect a file of this size, set the environment variable {_ENVIRONMENT}, such as 8GiB; in Python, read it "
    f"inside manifolia.memory_limit('8GiB')."
)

_limit: contextvars.ContextVar[int | None] = contextvars.ContextVar("manifolia_memory_limit", default=None)


def parse_bytes(text: str | int, *, name: str = "size") -> int:
    """Read a size such as ``8GiB``, ``500 MB`` or ``1000000``."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", str(text))
    unit = match.group(2).lower() if match else "?"
    size = int(float(match.group(1)) * _UNITS[unit]) if match and unit in _UNITS else 0
    if size <= 0:
        raise ParameterError(
            f"{name} must be a positive size in bytes such as 8GiB, 500MB or 1000000, got {text!r}.", parameter=name
        )
    return size


def format_bytes(size: float) -> str:
    """Write a number of bytes for a person."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def available() -> int:
    """Estimate how much memory this process could still take, in bytes.

    Returns
    -------
    int
        Free memory as the system counts it, or what a container's limit leaves if that is less.
    """
    return max(0, min([_system_available(), *_container_rooms()]))


def _container_rooms(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> list[int]:
    """Return what each Linux control group limit that applies to this process leaves."""
    folders = [(root, "max", "current"), (root / "memory", "limit_in_bytes", "usage_in_bytes")]  # versions 2 and 1
    with contextlib.suppress(OSError):
        for line in own.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:  # version 2: a limit of any parent group applies too
                inner = root / path.lstrip("/")
                folders += [(folder, "max", "current") for folder in (inner, *inner.parents) if root in folder.parents]
            elif "memory" in controllers.split(","):
                folders.append((root / "memory" / path.lstrip("/"), "limit_in_bytes", "usage_in_bytes"))
    rooms = []
    for folder, limit, usage in folders:
        with contextlib.suppress(OSError, ValueError):  # no such file, or "max": no limit there
            allowed = int((folder / f"memory.{limit}").read_text())
            rooms.append(allowed - int((folder / f"memory.{usage}").read_text()) + _reclaimable(folder))
    return rooms


def _reclaimable(folder: Path) -> int:
    """Return the file pages that a group's usage counts and that the system drops when memory is short."""
    with contextlib.suppress(OSError):
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return int(stat.get("total_inactive_file", stat.get("inactive_file", 0)))
    return 0


def _system_available() -> int:
    if sys.platform == "win32":
        return _windows_available()
    with contextlib.suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    # Elsewhere (macOS) the free share cannot be found without another package: half of the installed memory.
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def _windows_available() -> int:  # pragma: no cover - runs on Windows only
    class Status(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ulong), ("load", ctypes.c_ulong)] + [
            (name, ctypes.c_ulonglong)
            for name in ("total", "free", "total_page", "free_page", "total_virtual", "free_virtual", "extended")
        ]

    status = Status(length=ctypes.sizeof(Status))
    ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined]
    return int(status.free)


def give_back() -> None:
    """Give memory that was freed back to the system, where the C library or Arrow keeps it for what comes."""
    gc.collect()
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # not GNU's library
            ctypes.CDLL(None).malloc_trim(0)


def limit_now(*, unless_set: int | None = None) -> int:
    """Return the limit in force, in bytes; where the user set none, `unless_set` counts as one."""
    inner = _limit.get()
    if inner is not None:
        return inner
    text = os.environ.get(_ENVIRONMENT)
    if text:
        return parse_bytes(text, name=_ENVIRONMENT)
    free = int(_SHARE * available())
    return free if unless_set is None else min(free, unless_set)


@contextlib.contextmanager
def memory_limit(size: str | int) -> Iterator[int]:
    """Set the limit inside a ``with`` block.

    Parameters
    ----------
    size : str or int
        Bytes, or a text such as ``"8GiB"``.

    Yields
    ------
    int
        The limit in bytes.
    """
    parsed = parse_bytes(size)
    token = _limit.set(parsed)
    try:
        yield parsed
    finally:
        _limit.reset(token)


def require(size: float, *, step: str, remedy: str) -> None:
    """Refuse a step that needs more memory than the limit, before it starts."""
    allowed = limit_now()
    if size > allowed:
        raise MemoryLimitError(
            Message(
                f"{step} needs about {format_bytes(size)} and the limit is {format_bytes(allowed)}. ",
                remedy,
                " (The limit is 80% of the free memory; manifolia.memory_limit('8GiB') as a context, or the "
                f"environment variable {_ENVIRONMENT}, sets another.)",
            )
        )


def estimate_memory(estimator: Any, X: Any, y: Any = None) -> int:
    """Estimate how much memory a fit will take at its peak, before it is run.

    Parameters
    ----------
    estimator : estimator
        One of manifolia's methods, or a pipeline that ends in one. It need not be fitted.
    X : array-like, sparse matrix or DataFrame of shape (n, d)
        The data. Only its shape is used; for PHATE, whose neighbourhoods may be wide, also some rows.
    y : array-like of shape (n,), default=None
        Target: the number of its classes counts.

    Returns
    -------
    int
        Bytes on top of the data itself: about 0.7 to 1.5 times the measured peak on rows without clusters, two threads
        (``benchmarks/memory.py``). What a forest takes depends on how many leaves it needs; if the target is easy to
        predict, it may be half as much.

    Raises
    ------
    TypeError
        If the estimator cannot estimate it.

    Examples
    --------
    >>> import numpy as np
    >>> import manifolia as mf
    >>> X = np.empty((100_000, 20), dtype=np.float32)
    >>> mf.estimate_memory(mf.RFPHATE(n_trees=100), X) > 2**29
    True
    """
    model = last_step(estimator)
    ask = getattr(model, "_memory_need", None)
    if ask is None:
        raise TypeError(
            f"estimate_memory knows manifolia's own methods, such as RFPHATE, and pipelines that end in one; "
            f"{type(model).__name__} does not say what it needs."
        )
    return int(ask(X if hasattr(X, "shape") else np.asarray(X), y))
