"""The stages of a run: announced to who listens, and timed for its report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from manifolia._core.progress import ProgressEvent, compile_seconds

#: Hears every event; returning True stops the work.
Listener = Callable[[ProgressEvent], bool | None]


class Stages:
    """Announces stages to a listener and keeps how long each took, and apart from it what was compiled."""

    def __init__(self, listener: Listener | None = None) -> None:
        self._listener = listener
        self._running: str | None = None
        self._since = self._compiled = 0.0
        self.seconds: dict[str, float] = {}

    def __call__(self, event: ProgressEvent) -> bool | None:
        """Take an event of a method that reports its own stages."""
        if event.stage != self._running:
            self.end()
            self._running, self._since, self._compiled = event.stage, time.perf_counter(), compile_seconds()
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
            compiled = compile_seconds() - self._compiled
            spent = {self._running: time.perf_counter() - self._since - compiled, "compile": compiled}
            for name, seconds in spent.items():
                self.seconds[name] = self.seconds.get(name, 0.0) + max(seconds, 0.0)
            self._running = None
