"""What the user sees: progress and notes on stderr, results on stdout. Everything is printed by `echo`.

Names and values come from files of others: a terminal would obey the control characters in them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator
from typing import Any

import click

from manifolia._cli.errors import in_options
from manifolia._core.progress import ProgressEvent, compile_seconds, watch_compiling
from manifolia._core.warnings import collected_warnings

_EVERY = 10.0  # seconds between lines where the screen cannot be rewritten
_FRESH = 0.1  # seconds between updates of a line that is rewritten
_NARROW = 40  # columns of the narrowest terminal that lines are broken for
_SHORT = 0.1  # seconds of a stage that is worth its name
_WORTH = 1.0  # seconds of work whose stages are worth a line
#: Kernels that take long and come early: where they are not compiled yet, hardly any is (`manifolia.kernels.ahead`).
_FIRST = ("grow_classes", "grow_numbers", "measure")
_COMPILING = "compiling, once for each kernel: up to a minute, longer where the machine is busy …"
#: Control characters, and those that change the direction of what follows or break a line.
_UNSEEN = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]")


def echo(text: str, *, err: bool = False, bold: bool = False) -> None:
    """Print a line, with control characters written out, and wrapped at words where a person reads it."""
    shown = visible(text)
    if is_terminal(sys.stderr if err else sys.stdout):
        shown = wrapped(shown, shutil.get_terminal_size().columns)
    click.echo(click.style(shown, bold=True) if bold else shown, err=err)


def visible(text: str) -> str:
    """Write control characters as Python does, such as ``\\x1b``."""
    return _UNSEEN.sub(lambda match: repr(match.group())[1:-1], text)


def wrapped(text: str, width: int) -> str:
    """Break a line between words; what goes on is set in as far as the text begins."""
    begins = re.match(r"\s*(?:- )?", text)
    indent = " " * (begins.end() if begins else 0)
    lines = textwrap.wrap(
        text, max(width, _NARROW), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False,
        drop_whitespace=True, replace_whitespace=False,
    )  # fmt: skip
    return "\n".join(lines)


class Console:
    """Progress, notes and results."""

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet = quiet
        self.as_json = as_json
        self._live = is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb"
        self._color = is_terminal(sys.stdout) and not os.environ.get("NO_COLOR")
        self._stage: str | None = None
        self._began = self._said = self._compiled = 0.0
        self._before = 0  # what an earlier call had done of the running stage
        self._seconds: dict[str, float] = {}  # of each stage, without what was compiled in it
        self._open = False
        self._helper: subprocess.Popen[bytes] | None = None
        self._told = False
        watch_compiling(self._compiling)

    def __call__(self, event: ProgressEvent) -> None:
        """Show how far the work is, on one line that changes."""
        if self.quiet:
            return
        now = time.monotonic()
        if event.stage != self._stage:
            self._end_stage(now)
            self._stage, self._began, self._said, self._compiled = event.stage, now, now, compile_seconds()
            self._before = event.done
            self._show(self._line(event, now))
        if event.total is not None and event.done >= event.total:
            self._end_stage(now)
        elif now - self._said > (_FRESH if self._live else _EVERY):
            self._said = now
            self._show(self._line(event, now), log=True)

    def _line(self, event: ProgressEvent, now: float) -> str:
        spent = self._spent(now)
        if event.total is None or event.done <= self._before:
            return f"{event.stage} …"
        left = spent / (event.done - self._before) * (event.total - event.done)
        return f"{event.stage}: {event.done:,} of {event.total:,}, {_duration(spent)}, about {_duration(left)} left"

    def _spent(self, now: float) -> float:
        """Seconds of the running stage, without what was compiled in it."""
        return max(now - self._began - (compile_seconds() - self._compiled), 0.0)

    def _end_stage(self, now: float) -> None:
        if self._stage is not None:
            self._seconds[self._stage] = self._seconds.get(self._stage, 0.0) + self._spent(now)
        self._stage = None

    def _compiling(self, kernel: str) -> None:
        """Say once why nothing seems to happen, and have the kernels that are needed last compiled beside the first."""
        if not self.quiet and not self._told:
            self._told = True
            self._show(_COMPILING, log=True)
        if self._helper is None and kernel in _FIRST:
            from manifolia._core.installed import cores

            if (cores() or 1) < 2:
                return
            with contextlib.suppress(OSError):
                self._helper = subprocess.Popen(
                    [sys.executable, "-m", "manifolia.kernels.ahead", kernel],
                    stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )  # fmt: skip  # which ends when its standard input is closed, as it is if this process is killed

    def _show(self, line: str, *, log: bool = False) -> None:
        """Write the line that changes; where none can, a line of a log."""
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            click.echo("\r" + visible(line)[:width].ljust(width), nl=False, err=True)
            self._open = True
        elif log:
            echo(line, err=True)

    def clear(self) -> None:
        """Take the line that changes away."""
        if self._open:
            click.echo("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r", nl=False, err=True)
        self._open = False

    def release(self) -> None:
        """Listen no longer: what compiles after the command, in the same process, is not its business."""
        watch_compiling(None)
        if self._helper is not None:
            self._helper.kill()
            self._helper.communicate()
            self._helper = None

    def _close(self) -> None:
        """End the progress: list every stage that took time, once."""
        self._end_stage(time.monotonic())
        self.clear()
        told = [f"{stage} {_duration(spent)}" for stage, spent in self._seconds.items() if spent >= _SHORT]
        compiled = compile_seconds(forget=True)
        if compiled >= _SHORT:
            told.append(f"compiling {_duration(compiled)}, once for each kernel")
        if told and not self.quiet and sum(self._seconds.values()) + compiled >= _WORTH:
            echo(f"Took: {', '.join(told)}.", err=True)
        self._seconds = {}

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
    """Return whether a person looks at what is printed; there is no stream if it was closed."""
    return stream is not None and stream.isatty()


def _in_json(character: str) -> str:
    return character if character == "\n" else f"\\u{ord(character):04x}"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
