"""Stages of a run: each is announced and timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from manifolia._core.progress import ProgressEvent

__all__ = ["Listener", "Stages"]

#: Hears every event; returning True stops the work.
Listener = Callable[[ProgressEvent], bool | None]


class Stages:
    """Announces stages to a listener and keeps how long each took."""

    def __init__(self, listener: Listener | None = None) -> None:
        self._listener = listener
        self._running: str | None = None
        self._since = 0.0
        self.seconds: dict[str, float] = {}

    def __call__(self, event: ProgressEvent) -> bool | None:
        """Take an event of a method that reports its own stages."""
        if event.stage != self._running:
            self._begin(event.stage)
        return self._listener(event) if self._listener is not None else None

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Announce and time a piece of work that does not report by itself."""
        self(ProgressEvent(name, 0, None, {}))
        yield
        self(ProgressEvent(name, 1, 1, {}))
        self.end()

    def end(self) -> None:
        """Stop the clock of the running stage."""
        if self._running is not None:
            self.seconds[self._running] = self.seconds.get(self._running, 0.0) + time.perf_counter() - self._since
            self._running = None

    def _begin(self, name: str) -> None:
        self.end()
        self._running, self._since = name, time.perf_counter()
        self.seconds.setdefault(name, 0.0)
