"""Progress: one event type, one reporter, and a way to watch a kernel that runs.

A callback gets ``ProgressEvent(stage, done, total, metrics)``. Returning True stops the work: a stage that has a
usable result so far returns it, another raises ``StoppedByCallbackError``. ``verbose=True`` is the stock callback, a
tqdm bar on stderr per stage.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from manifolia._core.types import Callback, IntArray
from manifolia.exceptions import ParameterTypeError, StoppedByCallbackError

Result = TypeVar("Result")

_POLL_SECONDS = 0.1  # ten looks per second: no visible cost, and Ctrl-C feels immediate
#: Slots of the array that a long kernel shares with its watcher.
DONE, STOP = 0, 1


#: Seconds that kernels took to compile since last asked, and what is called when one begins.
_compiled = [0.0]
_compile_watchers: list[Callable[[str], None]] = []


def compile_seconds(*, forget: bool = False) -> float:
    """Return how long kernels took to compile in this process; `forget` restarts the count."""
    spent = _compiled[0]
    if forget:
        _compiled[0] = 0.0
    return spent


def add_compile_seconds(seconds: float | None, kernel: str = "") -> None:
    """Note that a kernel has compiled or, with None, that one begins to; `manifolia.kernels` calls this."""
    if seconds is not None:
        _compiled[0] += seconds
        return
    for watcher in _compile_watchers:
        watcher(kernel)


def watch_compiling(watcher: Callable[[str], None] | None) -> None:
    """Call a function with the name of each kernel that begins to compile; it replaces an earlier one; None: none."""
    _compile_watchers[:] = [] if watcher is None else [watcher]


class ProgressEvent(NamedTuple):
    """What a callback receives."""

    stage: str  # Name of the running stage, such as ``"forest"`` or ``"layout"``
    done: int  # Units finished so far
    total: int | None  # Units in all; None when it is not known
    metrics: Mapping[str, float]  # Figures of the stage, such as the stress


class TqdmCallback:
    """The callback behind ``verbose=True``: a tqdm bar on stderr per stage."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._stage: str | None = None

    def __call__(self, event: ProgressEvent) -> bool:
        """Show one event."""
        if event.stage != self._stage:
            self.close()
            from tqdm.auto import tqdm

            self._bar = tqdm(total=event.total, desc=event.stage, leave=True)
            self._stage = event.stage
        self._bar.update(event.done - self._bar.n)
        if event.metrics:
            self._bar.set_postfix({name: f"{value:.4g}" for name, value in event.metrics.items()})
        if event.total is not None and event.done >= event.total:
            self.close()
        return False

    def close(self) -> None:
        """Finish the bar that is open, if any."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
            self._stage = None


class Reporter:
    """Sends events to the user's callback and to the stock bar."""

    def __init__(self, callback: Callback = None, *, verbose: bool = False) -> None:
        self._listeners: list[Callable[[ProgressEvent], bool | None]] = []
        if verbose:
            self._listeners.append(TqdmCallback())
        if callback is not None:
            if not callable(callback):
                raise ParameterTypeError(
                    f"callback must be callable or None, got {callback!r}. It takes one ProgressEvent.",
                    parameter="callback",
                )
            self._listeners.append(callback)

    @property
    def is_heard(self) -> bool:
        """Whether anyone listens, so that a stage may take the trouble of working in parts."""
        return bool(self._listeners)

    def update(self, stage: str, done: int, total: int | None = None, **metrics: float) -> bool:
        """Report, and ask whether to stop."""
        return self.hear(ProgressEvent(stage, int(done), None if total is None else int(total), metrics))

    def hear(self, event: ProgressEvent) -> bool:
        """Pass an event on, and ask whether to stop."""
        answers = [listener(event) for listener in self._listeners]  # every listener hears every event
        # NumPy's True counts: a callback is likely to return a comparison of figures.
        return any(isinstance(answer, (bool, np.bool_)) and bool(answer) for answer in answers)

    def step(self, stage: str, done: int, total: int | None = None, **metrics: float) -> None:
        """Report from a stage that has nothing usable to return before its end."""
        if self.update(stage, done, total, **metrics):
            raise StoppedByCallbackError(
                f"stopped by the callback in stage {stage!r}, which has no result before it ends"
            )


def watch_kernel(
    run: Callable[[IntArray], Result], *, reporter: Reporter, stage: str, total: int, poll: float = _POLL_SECONDS
) -> Result:
    """Run a long kernel in a worker thread, report its progress and let Ctrl-C stop it."""
    slots = np.zeros(2, dtype=np.int64)
    finished = threading.Event()
    outcome: list[Result] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(run(slots))
        except BaseException as error:  # passed to the caller's thread below
            failure.append(error)
        finally:
            finished.set()

    context = contextvars.copy_context()  # n_jobs, the executor and the memory limit are passed on
    worker = threading.Thread(target=context.run, args=(work,), name=f"manifolia-{stage}", daemon=True)
    worker.start()
    reported = -1
    try:
        while not finished.wait(poll):
            reported = int(slots[DONE])
            if reporter.update(stage, reported, total):
                slots[STOP] = 1
    except BaseException:
        slots[STOP] = 1
        raise
    finally:
        worker.join()
    if failure:
        raise failure[0]
    if reported != slots[DONE]:
        reporter.update(stage, int(slots[DONE]), total)
    return outcome[0]
