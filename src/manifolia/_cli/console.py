"""What the user sees: progress and notes on stderr, results on stdout."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

import click

from manifolia._cli.errors import in_options
from manifolia._core.progress import ProgressEvent
from manifolia._core.warnings import collected_warnings

_EVERY = 10.0  # seconds between lines where the screen cannot be rewritten
_FRESH = 0.1  # seconds between updates of a line that is rewritten
_WIDTH = 78


class Console:
    """Progress, notes and results."""

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet = quiet
        self.as_json = as_json
        self._live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        self._stage: str | None = None
        self._began = self._said = 0.0
        self._open = False

    def __call__(self, event: ProgressEvent) -> None:
        """Show how far the work is."""
        if self.quiet:
            return
        now = time.monotonic()
        if event.stage != self._stage:
            self._close()
            self._stage, self._began, self._said = event.stage, now, now
        finished = event.total is not None and event.done >= event.total
        if self._live:
            if finished or now - self._said > _FRESH or not self._open:
                click.echo("\r" + self._line(event, now).ljust(_WIDTH), nl=False, err=True)
                self._open, self._said = True, now
            if finished:
                self._close()
        elif finished and self._stage is not None:
            if now - self._began >= 1.0:  # what takes no time is not worth a line in a log
                click.echo(self._line(event, now), err=True)
            self._stage = None
        elif now - self._said > _EVERY:
            click.echo(self._line(event, now), err=True)
            self._said = now

    def _line(self, event: ProgressEvent, now: float) -> str:
        spent = now - self._began
        if event.total is not None and event.done >= event.total:
            return f"{event.stage}: {_duration(spent)}"
        if event.total is None or event.done == 0:
            return f"{event.stage} …"
        left = spent / event.done * (event.total - event.done)
        return f"{event.stage}: {event.done:,} of {event.total:,}, {_duration(spent)}, about {_duration(left)} left"

    def _close(self) -> None:
        if self._open:
            click.echo("", err=True)
        self._open, self._stage = False, None

    def note(self, text: str) -> None:
        """Say something that is not the result."""
        if not self.quiet:
            self._close()
            click.echo(f"Note: {in_options(text)}", err=True)

    def notes(self, texts: Iterable[str]) -> None:
        """Say several things that are not the result."""
        for text in texts:
            self.note(text)

    def findings(self, report: dict[str, Any]) -> None:
        """Print what a run found."""
        for finding in report["findings"]:
            self.result(f"- {finding['text']}")

    def result(self, text: str) -> None:
        """Print a line of the result; not with JSON."""
        self._close()
        if not self.as_json:
            click.echo(text)

    def heading(self, text: str) -> None:
        """Print a line of the result that stands out."""
        self.result(click.style(text, bold=True) if self._color else text)

    def data(self, value: Any) -> None:
        """Print the result as JSON, if that was asked for."""
        self._close()
        if self.as_json:
            click.echo(json.dumps(value, indent=2, ensure_ascii=False))

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Show a piece of work that does not report by itself."""
        self(ProgressEvent(name, 0, None, {}))
        yield
        self(ProgressEvent(name, 1, 1, {}))

    @contextlib.contextmanager
    def noting_warnings(self) -> Iterator[None]:
        """Turn warnings of the library into notes."""
        with collected_warnings() as texts:
            yield
        self.notes(texts)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
