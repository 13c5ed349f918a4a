"""``manifolia explore``."""

from __future__ import annotations

import time
import webbrowser
from pathlib import Path
from typing import Any, cast

from manifolia._cli.console import Console
from manifolia.explorer import LivePage, explore, write_page
from manifolia.runs import Request, make_run, open_run
from manifolia.tables import read

__all__ = ["run_explore"]


def run_explore(path: Path, options: dict[str, Any]) -> None:
    """Write a page, of a run or straight from a table."""
    console = Console(quiet=options["quiet"])
    if options["live"]:
        _serve(path, options, console)
        return
    is_run = path.is_dir() or not path.exists()
    out: Path = options["out"] or (path / "map.html" if is_run else path.with_suffix(".html"))
    replaces_own = is_run and options["out"] is None  # the run's own page is there to be made again
    if out.exists() and not options["force"] and not replaces_own:
        message = f"{out} is there already. Choose another name with -o, or replace it with --force."
        raise FileExistsError(message)
    if is_run:
        open_run(path)
        if options["target"]:
            message = f"{path} is a run: its target is set. Leave --target out, or give the table itself."
            raise ValueError(message)
        explore(path, path=out, title=options["title"], color_by=options["color_by"])
    else:
        began = time.perf_counter()
        run = make_run(read(path), Request(target=options["target"], title=options["title"]), console)
        for text in [*run.report["notes"], *run.payload.left_out]:
            console.note(text)
        if options["color_by"] is not None:
            explore(run.payload, path=out, color_by=options["color_by"])
        else:
            write_page(run.payload, out)
        console.heading(f"{run.report['data']['rows']:,} rows mapped in {time.perf_counter() - began:.1f} s")
        for finding in run.report["findings"]:
            console.result(f"- {finding['text']}")
    console.heading(f"Open the page: {out}")


def _serve(path: Path, options: dict[str, Any], console: Console) -> None:
    """Serve the page of a run until the user stops it."""
    if options["out"] is not None or options["target"]:
        message = "--live serves the page of a run and writes none. Leave out -o and --target; map a table first."
        raise ValueError(message)
    open_run(path)
    with console.noting_warnings():
        page = explore(path, title=options["title"], color_by=options["color_by"], live=True, port=options["port"])
    with cast("LivePage", page) as page:
        console.heading(f"Open the page: {page.url}")
        console.note("It is served on this machine alone, for who has this address. Ctrl-C ends it.")
        if options["open_browser"]:
            webbrowser.open(page.url)
        page.wait()
