"""Who works on a stored study, and who is gone.

A worker is one call of ``fit``, with its own machine, process and session. While it has trials open it **beats**: a
thread writes a growing number into each of them. The others know that a worker is gone

- at once, if its process was on this machine and is no longer there, or was this very process and its session ended;
- else, wherever it was, when the number has not grown for some minutes *while they looked*: clocks of two machines need
  not agree, and a worker that was paused is given as long again.

A worker's runs are made in separate processes (`tune.runner`). These end by themselves when the worker does, even if it
is killed and cannot end them.

A worker that counts as gone but is not, because a run kept its interpreter busy for that long, finds its trial closed
and leaves it to the worker that took it over.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

_BEAT = 30.0  # seconds between two beats
_GRACE = 300.0  # seconds without a beat after which a worker counts as gone
_LOOK = 1.0  # seconds between two checks by a process that runs trials of the one that started it
_SESSIONS: set[str] = set()  # of this process
_ends_with: int | None = None  # the process of the tuner that this one works for


def new_worker() -> dict[str, Any]:
    """Name a worker."""
    session = uuid.uuid4().hex[:12]
    _SESSIONS.add(session)
    return {"host": socket.gethostname(), "pid": os.getpid(), "session": session}


def end_worker(worker: Mapping[str, Any]) -> None:
    """End a worker of this process: what it left open may be taken over."""
    _SESSIONS.discard(worker["session"])


def is_gone(worker: Mapping[str, Any]) -> bool:
    """Return whether a worker's process is known to have ended."""
    if worker["host"] != socket.gethostname():
        return False
    if worker["pid"] == os.getpid():  # a restarted container has its old numbers
        return worker.get("session") not in _SESSIONS
    return _has_ended(worker["pid"])


def _has_ended(pid: int) -> bool:
    if os.name == "nt":  # signal 0 is Ctrl-C there
        return False
    try:
        os.kill(pid, 0)
    except OSError as error:  # a process of another user is there, too
        return isinstance(error, ProcessLookupError)
    return False


def end_with(tuner: int) -> None:
    """Let this process, in which a tuner's runs are made, end as soon as the tuner's own process is gone."""
    global _ends_with
    if _ends_with == tuner or os.name == "nt":  # Windows does not say whether a parent still exists
        return
    _ends_with, parent = tuner, os.getppid()

    def watch() -> None:
        while os.getppid() == parent and not _has_ended(tuner):
            time.sleep(_LOOK)
        os._exit(1)  # in the middle of a run that nobody waits for

    threading.Thread(target=watch, name="manifolia-tune-watch", daemon=True).start()


class Beat:
    """Beats for the open trials of a worker, in its own thread."""

    def __init__(self, write: Callable[[int], None]) -> None:
        self._write = write
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="manifolia-tune-beat", daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        number = 0
        while not self._ended.wait(_BEAT):
            number += 1
            with contextlib.suppress(Exception):  # a storage that is busy for long: the next beat may get through
                self._write(number)

    def end(self) -> None:
        """Stop beating."""
        self._ended.set()
        self._thread.join()


class Watch:
    """Notices trials whose number has stopped growing."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[Any, float]] = {}

    def is_silent(self, number: int, beat: Any) -> bool:
        """Look at a trial that is running elsewhere."""
        now = time.monotonic()
        before, since = self._seen.get(number, (None, now))
        if number not in self._seen or before != beat:
            self._seen[number] = (beat, now)
            return False
        return now - since > _GRACE
