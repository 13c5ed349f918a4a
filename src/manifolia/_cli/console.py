"""What the user sees: progress and notes on stderr, results on stdout. Everything is printed by `echo`.

Names and values come from files of others: a terminal would obey the control characters in them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
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
#: Control characters, and those that change the direction of what follows or break a line.
_UNSEEN = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]")


def echo(text: str, *, err: bool = False, bold: bool = False) -> None:
    """Print a line, with control characters written out."""
    shown = visible(text)
    click.echo(click.style(shown, bold=True) if bold else shown, err=err)


def visible(text: str) -> str:
    """Write control characters as Python does, such as ``\\x1b``."""
    return _UNSEEN.sub(lambda match: repr(match.group())[1:-1], text)


class Console:
    """Progress, notes and results."""

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet = quiet
        self.as_json = as_json
        self._live = is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb"
        self._color = is_terminal(sys.stdout) and not os.environ.get("NO_COLOR")
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
                click.echo("\r" + visible(self._line(event, now)).ljust(_WIDTH), nl=False, err=True)
                self._open, self._said = True, now
            if finished:
                self._close()
        elif finished and self._stage is not None:
            if now - self._began >= 1.0:  # what takes no time is not worth a line in a log
                echo(self._line(event, now), err=True)
            self._stage = None
        elif now - self._said > _EVERY:
            echo(self._line(event, now), err=True)
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
            echo("", err=True)
        self._open, self._stage = False, None

    def note(self, text: str) -> None:
        """Say something that is not the result."""
        if not self.quiet:
            self._close()
            echo(f"Note: {in_options(text)}", err=True)

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
        self._say(text)

    def heading(self, text: str) -> None:
        """Print a line of the result that stands out."""
        self._say(text, bold=self._color)

    def _say(self, text: str, *, bold: bool = False) -> None:
        self._close()
        if not self.as_json:
            echo(text, bold=bold)

    def data(self, value: Any) -> None:
        """Print the result as JSON, if that was asked for."""
        self._close()
        if self.as_json:
            text = json.dumps(value, indent=2, ensure_ascii=False)  # which leaves the controls beyond ASCII
            click.echo(_UNSEEN.sub(lambda match: _in_json(match.group()), text))

    def table(self, text: str) -> None:
        """Print a table as it is, for another program; where a person looks at it, with control characters written."""
        self._close()
        lines = text.split("\n") if is_terminal(sys.stdout) else []
        click.echo("\n".join(visible(line) for line in lines) if lines else text, nl=False)

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


def is_terminal(stream: Any) -> bool:
    """Tell whether a person looks at what is printed; there is no stream if it was closed."""
    return stream is not None and stream.isatty()


def _in_json(character: str) -> str:
    return character if character == "\n" else f"\\u{ord(character):04x}"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
